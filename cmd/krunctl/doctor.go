package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"krund/internal/boot/doctor"
	"krund/internal/control"
	"krund/internal/experiment/config/setting"
	"krund/internal/reading/experiment"
)

const doctorHelp = `Doctor reports whether this machine is fit to measure: a row for each setting that
krund controls, each reading that it takes and each source of processor counters,
with the value found, the value wanted, and how to get there. Without a
configuration it checks for what the warmup study asks; with one, for what the
experiment asks.

It only reads, and works on any machine. As root it sees more.

With --prove it also measures for a few seconds what the settings do: it keeps the
benchmarks' processors busy, first with the machine as it is and then with the
settings applied, and prints both: speed, timer ticks, device interrupts, context
switches. Then it restores the machine, also after Ctrl-C. It needs root, and
changes the machine for that time. If it is killed,
"krunctl restore /var/lib/krund/doctor.krun" restores the machine. This is the
only command of krunctl that measures.

EXAMPLES
  krunctl doctor
  krunctl doctor warmup.toml
  krunctl doctor --json | jq '.findings[] | select(.status == "cannot")'
  sudo krunctl doctor --prove

EXIT STATUS
  0  the machine is fit
  1  a required setting is not available, something could not be done, or
     --prove was interrupted
  2  wrong usage, or a mistake in the configuration`

type doctorOptions struct {
	json  bool
	prove bool
	time  time.Duration
}

func doctorCommand(a *app) *cobra.Command {
	var o doctorOptions
	c := &cobra.Command{
		Use: "doctor [NAME.toml]", Short: "Check whether this machine is fit to measure",
		Long: doctorHelp, Args: arguments(0, 1, "at most one configuration"),
		RunE: func(c *cobra.Command, args []string) error { return a.doctor(contextOf(c), args, o) },
	}
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	c.Flags().BoolVar(&o.prove, "prove", false,
		"apply the settings, measure their effect, and restore the machine (root)")
	c.Flags().DurationVar(&o.time, "time", 2*time.Second, "how long --prove measures")
	return c
}

// Format of the JSON of doctor. See docs/output.md.
const doctorFormat = 1

type doctorJSON struct {
	Format   int               `json:"format"`
	Host     string            `json:"host"`
	Fit      bool              `json:"fit"`
	Findings []setting.Finding `json:"findings"`
	Before   []setting.Finding `json:"proof_before"` // null without --prove
	Proof    []setting.Finding `json:"proof"`        // null also when a required setting cannot be applied
}

// wishesOf returns the wishes of the configuration in args, or else of the study.
func (a *app) wishesOf(args []string) (doctor.Wishes, error) {
	if len(args) == 0 {
		return doctor.Study(), nil
	}
	cfg, err := experiment.ParseConfig(a.fsys, args[0], a.host)
	if err != nil {
		return doctor.Wishes{}, err
	}
	return doctor.Of(cfg, cfg.Experiment.Reboot), nil
}

func (a *app) doctor(ctx context.Context, args []string, o doctorOptions) error {
	w, err := a.wishesOf(args)
	if err != nil {
		return err
	}
	if o.prove && o.time <= 0 {
		return usageError(fmt.Errorf("--time must be positive, not %s", o.time))
	}
	m := a.machine(ctx)
	doc := doctorJSON{Format: doctorFormat, Host: a.host}
	if o.prove {
		var proof doctor.Proof
		if proof, err = a.prove(ctx, m, w, o.time); proof.Findings == nil {
			return err
		}
		doc.Findings, doc.Before, doc.Proof = proof.Findings, proof.Before, proof.After
	} else {
		doc.Findings = control.CheckAll(ctx, m, w.Control)
	}
	doc.Findings = append(doc.Findings, doctor.Readings(ctx, m, w, a.counters)...)
	table := setting.Table{Findings: doc.Findings}
	doc.Fit = err == nil && !table.Fails()
	if o.json {
		err = errors.Join(err, a.printJSON(doc))
	} else {
		err = errors.Join(err, table.Print(a.stdout, a.console().Width()))
		a.printProof(doc.Before, doc.Proof)
	}
	if err == nil && !doc.Fit {
		return errFound
	}
	return err
}

// prove measures what the settings do until it is done or interrupted.
func (a *app) prove(
	ctx context.Context,
	m *control.Machine,
	w doctor.Wishes,
	d time.Duration,
) (doctor.Proof, error) {
	if a.uid != 0 {
		return doctor.Proof{}, errors.New(
			"--prove changes settings of the machine and needs root; use sudo")
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	p := doctor.Prover{Machine: m, FS: a.fsys, State: a.state, Host: a.host, Now: a.now, Measure: a.measure}
	proof, err := p.Prove(ctx, w, d)
	if proof.Refused {
		a.talk("krunctl: the settings were not measured, because a required one cannot be applied")
	}
	return proof, err
}
