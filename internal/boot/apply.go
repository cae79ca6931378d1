package boot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"time"

	"krund/internal/control"
	"krund/internal/durable"
	"krund/internal/execution/account"
	"krund/internal/execution/identity"
	"krund/internal/experiment/config/setting"
	"krund/internal/experiment/results"
	"krund/internal/machine/host"
	"krund/internal/machine/probe"
	"krund/internal/schedule"
)

// RestoreLeftover restores the settings left behind by a killed krund, as recorded in the journal,
// and logs them. The error names those that could not be restored; Apply then fails, too.
func (m *LabMachine) RestoreLeftover(ctx context.Context) error {
	return m.restore(ctx, control.RestoreSettings)
}

// RestoreAll is RestoreLeftover at the end of an experiment: it also removes the account for
// benchmarks.
func (m *LabMachine) RestoreAll(ctx context.Context) error { return m.restore(ctx, control.Restore) }

// A restorer is control.Restore or control.RestoreSettings.
type restorer func(context.Context, *control.Machine, *control.Journal) (control.RestoreReport, error)

// restore restores what is recorded in the journal, and in its copy if entries are missing from the
// journal.
func (m *LabMachine) restore(ctx context.Context, how restorer) error {
	lost := control.Lost(m.FS, m.Journal)
	err := m.restoreFrom(ctx, m.Journal, how)
	if m.Spare == "" || m.Spare == m.Journal {
		return err
	}
	if _, missing := m.FS.Lstat(m.Spare); missing != nil || !lost {
		return err
	}
	m.Log.Warn("entries may be missing from the journal of settings; using its copy, too", "copy", m.Spare)
	return errors.Join(err, m.restoreFrom(ctx, m.Spare, how))
}

// restoreFrom restores the settings in the journal at path.
func (m *LabMachine) restoreFrom(ctx context.Context, path string, how restorer) error {
	pending, err := control.ReadJournal(m.FS, path)
	if err == nil && len(pending) == 0 {
		if m.Spare != "" && !control.Lost(m.FS, path) {
			_ = m.FS.Remove(m.Spare) // an older krund restored the machine without removing it
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
		restarted := x.Outcome == control.Void || x.Outcome == control.Already // normal after a restart
		if x.Outcome != control.Failed && (restarted || m.RestartExpected) {
			level = slog.LevelDebug
		}
		m.Log.Log(ctx, level, "restored a setting left behind by a killed krund", "what", x.Target, "value",
			x.Value, "outcome", string(x.Outcome))
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

// changes are what LabMachine.Apply has changed. They stay open until Restore or LeaveToRestart.
type changes struct {
	journal *control.Journal
	restore control.Undo
	guard   Guard            // nil: nothing has been changed yet, or the guard was dismissed
	set     control.Snapshot // of the settings once they are applied
}

// Apply applies the settings. It starts the guard before the first change.
func (m *LabMachine) Apply(ctx context.Context) (Applied, error) {
	virtual := probe.CheckVirtualisation(ctx, m.Control.Host, m.Probes.Virtualisation)
	if virtual.Fails() {
		return Applied{Controls: []results.Control{row(virtual)}},
			errors.New(sentences(setting.Problems([]setting.Finding{virtual})))
	}
	m.warn(virtual)
	journal, err := m.openJournal(m.Journal)
	if err != nil {
		return Applied{}, err
	}
	c := &changes{journal: journal}
	journal.Before(func() error {
		if m.Guard == nil {
			return nil
		}
		guard, err := m.Guard(ctx)
		if err == nil { // on an error guard may hold a nil pointer, which is not a nil Guard
			c.guard = guard
		}
		return err
	})
	findings, undo, problems := control.ApplyAll(ctx, m.Control, m.Settings, journal)
	c.restore = undo
	place := control.Placement(m.Control, m.Settings, findings)
	applied := Applied{found: map[string]string{}, Env: control.Environment(m.Settings), Cgroup: place.Cgroup,
		CPUs: place.CPUs, changes: c}
	for _, f := range append(findings, virtual) {
		one := row(f)
		if f.Policy == setting.Off {
			one.Detail = "" // about what krund would do
			if !slices.Contains(setting.Volatile, f.Name) {
				applied.found[probe.StatePrefix+"control."+f.Name] = cmp.Or(f.Found, "none")
			}
		}
		applied.Controls = append(applied.Controls, one)
	}
	if len(problems) > 0 {
		return applied, errors.New(sentences(problems))
	}
	applied.Frequencies = m.frequencies()
	applied.Remarks = m.awaitJobs(ctx)
	c.set = control.TakeSnapshot(ctx, m.Control, m.Settings)
	return applied, ctx.Err()
}

// frequencies returns what is known about the cores once the controls are set.
func (m *LabMachine) frequencies() []results.Frequency {
	online, err := m.Control.Online()
	if err != nil {
		return nil
	}
	policies, err := m.Control.FrequencyPolicies()
	if err != nil {
		m.Log.Warn("the frequencies that the cores are held at cannot be read", "error", err)
	}
	var list []results.Frequency
	for _, cpu := range online {
		f := results.Frequency{Core: &cpu}
		for _, p := range policies {
			if held := p.Held(); held > 0 && p.CPUs.Contains(host.CPUs{cpu}) {
				f.HeldKHz = &held
			}
		}
		for _, s := range m.Control.Measured() {
			if s.Core == cpu {
				f.MPERFHz, f.MeasuredHz = &s.MPERF, &s.APERF
			}
		}
		if f.HeldKHz != nil || f.MPERFHz != nil {
			list = append(list, f)
		}
	}
	return list
}

// jobsPatience is how long to wait for what timers have started: updates of packages take minutes.
const jobsPatience = 10 * time.Minute

// awaitJobs waits until systemd has no job left that a timer has started before it was stopped.
func (m *LabMachine) awaitJobs(ctx context.Context) []string {
	if !m.Settings.Of("timers").Policy.Changes() {
		return nil
	}
	left := probe.AwaitJobs(ctx, m.Control.Host, m.Clock, jobsPatience, func(units []string) {
		m.Log.Debug("waiting for systemd", "jobs", strings.Join(units, ", "))
	})
	if len(left) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("systemd was still at work after %s: %s", jobsPatience,
		strings.Join(left, ", "))}
}

// reread reads the settings again after a run. It puts what it found into the record's controls,
// and names those that have moved, with the running programs that are known to move them.
func (m *LabMachine) reread(ctx context.Context, a Applied, seen *Observation) {
	seen.Machine.Controls = a.Controls
	if a.changes == nil {
		return
	}
	now := control.TakeSnapshot(ctx, m.Control, m.Settings)
	seen.Machine.Controls = slices.Clone(a.Controls)
	for i := range seen.Machine.Controls {
		c := &seen.Machine.Controls[i]
		c.After = now.Found(c.Name)
	}
	for _, move := range now.Since(a.changes.set) {
		if move.Unread {
			seen.Remarks = append(seen.Remarks, move.Text)
			continue
		}
		by := ""
		if names := control.Movers(ctx, m.Control, move.Control); names != "" {
			by = "; this program runs and changes it: " + names
		}
		seen.Disturbed = append(seen.Disturbed, move.Text+" after it was set"+by)
	}
}

// Account makes the account for benchmarks anew (MakeAccount) and records it in the journal of
// a.changes. RestoreAll removes it, unless it existed before.
func (m *LabMachine) Account(ctx context.Context, a Applied) (account.Account, []string, error) {
	if m.Root { // MakeAccount makes none otherwise
		if err := control.ExpectAccount(m.Control, a.changes.journal); err != nil {
			return account.Account{}, nil, err
		}
	}
	return m.MakeAccount(ctx)
}

// Restore restores what Apply has changed, and dismisses the guard. If something cannot be
// restored, the guard stays and tries again when krund has ended.
func (m *LabMachine) Restore(ctx context.Context, a Applied) error {
	if a.changes == nil {
		return nil
	}
	err := errors.Join(a.changes.restore(ctx), a.changes.journal.Close())
	if err != nil {
		m.dismiss(a.changes, Guard.HandOver)
	} else {
		m.dismiss(a.changes, Guard.Dismiss)
	}
	return err
}

// LeaveToRestart tells the guard that a restart of the machine resets the settings.
func (m *LabMachine) LeaveToRestart(a Applied) {
	if a.changes != nil {
		m.dismiss(a.changes, Guard.AnnounceRestart)
	}
}

// dismiss sends the guard its last message.
func (m *LabMachine) dismiss(c *changes, word func(Guard) error) {
	if c.guard == nil {
		return
	}
	if err := word(c.guard); err != nil {
		m.Log.Warn("the guard could not be notified", "error", err)
	}
	c.guard = nil
}

// compare compares the machine with the one that the experiment began on, whose fingerprint it
// stores the first time, but for the programs that are measured. It returns the changes as remarks,
// or as an error if the configuration requires the same machine throughout.
func (m *LabMachine) compare(now probe.Fingerprint) ([]string, error) {
	text, err := durable.ReadFile(m.FS, m.Origin)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, m.remember(now)
	}
	if err != nil {
		return nil, fmt.Errorf("read the machine's fingerprint: %w", err)
	}
	var origin probe.Fingerprint
	if err := json.Unmarshal(text, &origin); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; remove it to accept this machine as the one that the "+
			"experiment began on", m.Origin, err)
	}
	var changed, state []string
	for _, d := range probe.Diff(origin, now) {
		if identity.Measured(d.Name) {
			continue // see samePrograms
		}
		if strings.HasPrefix(d.Name, probe.StatePrefix) {
			if d.Old != "" && d.New != "" { // an older krund did not read it
				state = append(state, "a setting has changed since the experiment began: "+d.String())
			}
			continue
		}
		changed = append(changed, "the machine is not the one that the experiment began on: "+d.String())
	}
	if len(changed) > 0 && m.Probes.Fingerprint == setting.Require {
		return nil, fmt.Errorf("%s\nrevert the change, or remove %s to continue with the machine as it is",
			strings.Join(changed, "\n"), m.Origin)
	}
	return append(changed, state...), nil
}

func (m *LabMachine) remember(now probe.Fingerprint) error {
	text, err := json.MarshalIndent(now, "", " ")
	if err == nil {
		err = durable.WriteFile(m.FS, m.Origin, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("store the machine's fingerprint: %w; repair the disk and start krund again",
			err)
	}
	return nil
}

// base returns the temperatures that each execution starts from. The first execution takes them
// when the settings are applied and the disks written, the state in which the gate compares with
// them: idle states, frequencies and the network change the temperature at rest by several degrees.
// If the schedule has none later, because its header was rebuilt or the machine had no sensors when
// the experiment began, base takes them again, and the remark for the record says so.
func (x *experiment) base(ctx context.Context) (base []results.Temperature, remarks []string, err error) {
	if base := x.schedule.Header().BaseTemperatures; len(base) > 0 {
		return base, nil, nil
	}
	if base, err = x.Machine.Base(ctx); err != nil || len(base) == 0 {
		return nil, nil, err // not configured
	}
	x.Progress.Step("waiting to read the base temperatures", x.cfg.Temperature.BaseWait)
	if err := x.Clock.Sleep(ctx, x.cfg.Temperature.BaseWait); err != nil {
		return nil, nil, err
	}
	if base, err = x.Machine.Base(ctx); err != nil {
		return nil, nil, err
	}
	keep := func() error {
		return x.schedule.UpdateHeader(func(h *schedule.Header) { h.BaseTemperatures = base })
	}
	if keep() != nil { // the header has no room for all
		base = base[:min(len(base), schedule.SpareSensors)]
		if err := keep(); err != nil {
			return nil, nil, fmt.Errorf("store the base temperatures: %w", err)
		}
	}
	if listing, err := x.reader.List(); err == nil && len(listing.Records) == 0 {
		return base, nil, nil // the first execution
	}
	x.Log.Warn("the base temperatures of the experiment were lost and have been read again",
		"sensors", len(base))
	return base, []string{fmt.Sprintf("the schedule had no base temperatures: those of %d sensors were "+
		"read again before this execution", len(base))}, nil
}
