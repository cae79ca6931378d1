// Package key names what is measured: a benchmark, on a VM, in a variant.
//
// A [Key] is written "benchmark:vm:variant" in schedules, records, exports and on command lines. A
// [Pattern] selects keys, with "*" for any name. The package does not know which benchmarks, VMs
// and variants an experiment has; package config does. Start reading at [Parse].
package key

import (
	"errors"
	"fmt"
	"strings"
)

// MaxName is the maximum length in bytes of a part of a key. Schedule lines have a fixed width,
// which fits three parts of this size.
const MaxName = 64

// separator separates the parts of a key, and wildcard matches any name in a pattern. CheckName
// allows neither in a name.
const (
	separator = ":"
	wildcard  = "*"
)

// Key names one row of the experiment. Keys are comparable. The zero Key is not valid.
type Key struct {
	Benchmark, VM, Variant string
}

// String returns "benchmark:vm:variant", the inverse of Parse.
func (k Key) String() string {
	return k.Benchmark + separator + k.VM + separator + k.Variant
}

// Parse parses "benchmark:vm:variant". The error names the part that is invalid.
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
	return Key{Benchmark: parts[0], VM: parts[1], Variant: parts[2]}, nil
}

var partNames = [3]string{"benchmark", "VM", "variant"}

// split cuts s, a key or pattern, at its separators into exactly three unchecked parts.
func split(kind, s string) ([3]string, error) {
	parts := strings.Split(s, separator)
	if len(parts) != len(partNames) {
		return [3]string{}, fmt.Errorf("%s %.200q has %d parts; write benchmark:vm:variant", kind, s,
			len(parts))
	}
	return [3]string(parts), nil
}

// ErrEmptyName is returned by CheckName for "".
var ErrEmptyName = errors.New("the name is empty; give it at least one letter or digit")

// CheckName returns an error unless part is a valid name of a benchmark, VM or variant: 1 to
// MaxName bytes from A-Z a-z 0-9 _ - . + and not only dots, because names are also used as file
// names.
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
