package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"krund/internal/analysis/compare"
	"krund/internal/boot/doctor"
	"krund/internal/control"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/noise"
	"krund/internal/reading/experiment"
	"krund/internal/reading/integrity"
	"krund/internal/reading/summary"
	"krund/internal/trial"
	"krund/internal/trial/certificate"
)

type checkOptions struct {
	format, reboot, host, cpus, output        string
	quick, try, prove, noise, plan, data, all bool
	time                                      time.Duration
	executions                                int
}

func checkCommand(a *app) *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use: "check [NAME.toml | DIR]", Short: "Say what would go wrong: the machine, a file, a directory",
		Args: arguments(0, 1, "a configuration, a directory, or nothing"),
		RunE: func(c *cobra.Command, args []string) error { return a.check(c, args, o) },
	}
	f := c.Flags()
	formatFlag(f, &o.format, "text", "json")
	f.StringVar(&o.reboot, "reboot", "", "judge a run with this restart: hardware, kexec, soft or none")
	f.BoolVar(&o.quick, "quick", false, "judge a run with --quick")
	f.BoolVar(&o.try, "try", false, "also run one iteration of each key")
	f.BoolVar(&o.plan, "plan", false, "print what would run, in order, and how long it would take")
	f.BoolVar(&o.all, "all", false, "list all slots of the plan")
	f.BoolVar(&o.prove, "prove", false, "apply the settings, measure their effect, and restore them (root)")
	f.BoolVar(&o.noise, "noise", false, "certify how much this machine disturbs a measurement")
	f.DurationVar(&o.time, "time", 0, "how long to measure (default 2s, --noise 10s)")
	f.StringVar(&o.cpus, "cpus", "", "processors of --noise, such as 1-3 (default all but the lowest)")
	f.IntVar(&o.executions, "executions", 30, "of the program of --noise; 0 leaves the noise floor out")
	outputFlag(f, &o.output, "directory for the certificate of --noise")
	a.hostFlag(f, &o.host, "")
	f.BoolVar(&o.data, "data", false, "the directory of the configuration")
	hide(f, "data", "executions") // of a former name, and where not all of krund is installed
	return c
}

// check finds out what is asked: a machine, a configuration, a plan, or a directory.
func (a *app) check(c *cobra.Command, args []string, o checkOptions) error {
	if c.Flags().Changed("time") && o.time <= 0 {
		return usageError(fmt.Errorf("--time must be positive, not %s", o.time))
	}
	if (o.noise || o.prove) && a.running != nil {
		if pids := a.running(); len(pids) > 0 {
			return fmt.Errorf("krund runs an experiment on this machine (process %d), which this would "+
				"disturb: wait for its end, or end it with `krunctl stop`", pids[0])
		}
	}
	ctx := c.Context()
	switch {
	case o.noise:
		if len(args) > 0 {
			return usageError(errors.New("--noise is for this machine: omit the argument"))
		}
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		if err := only(c, "--noise", "format prove noise time cpus executions output"); err != nil {
			return err
		}
		return a.noise(ctx, o)
	case o.plan:
		if err := only(c, "a plan", "format plan all host"); err != nil {
			return err
		}
		return a.plan(c, args, o)
	case len(args) > 0 && (o.data || !strings.HasSuffix(args[0], ".toml")):
		if err := only(c, "a directory", "format data host"); err != nil {
			return err
		}
		return a.checkData(args[0], o)
	case len(args) == 0 || o.prove:
		if err := only(c, "a machine", "format prove time"); err != nil {
			return err
		}
		return a.doctor(ctx, args, o)
	}
	if err := only(c, "a configuration", "format reboot quick try"); err != nil {
		return err
	}
	return a.checkConfig(ctx, c, args[0], o)
}

// checkConfig starts krund to check a configuration, and prints how long it would take.
func (a *app) checkConfig(ctx context.Context, c *cobra.Command, path string, o checkOptions) error {
	err := a.krund(append(flagsOf(c, "check"), path), true)
	if cfg, wrong := experiment.ParseConfig(a.fsys, path, a.host); wrong == nil && o.format == "text" {
		if p, unknown := summary.PlanOf(ctx, a.fsys, cfg, path); unknown == nil {
			left := p.ETA.String()
			if p.ETA.RemainingNS == nil {
				left = "the time left is " + left
			}
			a.console().Line("plan", "%d of %d slots finished; %s", p.Finished, p.SlotsTotal, left)
		}
	}
	return err
}

func (a *app) checkData(arg string, o checkOptions) error {
	f, err := experiment.Open(a.fsys, arg)
	if err != nil {
		return err
	}
	r := integrity.Check(f.Directory, o.host)
	err = a.answer(o.format, r.Document(f.Dir()), func() { a.console().Integrity(f.Dir(), r) })
	if err == nil && len(r.Problems) > 0 {
		return errFound
	}
	return err
}

// planLimit is the number of slots that the text shows without --all.
const planLimit = 20

// plan prints what would run.
func (a *app) plan(c *cobra.Command, args []string, o checkOptions) error {
	if len(args) == 0 {
		return usageError(errors.New("--plan needs the experiment's configuration, NAME.toml"))
	}
	path := args[0]
	cfg, err := experiment.ParseConfig(a.fsys, path, o.host)
	if err != nil {
		return err
	}
	p, err := summary.PlanOf(c.Context(), a.fsys, cfg, path)
	if err != nil {
		return err
	}
	limit := planLimit
	if o.all || o.format == "json" {
		limit = p.SlotsTotal
	}
	if o.format == "json" {
		return a.console().PlanJSON(p, summary.PlanSlots(a.fsys, cfg, path), limit)
	}
	a.console().Plan(p, summary.PlanSlots(a.fsys, cfg, path), limit)
	return nil
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

func (a *app) doctor(ctx context.Context, args []string, o checkOptions) error {
	w, err := a.wishesOf(args)
	if err != nil {
		return err
	}
	m := a.machine(ctx)
	doc := doctorJSON{Format: doctorFormat, Host: a.host}
	if o.prove {
		var proof doctor.Proof
		if proof, err = a.prove(ctx, m, w, cmp.Or(o.time, 2*time.Second)); proof.Findings == nil {
			return err
		}
		doc.Findings, doc.Before, doc.Proof = proof.Findings, proof.Before, proof.After
	} else {
		doc.Findings = control.CheckAll(ctx, m, w.Control)
	}
	doc.Findings = append(doc.Findings, doctor.Readings(ctx, m, w, a.counters)...)
	table := setting.Table{Findings: doc.Findings}
	doc.Fit = err == nil && !table.Fails()
	if o.format == "json" {
		err = errors.Join(err, a.printJSON(doc))
	} else {
		err = errors.Join(err, table.Print(a.stdout, a.console().Width()))
		a.console().Proof(doc.Before, doc.Proof)
		if !doc.Fit && len(args) == 0 {
			a.print("These are the settings of the study. With reboot = \"none\" an experiment warns of " +
				"them and measures;\n`krunctl check --noise` says how small a change it can show then.\n")
		}
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

// noise measures, stores and prints a certificate.
func (a *app) noise(ctx context.Context, o checkOptions) error {
	const least, most = compare.LeastForFloor, 1000
	switch {
	case o.executions != 0 && (o.executions < least || o.executions > most):
		return usageError(fmt.Errorf("--executions must be 0, or from %d to %d, not %d: fewer say little "+
			"about how much they vary", least, most, o.executions))
	case o.prove && a.uid != 0:
		return errors.New("--prove changes settings of the machine and needs root; use sudo")
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
		Time: cmp.Or(o.time, 10*time.Second), CPUs: o.cpus, Executions: o.executions, Compare: o.prove}
	c, err := n.Certificate(ctx)
	if err != nil {
		return err
	}
	if o.output == "" && a.uid == 0 {
		o.output = filepath.Join(a.state, noise.Directory)
	}
	file := ""
	if o.output != "" {
		earlier, err := noise.Earlier(a.fsys, o.output, c)
		if err != nil {
			return err
		}
		c.Boots = certificate.Boots(c, earlier)
		if file, err = noise.Store(a.fsys, o.output, c); err != nil {
			return err
		}
	}
	if o.format == "json" {
		return a.printJSON(c)
	}
	a.console().Certificate(c)
	if file == "" {
		a.talk("the certificate is not stored: run it as root, or use -o DIRECTORY")
	} else {
		a.print("\nstored as %s\n", file)
	}
	return nil
}
