package main

import (
	"os"

	"github.com/spf13/cobra"

	"krund/internal/boot/doctor"
	"krund/internal/display"
	"krund/internal/reading/experiment"
	"krund/internal/reading/integrity"
)

const repairHelp = `Repair fixes the problems that krunctl check finds, as far as that loses nothing:

  - a lost or damaged copy of the configuration is restored from the experiment's
    NAME.toml if that still has the same text;
  - a damaged record, and one that does not belong to its slot, is moved aside, and
    its slot is run again;
  - temporary files of a crash are removed;
  - damaged slots of the schedule are rebuilt from their records; a damaged copy of
    its header from the other copy; and if both are damaged, or the schedule is
    lost, from the configuration and the records;
  - a slot that disagrees with its record gets the flag of the record.

Everything that is replaced is kept beside it under a name that ends in .broken.
Repair takes the experiment's lock: it is refused while krund runs, and krund
cannot start until it is done. A second repair does nothing. Remaining problems
are printed at the end as krunctl check prints them.

With --dry-run it only prints what it would do.

--machine restores instead every machine setting that a killed krund has left changed, in
the reverse order of the changes, and prints what it did. krund writes each change to the
experiment's journal before it makes it; a restart has reverted those of earlier boots. It
also removes the account that krund makes for benchmarks, with its home and files, unless
it existed before krund or --keep-account is given. It needs root, and is refused while
krund runs. If the directory or the journal is lost, cannot be read, or can be changed by
others than root, the copy of the journal in /run/krund is used, and the exit status is 1.
An entry restores only what the control that it names can have changed.

EXAMPLES
  krunctl repair --dry-run warmup.krun
  krunctl repair warmup.toml
  sudo krunctl repair --machine warmup.toml
` + exitHelp

type repairOptions struct {
	dryRun, machine, keepAccount bool
	host                         string
}

func repairCommand(a *app) *cobra.Command {
	var o repairOptions
	c := &cobra.Command{
		Use: "repair DIR|NAME.toml", Short: "Repair an experiment's directory, or restore the machine",
		Long: repairHelp, Args: arguments(1, 1, "the experiment's directory or configuration"),
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
	options := integrity.Options{Hosts: []string{o.host}, Name: experiment.ConfigOf(f.Dir()),
		Settings: doctor.Settings()}
	done, err := integrity.Mend(f.FS(), f.Directory, integrity.MendOptions{Options: options,
		Original: experiment.ConfigOf(f.Dir()), DryRun: o.dryRun, Now: a.now()})
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
	left := integrity.Check(f.FS(), f.Directory, options).Problems
	a.console().Defects("remaining", left)
	if len(left) > 0 {
		return errFound
	}
	return nil
}
