package integrity

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path/filepath"
	"slices"

	"krund/internal/display"
	"krund/internal/execution/identity"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
)

// schedule reads every slot and compares it with its records and the plan.
func (c *check) schedule() {
	s, err := schedule.Open(c.fsys, c.directory.Schedule(), false)
	if err != nil {
		c.unopened(err)
		if c.config != nil {
			c.grown(c.config.Hash)
		}
		for _, index := range slices.Sorted(maps.Keys(c.slots)) {
			c.twice(c.slots[index])
		}
		return
	}
	defer s.Close() //nolint:errcheck // read-only
	header := s.Header()
	c.header = &header
	if err := s.HeaderDamage(); err != nil {
		c.report.problem(HeaderDamaged, scheduleFile, "one of the two copies of the header: "+err.Error(),
			"nothing: the other copy is sound, and krund rewrites this one at its next update; `krunctl "+
				"repair` does, too")
	}
	c.bestHost(header.Slots)
	c.grown(header.ConfigHash)
	next, stop := iter.Pull(c.plan(header))
	defer stop()
	planGiven := false
	for slot, err := range s.Slots() {
		planned, known := next()
		var damaged *schedule.DamagedSlot
		switch {
		case errors.As(err, &damaged):
			c.report.Slots.Damaged++
			c.report.slot(SlotDamaged, scheduleFile, damaged.Index, "its line is damaged: "+damaged.Reason,
				"krund or `krunctl repair` rebuilds it from the records")
			continue
		case err != nil:
			c.report.problem(ScheduleUnread, scheduleFile, err.Error(), "check the disk")
			return
		}
		c.report.Slots.Add(slot)
		if !planGiven && known && (planned.Key != slot.Key || planned.Pexec != slot.Pexec) {
			planGiven = true // report only the first: the others follow from it
			c.report.slot(PlanDiffers, scheduleFile, slot.Index, fmt.Sprintf("it is %s number %d, but the "+
				"configuration plans %s number %d", slot.Key, slot.Pexec, planned.Key, planned.Pexec),
				copyFix+"; if the configuration depends on the machine, select it with --host")
		}
		c.compare(s, slot)
	}
	c.strays(header.Slots)
}

func (c *check) unopened(err error) {
	var size *schedule.SizeError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.report.problem(ScheduleMissing, scheduleFile, "it is missing", "start krund again if nothing was "+
			"measured; otherwise `krunctl repair` creates one from the configuration and the records")
	case errors.Is(err, schedule.ErrVersion):
		c.report.problem(ScheduleVersion, scheduleFile, err.Error(), newerFix)
	case errors.Is(err, schedule.ErrHeaders):
		c.report.problem(HeadersDamaged, scheduleFile, "both copies of the header are damaged", repairFix)
	case errors.As(err, &size):
		c.report.problem(ScheduleSize, scheduleFile, err.Error(), repairFix)
	default:
		c.report.problem(ScheduleUnread, scheduleFile, err.Error(),
			"make the file readable, and check the disk")
	}
}

// bestHost parses the configuration again for a machine for which it has as many slots as the
// schedule, if the first machine does not match.
func (c *check) bestHost(slots int) {
	if c.config == nil || c.config.Hash != c.header.ConfigHash || c.config.Slots() == slots {
		return
	}
	if cfg, err := c.parse([]byte(c.config.Text), slots); err == nil {
		c.config = cfg
	}
	if c.config.Slots() != slots {
		c.report.problem(PlanDiffers, scheduleFile,
			fmt.Sprintf("it has %d slots, but the configuration plans %d", slots, c.config.Slots()),
			copyFix+"; if the configuration depends on the machine, select it with --host")
	}
}

// plan yields the slots that the configuration plans, or nothing if the plan is unknown or does not
// match the schedule.
func (c *check) plan(h schedule.Header) iter.Seq[schedule.Slot] {
	if c.config == nil || c.config.Hash != h.ConfigHash {
		return func(func(schedule.Slot) bool) {}
	}
	return schedule.PlanOf(c.planned())
}

// planned returns the stages of the experiment, whose configuration is known.
func (c *check) planned() []schedule.Stage {
	if c.stages == nil {
		return schedule.StagesOf(c.config)
	}
	return c.stages
}

// grown finds the stages of an experiment that grew, up to the configuration with this hash, which
// is that of the schedule.
func (c *check) grown(hash string) {
	if c.config == nil {
		return
	}
	stages, err := identity.Stages(c.latest.Editions, c.config.Earlier)
	if err != nil {
		c.report.problem(EditionsBad, filepath.Base(c.directory.Editions()), err.Error(), copyFix)
		return
	}
	i := slices.IndexFunc(stages, func(s schedule.Stage) bool { return s.Config.Hash == hash })
	if i < 0 {
		return
	}
	for _, s := range stages {
		c.earlier = append(c.earlier, s.Config.Hash)
	}
	if i < len(stages)-1 || c.config.Hash != hash {
		c.report.note(GrowthUnfinished, filepath.Base(c.directory.Editions()), "the power failed while the "+
			"experiment grew", "nothing: krund completes that at its next start")
	}
	c.config, c.stages = stages[i].Config, stages[:i+1]
}

// compare compares a slot with its records. While krund runs, a slot may have changed since its
// records were read, so records that disagree are read again.
func (c *check) compare(s *schedule.Schedule, slot schedule.Slot) {
	if _, pending := slices.BinarySearch(c.pending, slot.Index); pending {
		return // its records are about to be replaced
	}
	h := cmp.Or(c.slots[slot.Index], &history{})
	c.twice(h.of(slot))
	for _, r := range h.Records {
		switch {
		case r.Key != slot.Key.String() || r.Pexec != slot.Pexec:
			c.report.record(RecordDiffers, r.Name, fmt.Sprintf("it belongs to %s number %d, but slot %d is "+
				"%s number %d", r.Key, r.Pexec, slot.Index, slot.Key, slot.Pexec),
				"move records of other experiments out of the directory; `krunctl repair` sets this one "+
					"aside")
			c.strangers = append(c.strangers, r.Name)
		case r.Name.Attempt > slot.Attempts:
			if again, err := s.Slot(slot.Index); err == nil && again.Attempts >= r.Name.Attempt {
				continue
			}
			c.report.record(RecordAhead, r.Name, fmt.Sprintf("it belongs to attempt %d, but the slot has "+
				"counted %s", r.Name.Attempt, attempts(slot.Attempts)),
				"the schedule is older than the records: get both from the same copy of the directory")
		}
	}
	code, what, fix := disagreement(slot, h)
	switch {
	case code == RecordLost && len(h.missing(slot)) > 0:
		c.lost(slot, h, fix)
	case code != "":
		c.report.slot(code, scheduleFile, slot.Index, what, fix)
	default:
		c.lost(slot, h,
			copyFix+"; the slot does not need it, but it is the only explanation of why that attempt does "+
				"not count")
	}
	if f, ok := h.Final(); ok && slot.Flag == schedule.Running && f.Name.Attempt == slot.Attempts {
		c.report.note(UnfinishedRecord, resultsDir+"/"+f.Name.String(),
			fmt.Sprintf("the record exists, but slot %d is still marked as running", slot.Index),
			"nothing: krund finishes the slot, at its next start if not now")
	}
}

// lost reports attempts of a slot that ended without a record. A record that was missing when the
// records were read may exist now.
func (c *check) lost(slot schedule.Slot, h *history, fix string) {
	for _, attempt := range h.missing(slot) {
		name := results.Name{Slot: slot.Index, Attempt: attempt}
		if _, err := c.fsys.Lstat(filepath.Join(c.directory.Results(), name.String())); !errors.Is(err,
			fs.ErrNotExist) {
			continue
		}
		c.report.record(RecordLost, name,
			fmt.Sprintf("the slot is %s after %s, but this attempt has no record",
				slot.Flag, attempts(slot.Attempts)), fix)
	}
}

// missing returns the finished attempts of a slot that have no record file.
func (h *history) missing(slot schedule.Slot) []int {
	ended := slot.Attempts
	if slot.Flag == schedule.Running {
		ended--
	}
	var list []int
	for attempt := 1; attempt <= ended; attempt++ {
		if !slices.Contains(h.attempts, attempt) {
			list = append(list, attempt)
		}
	}
	return list
}

// disagreement returns how a slot and its records contradict each other, and what to do; "" if they
// agree.
func disagreement(slot schedule.Slot, h *history) (code Code, what, fix string) {
	final, ok := h.Final()
	says := fmt.Sprintf("the slot is %s, but the record of attempt %d says %s", slot.Flag,
		final.Name.Attempt, final.Outcome)
	switch slot.Flag {
	case schedule.Completed, schedule.Timeout, schedule.Error:
		switch {
		case !ok && h.broken > 0: // the broken record is already reported
		case !ok && slot.Flag == schedule.Error && len(h.Records) > 0 && len(h.missing(slot)) == 0:
			// all its attempts are to be rerun
		case !ok:
			what = fmt.Sprintf("the slot is %s after %s, but none of its records says so", slot.Flag,
				attempts(slot.Attempts))
			return RecordLost, what, copyFix + "; or " + repairFix + ": it reschedules the slot"
		case schedule.FlagOf(final.Outcome) != slot.Flag:
			return OutcomeDiffers, says, repairFix + ": the record is authoritative"
		}
	case schedule.Outstanding, schedule.Running:
		if ok && (slot.Flag == schedule.Outstanding || final.Name.Attempt < slot.Attempts) {
			return SlotBehind, says, repairFix + ": it finishes the slot"
		}
	case schedule.Skipped:
	}
	return "", "", ""
}

func attempts(n int) string { return display.Count(n, "attempt") }

// strays reports records of slots that the schedule does not have.
func (c *check) strays(slots int) {
	for _, index := range slices.Sorted(maps.Keys(c.slots)) {
		if index < slots {
			continue
		}
		for _, r := range c.slots[index].Records {
			c.report.record(RecordStray, r.Name, fmt.Sprintf("the schedule has %d slots", slots),
				"move records of other experiments out of the directory")
		}
	}
}
