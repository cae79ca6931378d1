package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/reading/summary"
	"krund/internal/report"
)

// Plan writes what an experiment would run, with the first slots; limit is their number.
func (out *Console) Plan(p summary.Plan, slots iter.Seq[summary.PlanSlot], limit int) {
	out.Line("experiment", "%s (%s)", p.Experiment, p.Config)
	out.Line("machine", "%s", p.Host)
	out.Line("order", "%s, seed %d", p.Order, p.Seed)
	out.Line("slots", "%d: %s, %s each", p.SlotsTotal, display.Count(len(p.Keys), "key"),
		executionsText(p.Keys))
	if len(p.Arms) > 0 {
		out.Line("arms", "%s; a block has each of them once per key", armsText(p.Arms))
	}
	if p.Layout != config.LayoutOff {
		out.Line("layout", "%s", p.Layout)
	}
	if config.Restarts(p.Reboot) {
		out.Line("reboots", "one before each process execution, at most %d", p.MaxReboots)
	} else {
		out.Line("reboots", "none")
	}
	out.Line("waits", "%s with each process execution, %s once",
		display.Duration(time.Duration(p.WaitEachNS)), display.Duration(time.Duration(p.WaitOnceNS)))
	if p.Finished > 0 {
		out.Line("finished", "%d of them, in %s", p.Finished, p.Directory)
	}
	out.Line("duration", "%s", p.ETA)
	if p.Stop != nil {
		out.Line("stop", "%s", stopText(p.Stop))
	}
	if p.Bounds != nil {
		out.Line("left", "%s", boundsText(p.Bounds))
	}
	for _, n := range p.Notes {
		out.Line("note", "%s", n)
	}
	out.print("\n")
	out.planKeys(p.Keys)
	if len(p.Skipped) > 0 {
		out.print("\nskipped (experiment.skip)\n")
	}
	for _, k := range p.Skipped {
		out.print("  %s\n", k)
	}
	out.print("\n%8s  %7s  %s\n", "slot", "pexec", "key")
	for slot := range slots {
		if slot.Slot >= limit {
			out.print("%8s  %d more; --all shows them\n", "...", p.SlotsTotal-limit)
			break
		}
		out.print("%8d  %7d  %s\n", slot.Slot, slot.Pexec, slot.Key)
	}
}

// armsText lists the arms with their roles.
func armsText(arms []summary.PlanArm) string {
	names := make([]string, len(arms))
	for i, arm := range arms {
		role := ""
		switch {
		case i == 0:
			role = ", the base"
		case arm.Null:
			role = ", a copy of the base"
		case arm.Anchor:
			role = ", frozen"
		}
		if arm.Revision != "" {
			role += ", revision " + arm.Revision
		}
		names[i] = arm.Name + strings.Replace(role, ", ", " (", 1)
		if role != "" {
			names[i] += ")"
		}
	}
	return display.Terminal(strings.Join(names, ", "))
}

// executionsText returns the number of executions of a key, or the smallest and the largest.
func executionsText(keys []summary.PlanKey) string {
	byExecutions := func(a, b summary.PlanKey) int { return cmp.Compare(a.Executions, b.Executions) }
	low, high := slices.MinFunc(keys, byExecutions), slices.MaxFunc(keys, byExecutions)
	text := display.Count(high.Executions, "process execution")
	if low.Executions < high.Executions {
		text = fmt.Sprintf("%d to %s", low.Executions, text)
	}
	return text
}

func (out *Console) planKeys(keys []summary.PlanKey) {
	t := report.Table{Columns: []report.Head{"key", ">executions", ">iterations", ">parameter", ">mean wall"}}
	for _, k := range keys {
		t.Add(k.Key, k.Executions, k.Iterations, k.Parameter, report.Time(k.MeanWallNS))
	}
	out.table(t)
}

// boundsText writes the least and the most that is left of an experiment.
func boundsText(b *summary.Bounds) string {
	text := fmt.Sprintf("%s executions, %s iterations", rangeText(b.Executions), rangeText(b.Iterations))
	if b.NS != nil {
		text += fmt.Sprintf(", about %s to %s", display.Duration(time.Duration(b.NS.Least)),
			display.Duration(time.Duration(b.NS.Most)))
	}
	return text
}

func rangeText(r summary.Range) string {
	if r.Least == r.Most {
		return fmt.Sprint(r.Most)
	}
	return fmt.Sprintf("%d to %d", r.Least, r.Most)
}

// PlanJSON writes the plan, and the slots one by one because there may be millions.
func (out *Console) PlanJSON(p summary.Plan, slots iter.Seq[summary.PlanSlot], limit int) error {
	head, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	const end = "\n}"
	out.print("%s,\n  \"slots\": [", head[:len(head)-len(end)])
	for slot := range slots {
		if slot.Slot >= limit {
			break
		}
		comma := ","
		if slot.Slot == 0 {
			comma = ""
		}
		line, err := json.Marshal(slot)
		if err != nil {
			return err
		}
		out.print("%s\n    %s", comma, line)
	}
	out.print("\n  ]\n}\n")
	return nil
}

// Announce writes what enabling an experiment does, and how to end it. start: it begins now;
// accept: changed programs are accepted.
func (out *Console) Announce(fsys durable.FS, cfg *config.Config, p summary.Plan, start, accept bool) {
	left := p.SlotsTotal - p.Finished
	out.Line("what", "%s: %s of %s", p.Experiment, display.Count(left, "process execution"),
		display.Count(len(p.Keys), "key"))
	if config.Restarts(p.Reboot) {
		out.Line("reboots",
			"this machine restarts before each of them, at most %d times, and logs out all users",
			p.MaxReboots)
		out.Line("the first", "%s", firstRestart(fsys, cfg, p, start))
	} else {
		out.Line("reboots", "none: all of them run after one boot")
	}
	out.Line("duration", "%s", p.ETA)
	for _, c := range []struct{ control, option, text string }{
		{"services", "stop", "stopped during the experiment"},
		{"network", "down", "taken down during the experiment"},
	} {
		demand := cfg.Control(c.control)
		if list := demand.List(c.option); len(list) > 0 && demand.Policy.Changes() {
			out.Line(c.control, "%s %s", strings.Join(list, ", "), c.text)
		}
	}
	if entry := cfg.Boot.Entry; entry != "" && config.Restarts(p.Reboot) {
		out.Line("boots",
			"with the boot loader's entry %s, requested once for each; all other boots are ordinary ones",
			entry)
	}
	if wait := cfg.Wait.Startup; config.Restarts(p.Reboot) && wait > 0 {
		out.Line("log in", "within %s of each boot, before a benchmark runs",
			display.Duration(wait.Round(time.Second)))
	}
	if asked, err := directory.Asked(fsys, p.Directory, directory.Hold); err == nil && asked {
		out.Line("held", "nothing runs until `krunctl resume %s`", display.ShellPath(p.Config))
	}
	if accept {
		out.Line("programs", "those that have changed are accepted; results before and after are kept apart")
	}
	out.Line("watch", "krunctl status %s", display.ShellPath(p.Config))
	out.Line("stop", "krunctl disable --stop %s", display.ShellQuote(p.Experiment))
}

// firstRestart returns when krund restarts the machine for the first time. The boot in which it
// makes the schedule has no process execution: it reads the base temperatures and restarts.
func firstRestart(fsys durable.FS, cfg *config.Config, p summary.Plan, now bool) string {
	f, err := directory.Open(fsys, p.Directory)
	if err == nil {
		_, err = fsys.Lstat(f.Schedule())
	}
	soon := "at once"
	if wait := cfg.Temperature.BaseWait; wait > 0 {
		soon = "after " + display.Duration(wait.Round(time.Second)) +
			", when the base temperatures have been read"
	}
	switch begun := err == nil; {
	case now && begun:
		return "at once, or after the process execution that begins now"
	case now:
		return soon + "; the first process execution follows it"
	case begun:
		return "not before you restart the machine; that boot continues the experiment"
	}
	return "not before you restart the machine; that boot makes the schedule and restarts " + soon
}
