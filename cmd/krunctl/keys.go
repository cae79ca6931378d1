package main

import (
	"slices"

	"krund/internal/experiment"

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

// completeKeys returns the keys of the experiments that are on the command line already.
func (a *app) completeKeys(args []string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, arg := range args {
		f, err := experiment.Open(a.fsys, arg)
		if err != nil {
			continue // a file of results: reading it would take too long
		}
		for _, k := range f.Keys(a.host) {
			if !slices.Contains(names, k.String()) {
				names = append(names, k.String())
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
