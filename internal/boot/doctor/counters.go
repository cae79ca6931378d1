package doctor

import (
	"context"
	"runtime"
	"slices"
	"strings"

	"krund/internal/execution/switches"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/sysroot"
	"krund/internal/msr"
)

// checkCounters makes a row of each wanted source. The rows are required when the experiment
// refuses to measure without counters and there are none.
func checkCounters(ctx context.Context, root sysroot.Root, want msr.Want, find Counters) []setting.Finding {
	runtime.LockOSThread() // with the scope task the counters are those of the calling thread
	defer runtime.UnlockOSThread()
	want.Sources = slices.Clone(want.Sources)
	enough := slices.Contains(want.Sources, msr.None)
	want.Sources = slices.DeleteFunc(want.Sources, func(s string) bool { return s == msr.None })
	found := find(ctx, root, want)
	enough = enough || slices.ContainsFunc(found, func(f msr.SourceFinding) bool { return f.Available })
	rows := make([]setting.Finding, 0, len(found))
	for _, f := range found {
		row := setting.Finding{
			Name: "counters " + f.Source, Policy: setting.Warn, Status: setting.StatusOK, Found: "available",
			Wanted: "available",
			Detail: strings.Join(append([]string{f.Why}, f.Notes...), "; "),
			Why:    "without them it is unknown whether the processor ran at full speed",
		}
		if f.Available && strings.HasPrefix(f.Why, "counts ") && !strings.Contains(f.Why, "cycles") {
			row.Status, row.Found, row.Wanted = setting.StatusDiffers, "no hardware counters", "cycles"
			row.Fix = "measure on bare metal, or with a virtual PMU; krund judges no frequency without"
		}
		if !f.Available {
			row.Status, row.Found = setting.StatusCannot, "not available"
			row.Fix = `see docs/counters.md; with "none" in [counters] sources krund measures with the clock alone`
		}
		if !enough {
			row.Policy = setting.Require
		}
		rows = append(rows, row)
	}
	return rows
}

// checkSwitches makes the row of the recording of context switches, which an execution does not
// need.
func checkSwitches(root sysroot.Root) setting.Finding {
	row := setting.Finding{Name: "counters switches", Policy: setting.Warn, Status: setting.StatusOK,
		Found: "available", Wanted: "available",
		Why: "without them it is unknown who else ran on the benchmark's processors"}
	watch, err := switches.Open(root, nil)
	if err == nil {
		err = watch.Close()
	}
	if err != nil {
		row.Status, row.Found, row.Detail = setting.StatusCannot, "not available", msr.Remedy(root, err)
		row.Fix = "see docs/counters.md, or remove it from kernel in [counters]"
	}
	return row
}
