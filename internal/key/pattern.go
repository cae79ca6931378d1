package key

import "fmt"

// Pattern selects keys: each part is a name, or "*" for any name. The zero Pattern matches no valid
// key.
type Pattern struct {
	parts [3]string
}

// ParsePattern parses a key in which any part may be "*". A "*" inside a part ("nbody*") is an
// error rather than a pattern, so that a misunderstood pattern does not silently skip keys.
func ParsePattern(s string) (Pattern, error) {
	parts, err := split("pattern", s)
	if err != nil {
		return Pattern{}, fmt.Errorf("%w, with * for any", err)
	}
	for i, part := range parts {
		if part == wildcard {
			continue
		}
		if err := CheckName(part); err != nil {
			return Pattern{}, fmt.Errorf("pattern %.200q: %s: %w; or a lone * for any", s, partNames[i], err)
		}
	}
	return Pattern{parts: parts}, nil
}

// Match reports whether every part of p is "*" or equals that of k.
func (p Pattern) Match(k Key) bool {
	for i, name := range [3]string{k.Benchmark, k.VM, k.Variant} {
		if p.parts[i] != wildcard && p.parts[i] != name {
			return false
		}
	}
	return true
}

// String returns the text of p, the inverse of ParsePattern.
func (p Pattern) String() string {
	return p.parts[0] + separator + p.parts[1] + separator + p.parts[2]
}
