package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/display"
	"krund/internal/experiment/key"
)

// ParsePattern parses the text of --key. The pattern of "" is nil, which matches every key. The
// error is a UsageError.
func ParsePattern(s string) (*key.Pattern, error) {
	if s == "" {
		return nil, nil //nolint:nilnil // no pattern is not an error
	}
	p, err := key.ParsePattern(s)
	if err != nil {
		return nil, UsageError{fmt.Errorf("--key: %w", err)}
	}
	return &p, nil
}

// OnlyKeys removes from d the keys that do not match; nil matches all. It returns an error if no
// key matches.
func OnlyKeys(d *dataset.Dataset, pattern *key.Pattern) (err error) {
	d.Pairs, err = Only(d.Pairs, func(p dataset.Pair) key.Key { return p.Key }, pattern)
	return err
}

// Only returns what has a key that matches; nil matches all. It returns an error if nothing does.
func Only[T any](list []T, of func(T) key.Key, pattern *key.Pattern) ([]T, error) {
	if pattern == nil {
		return list, nil
	}
	known := make([]key.Key, len(list))
	for i, x := range list {
		known[i] = of(x)
	}
	if err := checkPattern(pattern, known); err != nil {
		return list, err
	}
	return slices.DeleteFunc(list, func(x T) bool { return !pattern.Match(of(x)) }), nil
}

// checkPattern returns an error with the nearest keys when the pattern matches none of the known
// keys. Without a pattern or known keys there is no error.
func checkPattern(pattern *key.Pattern, known []key.Key) error {
	if pattern == nil || len(known) == 0 || slices.ContainsFunc(known, pattern.Match) {
		return nil
	}
	const most = 5 // keys listed in the error
	near := slices.Clone(known)
	slices.SortStableFunc(near, func(a, b key.Key) int {
		return cmp.Compare(distance(pattern, a), distance(pattern, b))
	})
	names := make([]string, 0, most)
	for _, k := range near[:min(most, len(near))] {
		names = append(names, k.String())
	}
	more := ""
	if n := len(near) - len(names); n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return fmt.Errorf("--key %s matches no key; there are %s%s", pattern, strings.Join(names, ", "), more)
}

// distance is the edit distance between a key and a pattern.
func distance(p *key.Pattern, k key.Key) int {
	n := 0
	wanted := strings.Split(p.String(), ":")
	for i, part := range []string{k.Benchmark, k.VM, k.VariantArm()} {
		if i < len(wanted) && wanted[i] != "*" {
			n += display.Distance(strings.ToLower(wanted[i]), strings.ToLower(part))
		}
	}
	return n
}
