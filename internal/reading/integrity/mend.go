package integrity

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/reading/experiment"
	"krund/internal/schedule"
	"krund/internal/schedule/rerun"
)

// Mend repairs what can be repaired without losing anything, and returns what it did, in order. The
// caller must hold the experiment's lock, except for a dry run. Repeating it does nothing. Check
// reports what remains.
//
// Mend recreates the copy of the configuration, sets damaged records aside, removes leftover
// temporary files, rebuilds damaged parts of the schedule, or all of it, and gives each slot the
// flag according to its record. It stops at the first error; the list then has what was done until
// then.
//
// A lost copy of the configuration is recreated from the experiment's own file if that is the same
// text. host is that of Check; a dry run only returns what would be done; now is for a schedule
// that must be recreated without any record.
func Mend(f directory.Directory, host string, dryRun bool, now time.Time) ([]string, error) {
	m := &mending{check: examine(f, host), dryRun: dryRun, now: now}
	for _, step := range []func() error{m.mendConfig, m.putRecordsAside, m.removeLeftovers, m.mendSchedule,
		m.completeReruns, m.mendSlots} {
		if err := step(); err != nil {
			return m.done, err
		}
	}
	return m.done, nil
}

type mending struct {
	*check
	dryRun bool
	now    time.Time
	done   []string
}

// step performs a repair, unless this is a dry run, and records it.
func (m *mending) step(what string, do func() error) error {
	if !m.dryRun {
		if err := do(); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	m.done = append(m.done, what)
	return nil
}

func (m *mending) has(codes ...Code) bool {
	is := func(d Defect) bool { return slices.Contains(codes, d.Code) }
	return slices.ContainsFunc(m.report.Problems, is)
}

// hash returns the hash of the configuration with which the experiment was started, or "" if
// neither the schedule nor the records agree on one.
func (m *mending) hash() string {
	if m.header != nil {
		return m.header.ConfigHash
	}
	if n := len(m.earlier); n > 0 {
		return m.earlier[n-1]
	}
	if len(m.hashes) == 1 {
		for h := range m.hashes {
			return h
		}
	}
	return ""
}

// mendConfig recreates the copy of the configuration from the original, if that is the text with
// which the experiment was started.
func (m *mending) mendConfig() error {
	want := m.hash()
	right := m.config != nil && (want == "" || m.config.Hash == want)
	if right || want == "" {
		return nil
	}
	original := experiment.ConfigOf(m.directory.Dir())
	text, err := durable.ReadFile(m.fsys, original)
	if err != nil {
		return nil // there is no original; Check still reports the copy
	}
	slots := 0
	if m.header != nil {
		slots = m.header.Slots
	}
	cfg, err := m.parse(text, slots)
	if err != nil || cfg.Hash != want {
		return nil
	}
	m.config = cfg
	return m.step("copied "+original+" to "+configFile, func() error {
		if err := m.keep(m.directory.ConfigCopy()); err != nil {
			return err
		}
		const readable = 0o644
		return durable.WriteFile(m.fsys, m.directory.ConfigCopy(), text, readable)
	})
}

// keep renames a file to a free name that ends in .broken. It is no error if there is no file.
func (m *mending) keep(path string) error {
	if there, err := m.exists(path); err != nil || !there {
		return err
	}
	const most = 1000
	for n := range most {
		name := path + brokenMark
		if n > 0 {
			name = fmt.Sprintf("%s%d", name, n)
		}
		taken, err := m.exists(name)
		if err != nil {
			return err
		}
		if taken {
			continue
		}
		if err := m.fsys.Rename(path, name); err != nil {
			return err
		}
		return m.fsys.SyncDir(filepath.Dir(path))
	}
	return fmt.Errorf("%d copies %s%s* are in the way; remove some", most, path, brokenMark)
}

func (m *mending) exists(path string) (bool, error) {
	_, err := m.fsys.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// putRecordsAside moves records that must not be used as results out of the way: damaged records,
// and records that do not belong to their slot. It keeps the latter if the schedule does not belong
// to this configuration, because then the schedule may be the wrong one.
func (m *mending) putRecordsAside() error {
	for _, index := range m.sortedSlots() {
		if err := m.putAside("damaged record", m.slots[index].damaged); err != nil {
			return err
		}
	}
	if m.header == nil || m.config == nil || m.config.Hash != m.header.ConfigHash || m.has(PlanDiffers) {
		return nil
	}
	return m.putAside("record of another process execution", m.strangers)
}

func (m *mending) putAside(what string, names []results.Name) error {
	for _, name := range names {
		err := m.step(fmt.Sprintf("set the %s %s aside as %s%s", what, name, name, brokenMark), func() error {
			return m.keep(filepath.Join(m.directory.Results(), name.String()))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *mending) removeLeftovers() error {
	if !m.has(Leftover) {
		return nil
	}
	return m.step("removed leftover temporary files", func() error {
		_, first := results.Clean(m.fsys, m.directory.Results())
		_, second := durable.RemoveTemps(m.fsys, m.directory.Dir())
		return errors.Join(first, second)
	})
}

// completeReruns completes a request for reruns. It comes after the repair of the schedule, which
// is changed, and before that of the slots, which then have no records.
func (m *mending) completeReruns() error {
	if len(m.pending) == 0 {
		return nil
	}
	what := fmt.Sprintf("completed a request to run %s again", display.Count(len(m.pending), "slot"))
	return m.step(what, func() error {
		s, err := schedule.Open(m.fsys, m.directory.Schedule(), true)
		if err != nil {
			return err
		}
		_, err = rerun.Complete(m.directory, s)
		return errors.Join(err, s.Close())
	})
}

// ErrNoConfig is the error if the schedule has to be rebuilt and the configuration is missing.
var ErrNoConfig = errors.New("the schedule can be rebuilt only with the configuration that the experiment " +
	"was started with; put that text into config.toml, or beside the directory as NAME.toml")

// mendSchedule rebuilds damaged parts of the schedule.
func (m *mending) mendSchedule() error {
	missing := m.has(ScheduleMissing) && len(m.slots) > 0
	if !missing && !m.has(HeaderDamaged, HeadersDamaged, SlotDamaged, ScheduleSize) {
		return nil
	}
	if m.config == nil || (m.hash() != "" && m.config.Hash != m.hash()) {
		if !missing && !m.has(HeadersDamaged, SlotDamaged, ScheduleSize) {
			return nil // only a copy of the header, which krund repairs itself
		}
		return ErrNoConfig
	}
	src := m.source()
	if missing {
		return m.step("recreated the schedule from the configuration and the records"+m.baseRemark(),
			func() error {
				_, err := schedule.Repair(m.fsys, m.directory.Schedule(), src)
				return err
			})
	}
	if m.dryRun {
		return m.step("rebuilt the damaged parts of the schedule from the records", nil)
	}
	report, err := schedule.Repair(m.fsys, m.directory.Schedule(), src)
	if err != nil {
		return err
	}
	m.done = append(m.done, m.describe(report)...)
	return nil
}

// baseRemark returns a remark if the rebuilt header has no base temperatures.
func (m *mending) baseRemark() string {
	if len(m.facts.Base) > 0 {
		return ""
	}
	return "; without base temperatures, because no record has them; krund will not wait for temperatures"
}

func (m *mending) describe(r schedule.RepairReport) []string {
	if r.Clean() {
		return nil
	}
	lines := []string{"kept the damaged schedule as " + filepath.Base(r.Backup)}
	switch len(r.Headers) {
	case 1:
		lines = append(lines, "rewrote the damaged copy of the schedule's header from the other copy")
	case 2: //nolint:mnd // there are two copies
		lines = append(lines,
			"rebuilt the schedule's header from the configuration and the records"+m.baseRemark())
	}
	if r.Size != nil {
		lines = append(lines, "restored the size of the schedule: "+r.Size.Error())
	}
	const most = 10
	for i, slot := range r.Slots {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %d more slots", len(r.Slots)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("rebuilt slot %d from its records", slot))
	}
	return lines
}

// source returns the source for rebuilding the schedule. All records are already loaded.
func (m *mending) source() schedule.Source {
	return schedule.NewSource(m.planned(), schedule.NewHeader(m.config, m.facts, m.now),
		func(slot int) (schedule.History, error) {
			if past := m.slots[slot]; past != nil {
				return past.History, nil
			}
			return schedule.History{}, nil
		})
}

func (m *mending) sortedSlots() []int { return slices.Sorted(maps.Keys(m.slots)) }

// change is a slot that gets a different flag.
type change struct {
	slot   schedule.Slot
	flag   schedule.Flag
	why    string
	forget int // number of trailing attempts of an outstanding slot whose records are lost
}

// mendSlots gives each slot the flag according to its records.
func (m *mending) mendSlots() error {
	s, err := schedule.Open(m.fsys, m.directory.Schedule(), !m.dryRun)
	if err != nil {
		return nil //nolint:nilerr // nothing to repair, or a dry run; Check reports the damage
	}
	var changes []change
	for slot, err := range s.Slots() {
		if _, ok := errors.AsType[*schedule.DamagedSlot](err); ok {
			continue // only in a dry run
		} else if err != nil {
			return errors.Join(err, s.Close())
		}
		if c, ok := m.changeOf(slot); ok {
			changes = append(changes, c)
		}
	}
	for _, c := range changes {
		what := fmt.Sprintf("slot %d changed from %s to %s: %s", c.slot.Index, c.slot.Flag, c.flag, c.why)
		err := m.step(what, func() error {
			if c.forget > 0 {
				return s.Forget(c.slot, c.forget)
			}
			return s.Finish(c.slot, c.flag)
		})
		if err != nil {
			return errors.Join(err, s.Close())
		}
	}
	return s.Close()
}

// changeOf returns the flag that a slot should have, if it differs.
func (m *mending) changeOf(slot schedule.Slot) (change, bool) {
	if _, again := slices.BinarySearch(m.pending, slot.Index); again {
		return change{}, false
	}
	past := cmp.Or(m.slots[slot.Index], &history{}).of(slot)
	final, ok := past.Final()
	code, _, _ := disagreement(slot, past)
	switch {
	case ok && (code == SlotBehind || code == OutcomeDiffers || slot.Flag == schedule.Running):
		return change{slot, schedule.FlagOf(final.Outcome),
			fmt.Sprintf("according to the record of attempt %d", final.Name.Attempt), 0}, true
	case code == RecordLost:
		forget := 0
		for missing := past.missing(slot); slices.Contains(missing, slot.Attempts-forget); {
			forget++
		}
		return change{slot, schedule.Outstanding, "its record is lost, so it will run again", forget}, true
	case !ok && slot.Flag.Final() && slot.Flag != schedule.Skipped && len(past.damaged) > 0 &&
		len(past.damaged) == past.broken:
		return change{slot, schedule.Outstanding, "its record is damaged, so it will run again", 0}, true
	}
	return change{}, false
}
