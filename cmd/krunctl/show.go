package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"krund/internal/display"
	"krund/internal/experiment/results"
	"krund/internal/reading/experiment"
)

const showHelp = `Show prints the record of one process execution: what was run and how it ended,
its times, and the state of the machine before and after.

SLOT is the number of a slot (from 0, as status prints it) and selects its last
attempt; SLOT-ATTEMPT selects that attempt (from 1). The file of a record may be
given instead.

With --json it prints the record's document itself, byte for byte; docs/output.md
describes its fields.

It only reads, and may run while krund does, but it takes processor time from a
machine that measures.

EXAMPLES
  krunctl show warmup.krun 7               the last attempt of slot 7
  krunctl show warmup.krun 7-1             its first attempt
  krunctl show --series warmup.krun 7      and all its iterations
  krunctl show --json warmup.krun/results/0000007-001.json.gz | jq .wall_ns
` + exitHelp

type showOptions struct {
	json   bool
	series bool
}

func showCommand(a *app) *cobra.Command {
	var o showOptions
	c := &cobra.Command{
		Use:   "show DIR|NAME.toml SLOT[-ATTEMPT] | RECORDFILE",
		Short: "Print the record of one process execution", Long: showHelp,
		Args: arguments(1, 2, "an experiment and a slot, or the file of a record"),
		RunE: func(_ *cobra.Command, args []string) error { return a.show(args, o) },
	}
	c.Flags().BoolVar(&o.json, "json", false, "print the record's JSON document")
	c.Flags().BoolVar(&o.series, "series", false, "also print a row for each iteration")
	return c
}

func (a *app) show(args []string, o showOptions) error {
	file, err := a.recordFile(args)
	if err != nil {
		return err
	}
	rec, err := results.Skim(a.fsys, file, o.series)
	var where *fs.PathError
	switch {
	case errors.As(err, &where):
		return fmt.Errorf("read the record: %w", err)
	case err != nil:
		return fmt.Errorf("%s: %w", file, err)
	}
	if o.json {
		return results.Copy(a.stdout, a.fsys, file)
	}
	a.console().Record(rec)
	if o.series {
		a.print("\n")
		a.console().Series(rec)
	}
	return nil
}

// recordFile returns the file of the record that the arguments name.
func (a *app) recordFile(args []string) (string, error) {
	if len(args) == 1 {
		if _, ok := results.ParseName(filepath.Base(args[0])); !ok &&
			!strings.HasSuffix(args[0], ".json.gz") {
			return "", usageError(
				fmt.Errorf(
					"name a record: `krunctl show %s SLOT`, or the file of a record (SLOT-ATTEMPT.json.gz)",
					display.ShellPath(args[0])),
			)
		}
		return args[0], nil
	}
	slot, attempt, err := experiment.ParseRecord(args[1])
	if err != nil {
		return "", usageError(err)
	}
	f, err := experiment.Open(a.fsys, args[0])
	if err != nil {
		return "", err
	}
	return f.RecordFile(slot, attempt)
}
