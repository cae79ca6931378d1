package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"krund/internal/control"
	"krund/internal/directory"
	"krund/internal/display"
	"krund/internal/doctor"
)

// doctorDirectory holds the journal of what --prove changes, in the form of an
// experiment's directory, so that `krunctl restore` can be pointed at it.
const doctorDirectory = "doctor.krun"

// errInterrupted ends a proof that somebody did not want to wait for. What was
// changed is put back, or the error that is joined to it says what is not.
var errInterrupted = errors.New("interrupted")

// prove measures the machine as it is, brings the settings about, measures
// again, and puts everything back, also when it is interrupted. found is nil
// when it did not come as far as to look at the settings.
func (a *app) prove(ctx context.Context, m *control.Machine, w doctor.Wishes, d time.Duration) (found, before, proof []control.Finding, err error) {
	if a.uid != 0 {
		return nil, nil, nil, errors.New("--prove changes settings of the machine: only root may; use sudo")
	}
	cpus, err := benchmarkCPUs(m, w.Control)
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	journal, release, err := a.doctorJournal(m)
	if err != nil {
		return nil, nil, nil, err
	}
	defer release()
	if before, err = a.measured(ctx, m, cpus, d); err != nil {
		return nil, nil, nil, errors.Join(err, journal.Close())
	}
	found, undo, problems := control.ApplyAll(ctx, m, w.Control, journal)
	defer func() { err = errors.Join(err, undo(context.WithoutCancel(ctx)), journal.Close()) }()
	switch {
	case ctx.Err() != nil:
		return found, before, nil, errInterrupted
	case len(problems) > 0:
		a.talk("krunctl: the settings are not measured, because something that is required cannot be had")
		return found, before, nil, nil
	}
	proof, err = a.measured(ctx, m, cpus, d)
	return found, before, proof, err
}

// measured keeps the processors busy for d.
func (a *app) measured(ctx context.Context, m *control.Machine, cpus control.CPUs, d time.Duration) ([]control.Finding, error) {
	p, err := a.measure(ctx, m, cpus, d)
	switch {
	case ctx.Err() != nil:
		return nil, errInterrupted
	case err != nil:
		return nil, fmt.Errorf("measure the machine: %w", err)
	}
	return p.Findings(), nil
}

// printProof prints what was measured before the settings were brought about,
// and then.
func (a *app) printProof(before, proof []control.Finding) {
	if len(before) == 0 {
		return
	}
	rows := make([][]string, 0, len(before))
	for _, b := range before {
		row := []string{b.Name, b.Found, "-", b.Wanted, "-"}
		if i := slices.IndexFunc(proof, func(f control.Finding) bool { return f.Name == b.Name }); i >= 0 {
			row[2], row[3], row[4] = proof[i].Found, proof[i].Wanted, string(proof[i].Status)
		}
		rows = append(rows, row)
	}
	a.print("\nMeasured while the processors were busy:\n\n")
	display.Table(a.stdout, []string{"measured", "before", "with the settings", "wanted", "status"}, rows)
	for _, f := range proof {
		if f.Status != control.StatusOK {
			a.print("%s: %s; %s\n", display.Terminal(f.Name), display.Terminal(f.Why), display.Terminal(f.Fix))
		}
	}
}

func (a *app) doctorJournal(m *control.Machine) (*control.Journal, func(), error) {
	dir := filepath.Join(a.state, doctorDirectory)
	const othersRead = 0o755
	if err := os.MkdirAll(filepath.Join(dir, "results"), othersRead); err != nil {
		return nil, nil, fmt.Errorf("make a directory for the journal of changes: %w", err)
	}
	f, err := directory.Open(a.fsys, dir)
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
