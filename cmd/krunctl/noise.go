package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"krund/internal/machine/noise"
	"krund/internal/trial"
	"krund/internal/trial/certificate"
)

const noiseHelp = `Noise measures how much this machine disturbs a program that only computes, and how
small a change an experiment on it could find. It takes about a minute, and stores
a certificate with the date, the boot and the machine's fingerprint.

A thread on each of the benchmarks' processors reads the clock in a loop. Each gap in
which it did not run is time that a benchmark would lose. The table has a row for each
processor: the share that was lost, how often, the longest gap, its period if it has
one, and what ran there meanwhile: threads, interrupts, softirqs, the hypervisor.
Gaps without any of these come from the firmware (SMI) or from a hypervisor.

Then the same program, nbody in C, is executed several times. The executions do the
same work, so their standard deviation is the noise floor, and the table below it has
the smallest change that a comparison of n executions with n others would find with
probability 0.8, at level 0.05. Programs on virtual machines vary more than this one.

With --compare all of it is measured a second time with the settings that the warmup
study asks for, as far as they can be set without a reboot: what krund changes, and
what that is worth. It needs root and restores the machine. If it is killed,
"krunctl restore /var/lib/krund/doctor.krun" does.

krund measures: krunctl starts "krund census" and "krund run". An experiment keeps a
copy of the newest certificate, and its report shows it.

EXAMPLES
  sudo krunctl noise --compare
  krunctl noise --time 30s --cpus 1-3 --directory .

EXIT STATUS
  0  measured
  1  something could not be done
  2  wrong usage`

type noiseOptions struct {
	time       time.Duration
	cpus       string
	executions int
	compare    bool
	json       bool
	directory  string
}

func noiseCommand(a *app) *cobra.Command {
	var o noiseOptions
	c := &cobra.Command{
		Use: "noise", Short: "Certify how much this machine disturbs a measurement",
		Long: noiseHelp, Args: arguments(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(contextOf(c), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			return a.noise(ctx, o)
		},
	}
	f := c.Flags()
	f.DurationVar(&o.time, "time", 10*time.Second, "how long to look for gaps")
	f.StringVar(&o.cpus, "cpus", "", "processors to look at, such as 1-3 (default all but the lowest)")
	f.IntVar(&o.executions, "executions", 10, "of the fixed program; 0 leaves the noise floor out")
	f.BoolVar(&o.compare, "compare", false, "measure again with the study's settings applied (root)")
	f.BoolVar(&o.json, "json", false, "print the certificate as JSON")
	f.StringVar(&o.directory, "directory", "",
		"store the certificate here (default /var/lib/krund/noise as root; else it is not stored)")
	return c
}

// check reports mistakes in the options.
func (o *noiseOptions) check(uid int) error {
	const most = 1000
	switch {
	case o.time <= 0:
		return usageError(fmt.Errorf("--time must be positive, not %s", o.time))
	case o.executions != 0 && (o.executions < 3 || o.executions > most):
		return usageError(fmt.Errorf("--executions must be 0, or from 3 to %d, not %d", most, o.executions))
	case o.compare && uid != 0:
		return errors.New("--compare changes settings of the machine and needs root; use sudo")
	}
	return nil
}

// noise measures, stores and prints a certificate.
func (a *app) noise(ctx context.Context, o noiseOptions) error {
	if err := o.check(a.uid); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "krunctl-noise-")
	if err != nil {
		return fmt.Errorf("make a directory for the measurement: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	krund, err := trial.KrundPath()
	if err != nil {
		return err
	}
	n := certificate.Run{FS: a.fsys, Host: a.host, Krund: krund, Work: work, Now: a.now, Say: a.talk,
		Time: o.time, CPUs: o.cpus, Executions: o.executions, Compare: o.compare}
	c, err := n.Certificate(ctx)
	if err != nil {
		return err
	}
	if o.directory == "" && a.uid == 0 {
		o.directory = filepath.Join(a.state, noise.Directory)
	}
	file := ""
	if o.directory != "" {
		if file, err = noise.Store(a.fsys, o.directory, c); err != nil {
			return err
		}
	}
	if o.json {
		return a.printJSON(c)
	}
	a.console().Certificate(c)
	if file == "" {
		a.talk("the certificate is not stored: run it as root, or use --directory")
	} else {
		a.print("\nstored as %s\n", file)
	}
	return nil
}
