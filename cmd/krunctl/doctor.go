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

	"krund/internal/clock"
	"krund/internal/config"
	"krund/internal/control"
	"krund/internal/folder"
	"krund/internal/probe"
	"krund/internal/settings"
)

const doctorHelp = `Doctor says whether this machine is fit to measure: a row for each setting that
krund controls and each reading that it takes, with what is, what is wanted, and
how to get there. Without a configuration the wishes are those of the warmup
study; with one they are the experiment's.

It only reads. As root it sees more.

With --prove it also brings the settings about, measures for a few seconds what
that does (speed of the processors, interrupts and context switches while they
are busy), and puts everything back. That needs root and changes the machine for
as long. Should it be killed, "krunctl restore /var/lib/krund/doctor.krun" puts
everything back.

EXAMPLES
  krunctl doctor
  krunctl doctor warmup.toml
  krunctl doctor --json | jq '.findings[] | select(.status == "cannot")'
  sudo krunctl doctor --prove

EXIT STATUS
  0  the machine is fit
  1  something that is required cannot be had, or something could not be done
  2  wrong usage, or a mistake in the configuration`

type doctorOptions struct {
	json  bool
	prove bool
	time  time.Duration
}

func doctorCommand(a *app) *cobra.Command {
	var o doctorOptions
	c := &cobra.Command{
		Use:   "doctor [NAME.toml]",
		Short: "Say whether this machine is fit to measure",
		Long:  doctorHelp,
		Args:  arguments(0, 1, "at most one configuration"),
		RunE:  func(c *cobra.Command, args []string) error { return a.doctor(contextOf(c), args, o) },
	}
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	c.Flags().BoolVar(&o.prove, "prove", false, "apply the settings, measure what they do, and put everything back (root)")
	c.Flags().DurationVar(&o.time, "time", 2*time.Second, "how long --prove measures")
	return c
}

// Format of the JSON of doctor. See docs/output.md.
const doctorFormat = 1

type doctorJSON struct {
	Format   int               `json:"format"`
	Host     string            `json:"host"`
	Fit      bool              `json:"fit"`
	Findings []control.Finding `json:"findings"`
	Proof    []control.Finding `json:"proof"` // null without --prove
}

// wishes are what is asked of the machine.
type wishes struct {
	control control.Settings
	probe   probe.Settings
}

func (a *app) wishesOf(args []string) (wishes, error) {
	if len(args) == 0 {
		return wishes{control.Defaults(), probe.Defaults()}, nil
	}
	cfg, err := a.parseConfig(args[0], a.host)
	if err != nil {
		return wishes{}, err
	}
	relaxed := cfg.Experiment.Reboot != config.RebootHardware
	return wishes{settings.Controls(cfg, relaxed), settings.Probes(cfg, relaxed)}, nil
}

func (a *app) doctor(ctx context.Context, args []string, o doctorOptions) error {
	w, err := a.wishesOf(args)
	if err != nil {
		return err
	}
	m := a.machine(ctx)
	doc := doctorJSON{Format: doctorFormat, Host: a.host}
	if o.prove {
		doc.Findings, doc.Proof, err = a.prove(ctx, m, w, o.time)
	} else {
		doc.Findings = control.CheckAll(ctx, m, w.control)
	}
	doc.Findings = append(doc.Findings, probe.Check(ctx, m, w.probe)...)
	table := control.Table{Findings: doc.Findings}
	doc.Fit = err == nil && !table.Fails()
	if o.json {
		err = errors.Join(err, a.printJSON(doc))
	} else {
		err = errors.Join(err, table.Print(a.stdout))
		if len(doc.Proof) > 0 {
			a.print("\nMeasured while these settings were in force:\n\n")
			err = errors.Join(err, control.Table{Findings: doc.Proof}.Print(a.stdout))
		}
	}
	if err == nil && !doc.Fit {
		return errFound
	}
	return err
}

// doctorFolder holds the journal of what --prove changes, in the form of an
// experiment's folder, so that `krunctl restore` can be pointed at it.
const doctorFolder = "/var/lib/krund/doctor.krun"

// prove brings the settings about, measures, and puts everything back, also
// when it is interrupted.
func (a *app) prove(ctx context.Context, m *control.Machine, w wishes, d time.Duration) (found, proof []control.Finding, err error) {
	if a.uid != 0 {
		return nil, nil, errors.New("--prove changes settings of the machine: only root may; use sudo")
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	journal, release, err := a.doctorJournal(m)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	found, undo, problems := control.ApplyAll(ctx, m, w.control, journal)
	defer func() { err = errors.Join(err, undo(context.WithoutCancel(ctx)), journal.Close()) }()
	if len(problems) > 0 {
		a.talk("krunctl: nothing is measured, because something that is required cannot be had")
		return found, nil, nil
	}
	cpus, err := benchmarkCPUs(m, w.control)
	if err != nil {
		return found, nil, err
	}
	p, err := probe.Prove(ctx, m, clock.Real{}, cpus, d)
	if err != nil {
		return found, nil, fmt.Errorf("measure what the settings do: %w", err)
	}
	return found, p.Findings(), nil
}

func (a *app) doctorJournal(m *control.Machine) (*control.Journal, func(), error) {
	const private = 0o755
	if err := os.MkdirAll(doctorFolder+"/results", private); err != nil {
		return nil, nil, fmt.Errorf("make a folder for the journal of changes: %w", err)
	}
	f, err := folder.Open(a.fsys, doctorFolder)
	if err != nil {
		return nil, nil, err
	}
	lock, err := f.Lock(os.Getpid(), a.host)
	if err != nil {
		return nil, nil, err
	}
	release := func() { _ = lock.Release() } // the end of the process releases it in any case
	journal, err := control.OpenJournal(a.fsys, f.Journal(), m.Boot, a.now)
	if err != nil {
		release()
		return nil, nil, fmt.Errorf("open the journal of changes: %w", err)
	}
	return journal, release, nil
}

// benchmarkCPUs are those that the settings name, else all but the lowest, and
// none where threads cannot be bound.
func benchmarkCPUs(m *control.Machine, s control.Settings) (control.CPUs, error) {
	if s.CPUs != "" {
		return control.ParseCPUList(s.CPUs)
	}
	text, err := m.Root.Read("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, nil //nolint:nilerr // a system without it does not bind threads either
	}
	online, err := control.ParseCPUList(text)
	if err != nil || len(online) < 2 {
		return online, err
	}
	return online[1:], nil
}
