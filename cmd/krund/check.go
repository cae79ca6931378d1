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
	"krund/internal/doctor"
	"krund/internal/msr"
	"krund/internal/sysroot"
)

// Format of the JSON of check. See docs/output.md.
const checkFormat = 1

type checkJSON struct {
	Format     int               `json:"format"`
	Experiment string            `json:"experiment"`
	Config     string            `json:"config"`
	ConfigHash string            `json:"config_hash"`
	Host       string            `json:"host"`
	Keys       int               `json:"keys"`
	Slots      int               `json:"slots"`
	Fit        bool              `json:"fit"`
	Findings   []control.Finding `json:"findings"`
}

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
	w := doctor.Of(cfg, cfg.Experiment.Reboot)
	table := control.Table{Findings: doctor.Look(ctx, control.NewMachine(ctx, sysroot.New("/")), w, msr.Probe)}
	if *asJSON {
		out := json.NewEncoder(stdout)
		out.SetIndent("", "  ")
		err = out.Encode(checkJSON{
			Format: checkFormat, Experiment: cfg.Experiment.Name, Config: path, ConfigHash: cfg.Hash, Host: cfg.Hostname,
			Keys: len(cfg.Keys()), Slots: cfg.Slots(), Fit: !table.Fails(), Findings: table.Findings,
		})
	} else {
		fmt.Fprintf(stdout, "%s: %d process executions of %d keys\n\n", cfg.Experiment.Name, cfg.Slots(), len(cfg.Keys()))
		err = table.Print(stdout)
	}
	if err == nil && table.Fails() {
		return errSilent
	}
	return err
}
