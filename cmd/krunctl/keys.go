package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"krund/internal/folder"
	"krund/internal/key"
	"krund/internal/suggest"
)

// parsePattern reads --key; "" is no pattern.
func parsePattern(s string) (*key.Pattern, error) {
	if s == "" {
		return nil, nil //nolint:nilnil // no pattern, and no mistake either
	}
	p, err := key.ParsePattern(s)
	if err != nil {
		return nil, usageError{fmt.Errorf("--key: %w", err)}
	}
	return &p, nil
}

// nearKeys is how many keys are named to somebody who has mistyped one.
const nearKeys = 5

// checkPattern says when --key names none of the known keys, and which come near. Without a pattern, or without anything to compare it with, there
// is nothing to say.
func checkPattern(pattern *key.Pattern, known []key.Key) error {
	if pattern == nil || len(known) == 0 || slices.ContainsFunc(known, pattern.Match) {
		return nil
	}
	near := slices.Clone(known)
	slices.SortStableFunc(near, func(a, b key.Key) int { return cmp.Compare(far(pattern, a), far(pattern, b)) })
	names := make([]string, 0, nearKeys)
	for _, k := range near[:min(nearKeys, len(near))] {
		names = append(names, k.String())
	}
	more := ""
	if n := len(near) - len(names); n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return fmt.Errorf("--key %s: there is no such key here; there are %s%s", pattern, strings.Join(names, ", "), more)
}

// far counts the letters in which a key differs from a pattern.
func far(p *key.Pattern, k key.Key) int {
	n := 0
	wanted := strings.Split(p.String(), ":")
	for i, part := range []string{k.Benchmark, k.VM, k.Variant} {
		if i < len(wanted) && wanted[i] != "*" {
			n += suggest.Distance(strings.ToLower(wanted[i]), strings.ToLower(part))
		}
	}
	return n
}

// knownKeys returns the keys of an experiment: those of its schedule, or when that cannot be read of its configuration; nil when neither can be.
func (a *app) knownKeys(f folder.Folder) []key.Key {
	s, err := a.openSchedule(f)
	if err != nil {
		return a.plannedKeys(f)
	}
	v, err := look(s, 0)
	if firstOf(err, s.Close()) != nil || v.seen.Damaged > 0 {
		return a.plannedKeys(f)
	}
	known := make([]key.Key, 0, len(v.keys))
	for _, k := range v.keys {
		known = append(known, k.Key)
	}
	return known
}

func (a *app) plannedKeys(f folder.Folder) []key.Key {
	cfg, err := a.copiedConfig(f, a.host)
	if err != nil {
		return nil
	}
	return cfg.Keys()
}
