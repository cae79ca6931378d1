package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"krund/internal/analysis/dataset"
	"krund/internal/directory"
	"krund/internal/display"
	"krund/internal/key"
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

// keyFlag adds --key, the same for all commands that have keys to choose from.
func (a *app) keyFlag(c *cobra.Command, key *string) {
	c.Flags().StringVar(key, "key", "", "only keys that match benchmark:vm:variant, each part may be *")
	complete := func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return a.completeKeys(args)
	}
	if err := c.RegisterFlagCompletionFunc("key", complete); err != nil {
		panic(err) // there is no such flag
	}
}

// completeKeys gives a shell the keys of the experiments that are on the command line already.
func (a *app) completeKeys(args []string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, arg := range args {
		f, err := a.openDirectory(arg)
		if err != nil {
			continue // a file of results: reading it would take too long
		}
		for _, k := range a.knownKeys(f) {
			if !slices.Contains(names, k.String()) {
				names = append(names, k.String())
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// onlyKeys leaves out of d the keys that do not match; nil leaves all.
func onlyKeys(d *dataset.Dataset, pattern *key.Pattern) error {
	if pattern == nil {
		return nil
	}
	known := make([]key.Key, len(d.Pairs))
	for i := range d.Pairs {
		known[i] = d.Pairs[i].Key
	}
	if err := checkPattern(pattern, known); err != nil {
		return err
	}
	d.Pairs = slices.DeleteFunc(d.Pairs, func(p dataset.Pair) bool { return !pattern.Match(p.Key) })
	return nil
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
			n += display.Distance(strings.ToLower(wanted[i]), strings.ToLower(part))
		}
	}
	return n
}

// knownKeys returns the keys of an experiment: those of its schedule, or when that cannot be read of its configuration; nil when neither can be.
func (a *app) knownKeys(f directory.Directory) []key.Key {
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

func (a *app) plannedKeys(f directory.Directory) []key.Key {
	cfg, err := a.copiedConfig(f, a.host)
	if err != nil {
		return nil
	}
	return cfg.Keys()
}
