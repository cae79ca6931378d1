package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"krund/internal/control"
	"krund/internal/durable"
	"krund/internal/experiment/config/setting"
	"krund/internal/experiment/directory"
	"krund/internal/machine/host"
	"krund/internal/machine/probe"
)

// Directory is the name of the directory that holds the journal of what Prove changes, in the form
// of an experiment's directory, so that `krunctl repair --machine` accepts it.
const Directory = "doctor.krun"

// ErrInterrupted ends a proof that was interrupted. All settings have been restored, unless an
// error is joined to it.
var ErrInterrupted = errors.New("interrupted")

// Prover measures the effect of a machine's settings.
type Prover struct {
	Machine *control.Machine
	FS      durable.FS
	State   string // directory that survives a crash; Directory is made in it
	Host    string
	Now     func() time.Time
	// Measure keeps the processors busy for a time and measures the machine; probe.Prove is one.
	Measure func(context.Context, host.Host, host.CPUs, time.Duration) (probe.Proof, error)
}

// Proof is the result of a proof.
type Proof struct {
	Findings []setting.Finding // of the settings; nil if they were not applied
	Before   []setting.Finding // measured as the machine was
	After    []setting.Finding // measured with the settings
	Refused  bool              // a required setting cannot be applied, so nothing was measured with them
}

// Prove measures the machine as it is, applies the settings, measures again for as long, and
// restores the machine, also when ctx is canceled. It needs root.
func (p *Prover) Prove(ctx context.Context, w Wishes, d time.Duration) (proof Proof, err error) {
	cpus := benchmarkCPUs(p.Machine, w.Control)
	if proof.Before, err = p.measured(ctx, cpus, d); err != nil {
		return Proof{}, err
	}
	proof.Findings, proof.Refused, err = p.Under(ctx, w, func() (err error) {
		proof.After, err = p.measured(ctx, cpus, d)
		return err
	})
	return proof, err
}

// Under applies the settings, calls work, and restores the machine, also when ctx is canceled. If a
// required setting cannot be applied, refused is true, and work is not called. It needs root.
func (p *Prover) Under(ctx context.Context, w Wishes, work func() error) (findings []setting.Finding,
	refused bool, err error) {
	journal, release, err := p.journal()
	if err != nil {
		return nil, false, err
	}
	defer release()
	findings, undo, problems := control.ApplyAll(ctx, p.Machine, w.Control, journal)
	defer func() { err = errors.Join(err, undo(context.WithoutCancel(ctx)), journal.Close()) }()
	switch {
	case ctx.Err() != nil:
		return findings, false, ErrInterrupted
	case len(problems) > 0:
		return findings, true, nil
	}
	return findings, false, work()
}

func (p *Prover) measured(
	ctx context.Context,
	cpus host.CPUs,
	d time.Duration,
) ([]setting.Finding, error) {
	m, err := p.Measure(ctx, p.Machine.Host, cpus, d)
	switch {
	case ctx.Err() != nil:
		return nil, ErrInterrupted
	case err != nil:
		return nil, fmt.Errorf("measure the machine: %w", err)
	}
	return m.Findings(), nil
}

func (p *Prover) journal() (*control.Journal, func(), error) {
	dir := filepath.Join(p.State, Directory)
	const othersRead = 0o755
	if err := os.MkdirAll(filepath.Join(dir, "results"), othersRead); err != nil {
		return nil, nil, fmt.Errorf("make a directory for the journal of changes: %w", err)
	}
	f, err := directory.Open(p.FS, dir)
	if err != nil {
		return nil, nil, err
	}
	lock, err := f.Lock(os.Getpid(), p.Host)
	if err != nil {
		return nil, nil, err
	}
	release := func() { _ = lock.Release() } // the end of the process releases it in any case
	journal, err := control.OpenJournal(p.FS, f.Journal(), p.Machine.Boot, p.Now)
	if err != nil {
		release()
		return nil, nil, fmt.Errorf("open the journal of changes: %w", err)
	}
	return journal, release, nil
}

// benchmarkCPUs are those that benchmarks run on once the settings are applied: threads cannot be
// bound to the siblings that smt switches off. None where threads cannot be bound; all that are
// online if that is one.
func benchmarkCPUs(m *control.Machine, r control.Request) host.CPUs {
	cpus, online, err := m.PlannedCPUs(r)
	if err == nil && len(cpus) == 0 {
		return online
	}
	return cpus
}
