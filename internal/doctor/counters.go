package doctor

import (
	"context"
	"runtime"
	"slices"
	"strings"

	"krund/internal/control"
	"krund/internal/msr"
)

// checkCounters returns a row for each wanted source. The rows are required if the experiment
// refuses to measure without counters and there are none.
func checkCounters(ctx context.Context, m *control.Machine, want msr.Want, find Counters) []control.Finding {
	runtime.LockOSThread() // with the scope task, the counters are those of the calling thread
	defer runtime.UnlockOSThread()
	want.Sources = slices.Clone(want.Sources)
	enough := slices.Contains(want.Sources, msr.None)
	want.Sources = slices.DeleteFunc(want.Sources, func(s string) bool { return s == msr.None })
	found := find(ctx, m.Root, want)
	enough = enough || slices.ContainsFunc(found, func(f msr.Finding) bool { return f.Available })
	rows := make([]control.Finding, 0, len(found))
	for _, f := range found {
		row := control.Finding{
			Name: "counters " + f.Source, Policy: control.Warn, Status: control.StatusOK, Found: "available", Wanted: "available",
			Detail: strings.Join(append([]string{f.Why}, f.Notes...), "; "),
			Why:    "without them it is unknown whether the processor ran at full speed",
		}
		if !f.Available {
			row.Status, row.Found = control.StatusCannot, "not available"
			row.Fix = `see docs/counters.md; with "none" in [counters] sources krund measures with the clock alone`
		}
		if !enough {
			row.Policy = control.Require
		}
		rows = append(rows, row)
	}
	return rows
}
