package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"krund/internal/child"
	"krund/internal/control"
	"krund/internal/probe"
	"krund/internal/results"
)

// Recover puts back the settings that a krund that was killed has left changed, as the journal has them, and says so in the log. The error names
// what could not be put back; Apply meets it again, and does not go on then.
func (m *LabMachine) Recover(ctx context.Context) error {
	return m.restore(ctx, control.RestoreSettings)
}

// PutBack is Recover at the end of an experiment: the account for benchmarks goes as well.
func (m *LabMachine) PutBack(ctx context.Context) error { return m.restore(ctx, control.Restore) }

// A restorer is control.Restore or control.RestoreSettings.
type restorer func(context.Context, *control.Machine, *control.Journal) (control.Report, error)

// restore takes back what the journal holds, and what its copy holds when something is missing from
// the journal.
func (m *LabMachine) restore(ctx context.Context, how restorer) error {
	lost := control.Lost(m.FS, m.Journal)
	err := m.restoreFrom(ctx, m.Journal, how)
	if m.Spare == "" || m.Spare == m.Journal {
		return err
	}
	if _, missing := m.FS.Lstat(m.Spare); missing != nil || !lost {
		return err
	}
	m.Log.Warn("changes may be missing from the journal of settings; its copy is used, too", "copy", m.Spare)
	return errors.Join(err, m.restoreFrom(ctx, m.Spare, how))
}

// restoreFrom restores the settings in the journal at path.
func (m *LabMachine) restoreFrom(ctx context.Context, path string, how restorer) error {
	pending, err := control.ReadJournal(m.FS, path)
	if err == nil && len(pending) == 0 {
		if m.Spare != "" && !control.Lost(m.FS, path) {
			_ = m.FS.Remove(m.Spare) // an older version has restored the machine, and left it
		}
		return nil
	}
	journal, err := m.openJournal(path)
	if err != nil {
		return err
	}
	report, err := how(ctx, m.Control, journal)
	for _, x := range report {
		level := slog.LevelWarn
		restarted := x.Outcome == control.Void || x.Outcome == control.Already // as after each execution
		if x.Outcome != control.Failed && (restarted || m.Restarting) {
			level = slog.LevelDebug
		}
		m.Log.Log(ctx, level, "put back what an earlier krund had changed", "what", x.Target, "value", x.Value, "outcome", string(x.Outcome))
	}
	return errors.Join(err, journal.Close())
}

func (m *LabMachine) openJournal(path string) (*control.Journal, error) {
	journal, err := control.OpenJournal(m.FS, path, m.Control.Boot, m.Clock.Now)
	if err != nil {
		return nil, fmt.Errorf("open the journal of settings: %w", err)
	}
	journal.Spare(m.Spare)
	for _, damage := range journal.Damage() {
		m.Log.Warn("the journal of settings was damaged", "line", damage)
	}
	return journal, nil
}

// Apply sets what is to be set; before the first change a guard stands. The Undo also closes the journal and sends the guard away.
func (m *LabMachine) Apply(ctx context.Context) (Applied, error) {
	virtual := probe.CheckVirtualisation(ctx, m.Control, m.Probes.Virtualisation)
	if virtual.Fails() {
		return Applied{Controls: []results.Control{row(virtual)}}, errors.New(sentences(control.Problems([]control.Finding{virtual})))
	}
	m.warn(virtual)
	journal, err := m.openJournal(m.Journal)
	if err != nil {
		return Applied{}, err
	}
	var guard Guard
	journal.Before(func() error {
		if m.Guard == nil {
			return nil
		}
		started, err := m.Guard(ctx)
		if err == nil { // otherwise it may be a nil pointer, which is a Guard that is not nil
			guard = started
		}
		return err
	})
	findings, undo, problems := control.ApplyAll(ctx, m.Control, m.Settings, journal)
	m.journal = journal
	place := control.Placement(m.Control, m.Settings, findings)
	applied := Applied{
		Env: control.Environment(m.Settings), Cgroup: place.Cgroup, CPUs: place.CPUs,
		Undo: func(ctx context.Context) error {
			err := errors.Join(undo(ctx), journal.Close())
			m.dismiss(guard, err)
			guard = nil
			return err
		},
		Restarting: func() {
			if guard != nil {
				m.note(guard.Restarting())
				guard = nil
			}
		},
	}
	for _, f := range append(findings, virtual) {
		if f.Policy != control.Off {
			applied.Controls = append(applied.Controls, row(f))
		}
	}
	if len(problems) > 0 {
		return applied, errors.New(sentences(problems))
	}
	return applied, nil
}

// Account makes the account for benchmarks anew (MakeAccount), between Apply and its Undo. PutBack takes it away, unless it was there before.
func (m *LabMachine) Account(ctx context.Context) (child.Account, []string, error) {
	if err := control.ExpectAccount(m.Control, m.journal); err != nil {
		return child.Account{}, nil, err
	}
	return m.MakeAccount(ctx)
}

// dismiss sends the guard away when everything is as it was. Otherwise it shall try again when krund has ended.
func (m *LabMachine) dismiss(guard Guard, failed error) {
	if guard == nil {
		return
	}
	act := guard.Release
	if failed != nil {
		act = guard.Leave
	}
	m.note(act())
}

// note logs that the guard could not be told something.
func (m *LabMachine) note(err error) {
	if err != nil {
		m.Log.Warn("guard", "error", err)
	}
}
