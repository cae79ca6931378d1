package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/experiment/config"
	"krund/internal/reading/summary"
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
	var rows [][]string
	for _, k := range keys {
		rows = append(rows, []string{k.Key, strconv.Itoa(k.Executions), strconv.Itoa(k.Iterations),
			strconv.Itoa(k.Parameter), known(k.MeanWallNS, nanoseconds, "-")})
	}
	display.Table(out.w, []string{"key", ">executions", ">iterations", ">parameter", ">mean wall"}, rows)
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
