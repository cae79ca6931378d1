package key

import "fmt"

// Pattern selects keys: each part is a name, or "*" for any. The zero
// Pattern matches no valid key.
type Pattern struct {
	parts [3]string
}

// ParsePattern reads a key in which any part may be "*". A "*" inside a part
// ("nbody*") is not a pattern but an error, so that a misread pattern never
// skips in silence.
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

// Match reports whether every part of p is the same as in k, or "*".
func (p Pattern) Match(k Key) bool {
	for i, name := range [3]string{k.Benchmark, k.VM, k.Variant} {
		if p.parts[i] != wildcard && p.parts[i] != name {
			return false
		}
	}
	return true
}

// String gives the text that ParsePattern reads back.
func (p Pattern) String() string {
	return p.parts[0] + separator + p.parts[1] + separator + p.parts[2]
}
