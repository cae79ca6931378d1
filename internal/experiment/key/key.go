// Package key names what is measured: a benchmark, on a VM, in a variant and, if the experiment
// compares arms, in an arm.
//
// A [Key] is written "benchmark:vm:variant" in schedules, records, exports and on command lines,
// and "benchmark:vm:variant@arm" in an experiment with arms. A [Pattern] selects keys, with "*" for
// any name. The package does not know which benchmarks, VMs, variants and arms an experiment has;
// package config does. Start reading at [Parse].
package key

import (
	"errors"
	"fmt"
	"strings"
)

// MaxName is the maximum length in bytes of a part of a key. Schedule lines have a fixed width,
// which fits four parts of this size.
const MaxName = 64

// separator separates the parts of a key, armMark its arm, and wildcard matches any name in a
// pattern. CheckName allows none of them in a name.
const (
	separator = ":"
	armMark   = "@"
	wildcard  = "*"
)

// Key names one row of the experiment. Keys are comparable. The zero Key is not valid.
type Key struct {
	Benchmark, VM, Variant string
	Arm                    string // "" in an experiment without arms
}

// String returns "benchmark:vm:variant" or "benchmark:vm:variant@arm", the inverse of Parse.
func (k Key) String() string {
	return k.Benchmark + separator + k.VM + separator + k.VariantArm()
}

// VariantArm returns "variant@arm", the last part of the key's text; without an arm, the variant.
func (k Key) VariantArm() string { return withArm(k.Variant, k.Arm) }

func withArm(variant, arm string) string {
	if arm == "" {
		return variant
	}
	return variant + armMark + arm
}

// Parse parses "benchmark:vm:variant" or "benchmark:vm:variant@arm". The error names the part that
// is invalid.
func Parse(s string) (Key, error) {
	parts, err := split("key", s)
	if err != nil {
		return Key{}, err
	}
	for i, part := range parts {
		if err := CheckName(part); err != nil {
			return Key{}, fmt.Errorf("key %.200q: %s: %w", s, partNames[i], err)
		}
	}
	k := Key{Benchmark: parts[0], VM: parts[1], Variant: parts[2]}
	if len(parts) > armPart {
		k.Arm = parts[armPart]
	}
	return k, nil
}

// partNames are the parts of a key, in order.
var partNames = [...]string{"benchmark", "VM", "variant", armPart: "arm"}

// armPart is the index of the part that a key may lack.
const armPart = 3

// split cuts s, a key or pattern, into unchecked parts: three, and the arm if there is one.
func split(kind, s string) ([]string, error) {
	text, arm, hasArm := strings.Cut(s, armMark)
	parts := strings.Split(text, separator)
	if len(parts) != armPart {
		return nil, fmt.Errorf("%s %.200q has %d parts; write benchmark:vm:variant", kind, s, len(parts))
	}
	if hasArm {
		parts = append(parts, arm)
	}
	return parts, nil
}

// ErrEmptyName is returned by CheckName for "".
var ErrEmptyName = errors.New("the name is empty; give it at least one letter or digit")

// CheckName returns an error unless part is a valid name of a benchmark, VM, variant or arm:
// 1 to MaxName bytes from A-Z a-z 0-9 _ - . + and not only dots, because names are also used as
// file names.
func CheckName(part string) error {
	if part == "" {
		return ErrEmptyName
	}
	if len(part) > MaxName {
		return fmt.Errorf("the name %q... is %d bytes long; use at most %d", part[:16], len(part), MaxName)
	}
	for _, r := range part {
		if !allowed(r) {
			return fmt.Errorf("the name %q contains %q; use letters, digits and _ - . + only", part, r)
		}
	}
	if strings.Trim(part, ".") == "" {
		return fmt.Errorf("the name %q consists of dots only; give it a letter or digit", part)
	}
	return nil
}

func allowed(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return true
	}
	return strings.ContainsRune("_-.+", r)
}

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
