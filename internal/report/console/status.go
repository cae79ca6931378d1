package console

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/experiment/config"
	"krund/internal/experiment/stop"
	"krund/internal/reading/summary"
	"krund/internal/report"
)

// Status writes a status for people, with a row for each key if keys. now is the time at which it
// was read.
func (out *Console) Status(st summary.Status, keys bool, now time.Time) {
	line := out.Line
	line("experiment", "%s (%s)", st.Experiment, st.Directory)
	if st.Host != "" {
		line("machine", "%s", st.Host)
	}
	switch {
	case st.Created == "": // there is no schedule yet
	case st.State == summary.StateNew:
		line("created", "%s", st.Created)
	default:
		line("started", "%s", st.Created)
	}
	line("state", "%s", st.State)
	line("slots", "%d of %d finished (%.1f%%): %s", st.Slots.Finished, st.Slots.Total, st.Percent,
		flagsText(st.Slots, st.Interrupted != nil))
	if b := st.Blocks; b != nil {
		line("blocks", "%d of %d complete%s", b.Complete, b.Total, incompleteText(b.Incomplete))
	}
	line("attempts", "%d", st.Attempts)
	switch {
	case st.Interrupted != nil:
		line("interrupted", "%s", interruptedText(st))
	case st.Running != nil:
		line("running", "%s%s", slotText(*st.Running), runningText(st.RunningIterations))
	}
	if st.Next != nil {
		line("next", "%s", slotText(*st.Next))
	}
	if st.Last != nil {
		line("last record", "%s: %s, started %s, took %s", slotText(st.Last.SlotState), st.Last.Outcome,
			st.Last.Started.UTC().Format(time.RFC3339), display.Duration(time.Duration(st.Last.WallNS)))
	}
	if st.Reboot == config.RebootNone && st.Reboots == 0 {
		line("reboots", "none")
	} else {
		line("reboots", "%s", ofMost(st.Reboots, st.MaxReboots))
	}
	if st.Mails > 0 {
		line("mails", "%s", ofMost(st.Mails, st.MaxMails))
	}
	if st.State != summary.StateFinished {
		line("remaining", "%s", st.ETA)
		if st.ETA.Known && st.ETA.RemainingNS != nil {
			line("done around", "%s",
				now.Add(time.Duration(*st.ETA.RemainingNS)).UTC().Format("2006-01-02 15:04 MST"))
		}
	}
	if st.Stop != nil {
		line("stop", "%s", stopText(st.Stop))
		for _, g := range st.Stop.Finished {
			line("", "%s", finishedText(g))
		}
	}
	if i := st.StoppedIterations; i != nil && i.Planned > 0 {
		line("iterations", "the last %s ran %d of %d iterations (stop.iterations)",
			display.Count(i.Executions, "execution"), i.Done, i.Planned)
	}
	if st.Bounds != nil && st.State != summary.StateFinished {
		line("left", "%s", boundsText(st.Bounds))
	}
	out.printTrouble(st)
	if keys {
		out.print("\n")
		out.keys(st.Keys)
	}
}

// incompleteText says what blocks that lack an arm mean for the comparison.
func incompleteText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d lack an arm that failed or was skipped, and do not count for it", n)
}

func (out *Console) printTrouble(st summary.Status) {
	for _, f := range st.Errors {
		out.Line(string(f.Outcome), "%s: %s", slotText(f.SlotState), f.Reason)
	}
	if more := st.ErrorsTotal - len(st.Errors); more > 0 {
		out.Line("", "%d more slots ended like this", more)
	}
	for i, d := range st.Damaged {
		if i == summary.MaxFailures {
			out.Line("", "%d more slots are damaged", len(st.Damaged)-i)
			break
		}
		out.Line("damaged", "slot %d: %s; krund or `krunctl repair` rebuilds it", d.Slot, d.Reason)
	}
	for _, f := range st.Findings {
		out.Line("note", "%s", f)
	}
}

func (out *Console) keys(keys []summary.KeyStatus) {
	t := report.Table{Columns: []report.Head{"key", ">planned", ">completed", ">error", ">timeout",
		">skipped", ">left", ">attempts", ">mean wall"}}
	for _, k := range keys {
		s := k.Slots
		t.Add(k.Key, s.Total, s.Completed, s.Error, s.Timeout, s.Skipped, s.Outstanding+s.Running, k.Attempts,
			report.Time(k.MeanWallNS))
	}
	out.table(t)
}

// runningText says how far the running execution is.
func runningText(i *summary.Iterations) string {
	if i == nil {
		return ""
	}
	return fmt.Sprintf(": %d of %s", i.Done, display.Count(i.Planned, "iteration"))
}

// interruptedText describes a slot that has begun and on which no krund works.
func interruptedText(st summary.Status) string {
	text := slotText(*st.Running) + ": "
	if st.Interrupted.Begun != nil {
		text += fmt.Sprintf("started %s, ", st.Interrupted.Begun.Format(time.RFC3339))
	}
	if st.Last != nil && st.Last.SlotState == *st.Running {
		return text + "no krund works on it; its record is complete, and the next krund closes the slot"
	}
	return text + "no krund works on it; the next one runs it again"
}

// flagsText lists the numbers of slots by state.
func flagsText(c summary.SlotCounts, interrupted bool) string {
	running := "running"
	if interrupted {
		running = "interrupted"
	}
	var parts []string
	for _, p := range []struct {
		n    int
		name string
	}{
		{c.Completed, "completed"}, {c.Error, "error"}, {c.Timeout, "timeout"}, {c.Skipped, "skipped"},
		{c.Running, running}, {c.Outstanding, "outstanding"}, {c.Damaged, "damaged"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.name))
		}
	}
	return strings.Join(parts, ", ")
}

func slotText(s summary.SlotState) string {
	text := fmt.Sprintf("slot %d, %s number %d", s.Slot, s.Key, s.Pexec)
	if s.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", s.Attempt)
	}
	return text
}

func ofMost(n int, most *int) string {
	if most == nil {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d of at most %d", n, *most)
}

// stopText describes what finishing keys early saves.
func stopText(s *summary.Stop) string {
	rules := make([]string, len(s.Rules))
	for i, r := range s.Rules {
		rules[i] = string(r)
	}
	text := fmt.Sprintf("%s, after at least %s of a key", strings.Join(rules, " and "),
		display.Count(s.Minimum, "execution"))
	for _, part := range []struct {
		what  string
		slots int
		ns    int64
	}{{"saved", s.Saved, s.SavedNS}, {"may save", s.MaySave, s.MaySaveNS}} {
		if part.slots > 0 {
			text += fmt.Sprintf("; %s %s", part.what, display.Count(part.slots, "execution"))
		}
		if part.ns > 0 {
			text += fmt.Sprintf(", about %s", display.Duration(time.Duration(part.ns)))
		}
	}
	if s.Changed != "" {
		text += fmt.Sprintf("; the rest is run as planned, because %s", s.Changed)
	}
	if s.LastFailed != "" {
		text += "; the last decision failed: " + s.LastFailed
	}
	return text
}

// finishedText describes a key that was finished early.
func finishedText(g stop.Group) string {
	k, _, _ := strings.Cut(g.Keys[0], "@")
	return fmt.Sprintf("%s after %s: %s", k, display.Count(g.Executions, "execution"), g.Reason)
}
