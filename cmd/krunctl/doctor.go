package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"krund/internal/boot/doctor"
	"krund/internal/control"
	"krund/internal/experiment/config/setting"
	"krund/internal/reading/experiment"
)

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
