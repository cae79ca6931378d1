package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"krund/internal/clock"
	"krund/internal/config"
	"krund/internal/control"
	"krund/internal/durable"
	"krund/internal/folder"
	"krund/internal/machine"
	"krund/internal/sysroot"
)

// check is `krund check`: the configuration with all its files, and every setting of the machine. It changes nothing.
func check(ctx context.Context, args []string, stdout, _ io.Writer) error {
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	asJSON := flags.Bool("json", false, "")
	path, err := parseWithFile(flags, args)
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name of this machine: %w", err)
	}
	cfg, err := config.Load(path, host)
	if err != nil {
		return err
	}
	if err := trusted(path, cfg.Experiment.Reboot == config.RebootHardware); err != nil {
		return err
	}
	m := control.NewMachine(ctx, sysroot.New("/"))
	relaxed := cfg.Experiment.Reboot != config.RebootHardware
	table := control.Table{Findings: control.CheckAll(ctx, m, machine.Settings(cfg, relaxed))}
	if *asJSON {
		out := json.NewEncoder(stdout)
		out.SetIndent("", " ")
		err = out.Encode(table)
	} else {
		fmt.Fprintf(stdout, "%s: %d process executions of %d keys\n\n", cfg.Experiment.Name, cfg.Slots(), len(cfg.Keys()))
		err = table.Print(stdout)
	}
	if err == nil && table.Fails() {
		return errSilent
	}
	return err
}

// restore is `krund restore`: it puts back what the journal of the experiment still holds, and says what it did.
func restore(ctx context.Context, args []string, stdout, _ io.Writer) error {
	flags := flag.NewFlagSet("restore", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	dir := flags.String("folder", "", "")
	path, err := parseWithFile(flags, args)
	if err != nil {
		return err
	}
	if *dir == "" {
		*dir = folder.For(path)
	}
	f, err := folder.Open(durable.OS(), *dir)
	if err != nil {
		return err
	}
	host, _ := os.Hostname() // only for the message of the next krund
	lock, err := f.Lock(os.Getpid(), host)
	if err != nil {
		return err
	}
	defer lock.Release() //nolint:errcheck // the end of the process releases it, too
	m := control.NewMachine(ctx, sysroot.New("/"))
	journal, err := control.OpenJournal(durable.OS(), f.Journal(), m.Boot, clock.Real{}.Now)
	if err != nil {
		return err
	}
	defer journal.Close() //nolint:errcheck // what it wrote is synced
	report, err := control.Restore(ctx, m, journal)
	if printErr := report.Print(stdout); printErr != nil {
		return printErr
	}
	return err
}
