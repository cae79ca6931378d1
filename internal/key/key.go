// Package key names what is measured: a benchmark, on a VM, in a variant.
//
// A [Key] is written "benchmark:vm:variant", in schedules, records, exports
// and on command lines; a [Pattern] selects keys, with "*" for "any" in a
// part. The package knows nothing of which benchmarks, VMs and variants an
// experiment has: that is config's business.
package key

import (
	"errors"
	"fmt"
	"strings"
)

// MaxName is the most bytes a part of a key may have. Schedule lines have a
// fixed width that three parts of this size fit in.
const MaxName = 64

// separator stands between the parts of a key, wildcard for any name in a
// pattern. CheckName allows neither in a name.
const (
	separator = ":"
	wildcard  = "*"
)

// Key names one row of the experiment. Keys are comparable; the zero Key is
// not valid.
type Key struct {
	Benchmark, VM, Variant string
}

// String gives "benchmark:vm:variant", which Parse reads back.
func (k Key) String() string {
	return k.Benchmark + separator + k.VM + separator + k.Variant
}

// Parse reads "benchmark:vm:variant". The error says which part is wrong.
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

// split cuts s, a key or pattern, at its separators into exactly three parts,
// unchecked.
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

// CheckName says whether part may be the name of a benchmark, VM or variant:
// 1 to MaxName of the bytes A-Z a-z 0-9 _ - . + and not only dots, because
// names also become file names.
func CheckName(part string) error {
	if part == "" {
		return ErrEmptyName
	}
	if len(part) > MaxName {
		return fmt.Errorf("the name %q... has %d bytes; use at most %d", part[:16], len(part), MaxName)
	}
	for _, r := range part {
		if !allowed(r) {
			return fmt.Errorf("the name %q contains %q; use letters, digits and _ - . + only", part, r)
		}
	}
	if strings.Trim(part, ".") == "" {
		return fmt.Errorf("the name %q is only dots; give it a letter or digit", part)
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
