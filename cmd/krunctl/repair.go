package main

import (
	"os"

	"github.com/spf13/cobra"

	"krund/internal/display"
	"krund/internal/reading/experiment"
	"krund/internal/reading/integrity"
)

type repairOptions struct {
	dryRun, machine, keepAccount bool
	host                         string
}

func repairCommand(a *app) *cobra.Command {
	var o repairOptions
	c := &cobra.Command{
		Use: "repair DIR|NAME.toml", Short: "Repair an experiment's directory, or restore the machine",
		Args: arguments(1, 1, "the experiment's directory or configuration"),
		RunE: func(c *cobra.Command, args []string) error {
			if !o.machine {
				if err := only(c, "a directory; add --machine", "dry-run host"); err != nil {
					return err
				}
				return a.repair(args[0], o)
			}
			if err := only(c, "--machine", "machine keep-account"); err != nil {
				return err
			}
			return a.restore(c.Context(), args[0], o.keepAccount)
		},
	}
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "only print what would be done")
	c.Flags().BoolVar(&o.machine, "machine", false, "restore what a killed krund has left changed (root)")
	c.Flags().BoolVar(&o.keepAccount, "keep-account", false,
		"with --machine: keep the account for benchmarks")
	a.hostFlag(c.Flags(), &o.host, " if the records name none")
	hide(c.Flags(), "host")
	return c
}

func (a *app) repair(arg string, o repairOptions) error {
	f, err := experiment.OpenToChange(a.fsys, arg, a.uid)
	if err != nil {
		return err
	}
	if !o.dryRun {
		lock, err := f.Lock(os.Getpid(), a.host)
		if err != nil {
			return err
		}
		defer lock.Release() //nolint:errcheck // the end of the process releases it in any case
	}
	done, err := integrity.Mend(f.Directory, o.host, o.dryRun, a.now())
	would := ""
	if o.dryRun {
		would = "would have "
	}
	for _, what := range done {
		a.print("%s%s\n", would, display.Terminal(what))
	}
	if err != nil {
		return err
	}
	if len(done) == 0 {
		a.print("nothing to repair\n")
	}
	if o.dryRun {
		return nil
	}
	left := integrity.Check(f.Directory, o.host).Problems
	a.console().Defects("remaining", left)
	if len(left) > 0 {
		return errFound
	}
	return nil
}
