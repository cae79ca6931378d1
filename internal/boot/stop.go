package boot

import (
	"context"
	"errors"
	"fmt"

	"krund/internal/display"
	"krund/internal/experiment/key"
	"krund/internal/experiment/stop"
	"krund/internal/machine/command"
	"krund/internal/schedule"
)

// finishEarly skips the slots of keys that need no more executions. krunctl decides that from the
// records; it is asked once for each new record, about the key named of, or about all if that is
// "". After a power cut at any point the same question is asked again, or its answer, which is
// durable, is followed again: the same slots are skipped.
//
// Whatever is wrong with the decision, the experiment goes on as planned. The error is one of the
// schedule.
func (x *experiment) finishEarly(ctx context.Context, of string) error {
	if len(x.cfg.Stop.Rules) == 0 {
		return nil
	}
	d, err := x.decisions(ctx, of)
	if ctx.Err() != nil {
		return nil // interrupted; asked again at the next start
	}
	if err != nil {
		x.Log.Warn("no key is finished early; the experiment goes on as planned", "error", err)
		return nil
	}
	return x.skip(d)
}

// decisions returns those of the file, and asks for another if there is a new record.
func (x *experiment) decisions(ctx context.Context, of string) (stop.Decisions, error) {
	path := x.directory.Decisions()
	d, err := stop.Load(x.FS, path)
	if err != nil {
		x.Log.Warn("the decisions are made again", "error", err)
		of = ""
	}
	list, err := x.reader.List()
	if err != nil {
		return d, err
	}
	stop.Keep(&d, list.Records)
	seen := stop.SeenOf(list.Records)
	if d.Seen == seen || len(list.Records) == 0 || d.GivenUp() || d.Changed != "" {
		return d, nil
	}
	if of == "" {
		x.clean() // temporary files of an interrupted decision
	}
	x.Progress.Step("deciding", x.cfg.Stop.Deadline)
	finished, changed, err := x.ask(ctx, of)
	if ctx.Err() != nil {
		return d, context.Cause(ctx)
	}
	d.Seen, d.Failed = seen, ""
	if errors.Is(err, command.ErrTimeout) {
		d.Timeouts++
	} else {
		d.Timeouts = 0
	}
	if d.GivenUp() {
		err = fmt.Errorf("krunctl status --decision is not asked again in this experiment, because it "+
			"ended at its deadline %d times in a row (stop.deadline = %s); to ask again, remove %s: %w",
			d.Timeouts,
			x.cfg.Stop.Deadline, path, err)
	}
	if err != nil {
		const most = 500
		d.Failed = display.Clip(display.Terminal(err.Error()), most)
		x.Log.Warn("the decision whether keys are finished failed; the experiment goes on as planned",
			"error", err)
	} else if changed != "" {
		if d.From, err = x.begun(); err != nil {
			return d, err
		}
		d.Changed, d.Groups = changed, []stop.Group{}
		x.Log.Warn("the rest of the experiment is run as planned", "why", changed, "from_slot", d.From)
	} else {
		d.Replace(func(g stop.Group) bool { return of == "" || groupOf(g) == of }, finished)
	}
	return d, d.Store(x.FS, path)
}

// begun returns the number after the last slot that was begun.
func (x *experiment) begun() (int, error) {
	n := 0
	for slot, err := range x.schedule.Slots() {
		var damaged *schedule.DamagedSlot
		switch {
		case errors.As(err, &damaged): // it may be any
		case err != nil:
			return 0, err
		case slot.Attempts > 0:
			n = slot.Index + 1
		}
	}
	return n, nil
}

// ask asks krunctl, and returns the groups that are finished, or why the machine has changed.
func (x *experiment) ask(ctx context.Context, of string) ([]stop.Group, string, error) {
	text, err := x.Decide(ctx, of)
	if err != nil {
		return nil, "", err
	}
	answer, err := stop.Parse(text)
	if err != nil {
		return nil, "", err
	}
	facts := stop.Facts{
		Experiment: x.cfg.Experiment.Name, ConfigHash: x.cfg.Hash, Groups: x.cfg.Groups(),
		Completed: map[key.Key]int{}, Minimum: x.cfg.Stop.Minimum, Keep: x.cfg.Stop.Keeps,
	}
	for slot, err := range x.schedule.Slots() {
		if err == nil && slot.Flag == schedule.Completed {
			facts.Completed[slot.Key]++
		}
	}
	finished, err := answer.Finished(facts)
	return finished, answer.Changed, err
}

// group returns the name of a key without its arm.
func group(k key.Key) string {
	k.Arm = ""
	return k.String()
}

// groupOf returns the name of a group without an arm; "" if it is none.
func groupOf(g stop.Group) string {
	k, err := key.Parse(g.Keys[0])
	if err != nil {
		return ""
	}
	return group(k)
}

// block is one execution of each arm of a key.
type block struct {
	group string
	pexec int
}

// resume makes the skipped slots outstanding that come after the machine was found to have changed.
func (x *experiment) resume(d stop.Decisions) error {
	var list []schedule.Slot
	for slot, err := range x.schedule.Slots() {
		var damaged *schedule.DamagedSlot
		switch {
		case errors.As(err, &damaged): // rebuilt when its turn comes
		case err != nil:
			return err
		case slot.Flag == schedule.Skipped && slot.Index >= d.From:
			list = append(list, slot)
		}
	}
	for _, slot := range list {
		if err := x.schedule.Finish(slot, schedule.Outstanding); err != nil {
			return fmt.Errorf("run slot %d after all: %w", slot.Index, err)
		}
		if x.left >= 0 { // else not counted yet
			x.left++
		}
	}
	return nil
}

// skip skips the outstanding slots of finished keys. A block of which an arm has begun is run to
// its end, so that it counts.
func (x *experiment) skip(d stop.Decisions) error {
	if d.Changed != "" {
		return x.resume(d)
	}
	finished := map[string]*stop.Group{}
	for i := range d.Groups {
		finished[groupOf(d.Groups[i])] = &d.Groups[i]
	}
	if len(finished) == 0 {
		return nil
	}
	var list []schedule.Slot
	begun := map[block]bool{}
	for slot, err := range x.schedule.Slots() {
		var damaged *schedule.DamagedSlot
		name := group(slot.Key)
		switch {
		case errors.As(err, &damaged): // rebuilt when its turn comes
		case err != nil:
			return err
		case finished[name] == nil || slot.Flag == schedule.Skipped:
		case slot.Flag == schedule.Outstanding && slot.Attempts == 0:
			list = append(list, slot)
		default:
			begun[block{name, slot.Pexec}] = true
		}
	}
	skipped := map[string]int{}
	for _, slot := range list {
		name := group(slot.Key)
		if begun[block{name, slot.Pexec}] {
			continue
		}
		if err := x.schedule.Finish(slot, schedule.Skipped); err != nil {
			return fmt.Errorf("skip slot %d: %w", slot.Index, err)
		}
		x.left-- // -1 stays below 0: not counted yet
		skipped[name]++
	}
	for _, g := range d.Groups {
		if n := skipped[groupOf(g)]; n > 0 {
			x.Log.Info("a key is finished early", "key", groupOf(g), "executions", g.Executions, "skipped", n,
				"why", g.Reason, "records", len(g.Records))
		}
	}
	return nil
}
