package key

import "fmt"

// Pattern selects keys: each part is a name, or "*" for any name. A pattern with "@arm" selects the
// keys of that arm, one without selects those of all arms. The zero Pattern matches no valid key.
type Pattern struct {
	parts [len(partNames)]string // that of the arm is "" if the pattern has none
}

// ParsePattern parses a key in which any part may be "*". A "*" inside a part ("nbody*") is an
// error rather than a pattern, so that a misunderstood pattern does not silently skip keys.
func ParsePattern(s string) (Pattern, error) {
	parts, err := split("pattern", s)
	if err != nil {
		return Pattern{}, fmt.Errorf("%w, with * for any", err)
	}
	var p Pattern
	for i, part := range parts {
		if err := CheckName(part); err != nil && part != wildcard {
			return Pattern{}, fmt.Errorf("pattern %.200q: %s: %w; or a lone * for any", s, partNames[i], err)
		}
		p.parts[i] = part
	}
	return p, nil
}

// Match reports whether every part of p is "*" or equals that of k. If p has no arm, it matches the
// keys of all arms.
func (p Pattern) Match(k Key) bool {
	for i, name := range [len(partNames)]string{k.Benchmark, k.VM, k.Variant, k.Arm} {
		if part := p.parts[i]; part != wildcard && part != name && (i != armPart || part != "") {
			return false
		}
	}
	return true
}

// String returns the text of p, the inverse of ParsePattern.
func (p Pattern) String() string {
	return p.parts[0] + separator + p.parts[1] + separator + withArm(p.parts[2], p.parts[armPart])
}
