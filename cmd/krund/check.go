package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"krund/internal/config"
	"krund/internal/control"
	"krund/internal/probe"
	"krund/internal/settings"
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
		return misnamed(err)
	}
	if err := trusted(path, cfg.Experiment.Reboot); err != nil {
		return err
	}
	m := control.NewMachine(ctx, sysroot.New("/"))
	relaxed := cfg.Experiment.Reboot != config.RebootHardware
	table := control.Table{Findings: append(
		control.CheckAll(ctx, m, settings.Controls(cfg, relaxed)),
		probe.Check(ctx, m, settings.Probes(cfg, relaxed))...)}
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
