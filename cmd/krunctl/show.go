package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"krund/internal/directory"
	"krund/internal/display"
	"krund/internal/results"
)

const showHelp = `Show prints the record of one process execution: what was run and how it
ended, its times, and the state of the machine around it.

SLOT is the number of a slot (from 0, as status prints it), and means its last
attempt; SLOT-ATTEMPT means that attempt (from 1). A record's file may be named
instead.

With --json it is the record's document itself, byte for byte; its fields are in
docs/output.md.

It only reads, and may be used while krund runs; but looking costs a machine that
measures processor time.

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
		Short: "Print the record of one process execution",
		Long:  showHelp,
		Args:  arguments(1, 2, "an experiment and a slot, or the file of a record"),
		RunE:  func(_ *cobra.Command, args []string) error { return a.show(args, o) },
	}
	c.Flags().BoolVar(&o.json, "json", false, "print the record's JSON document")
	c.Flags().BoolVar(&o.series, "series", false, "print a row for each iteration, too")
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
	a.printRecord(rec)
	if o.series {
		a.print("\n")
		a.printSeries(rec)
	}
	return nil
}

// recordFile returns the file that the arguments of show name.
func (a *app) recordFile(args []string) (string, error) {
	if len(args) == 1 {
		if _, ok := results.ParseName(filepath.Base(args[0])); !ok && !strings.HasSuffix(args[0], ".json.gz") {
			return "", usageError{fmt.Errorf("which record? `krunctl show %s SLOT`, or the file of a record (SLOT-ATTEMPT.json.gz)", display.ShellPath(args[0]))}
		}
		return args[0], nil
	}
	slot, attempt, err := parseRecord(args[1])
	if err != nil {
		return "", usageError{err}
	}
	f, err := a.openDirectory(args[0])
	if err != nil {
		return "", err
	}
	if attempt == 0 {
		if attempt, err = a.lastAttempt(f, slot); err != nil {
			return "", err
		}
	}
	file := filepath.Join(f.Results(), results.Name{Slot: slot, Attempt: attempt}.String())
	if _, err := a.fsys.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s has no record of slot %d, attempt %d", f.Dir(), slot, attempt)
	}
	return file, nil
}

// parseRecord reads "17", "17-2" or the name of a record's file. Attempt 0
// means the last one.
func parseRecord(s string) (slot, attempt int, err error) {
	slotText, attemptText, both := strings.Cut(strings.TrimSuffix(s, ".json.gz"), "-")
	slot, err = strconv.Atoi(slotText)
	if err != nil || slot < 0 {
		return 0, 0, fmt.Errorf("%q is not a slot; give its number, such as 17, or with the attempt, such as 17-1", s)
	}
	if !both {
		return slot, 0, nil
	}
	attempt, err = strconv.Atoi(attemptText)
	if err != nil || attempt < 1 {
		return 0, 0, fmt.Errorf("%q is not a slot and an attempt; attempts count from 1, such as 17-1", s)
	}
	return slot, attempt, nil
}

// lastAttempt returns the highest attempt of a slot that has a record.
func (a *app) lastAttempt(f directory.Directory, slot int) (int, error) {
	list, err := a.reader(f).List()
	if err != nil {
		return 0, err
	}
	last := 0
	for _, n := range list.Records {
		if n.Slot == slot {
			last = max(last, n.Attempt)
		}
	}
	if last == 0 {
		return 0, fmt.Errorf("%s has no record of slot %d; `krunctl status %s` shows how far it is", f.Dir(), slot, display.ShellPath(f.Dir()))
	}
	return last, nil
}
