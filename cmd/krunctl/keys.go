package main

import (
	"slices"

	"krund/internal/experiment/key"
	"krund/internal/reading/experiment"

	"github.com/spf13/cobra"
)

// keyFlag adds --key with its completion.
func (a *app) keyFlag(c *cobra.Command, key *string) {
	c.Flags().StringVar(key, "key", "", "only keys that match benchmark:vm:variant[@arm], each part may be *")
	complete := func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return a.completeKeys(args)
	}
	if err := c.RegisterFlagCompletionFunc("key", complete); err != nil {
		panic(err) // there is no such flag
	}
}

// keysOf returns the keys of an experiment, also of one that has not begun; none of a file of
// results, because reading it would take too long.
func (a *app) keysOf(arg string) []key.Key {
	if f, err := experiment.Open(a.fsys, arg); err == nil {
		return f.Keys(a.host)
	}
	if cfg, err := experiment.ParseConfig(a.fsys, arg, a.host); err == nil {
		return cfg.Keys()
	}
	return nil
}

// completeKeys returns the keys of the experiments that are on the command line already.
func (a *app) completeKeys(args []string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, arg := range args {
		for _, k := range a.keysOf(arg) {
			if !slices.Contains(names, k.String()) {
				names = append(names, k.String())
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
