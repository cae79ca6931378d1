package console

import (
	"fmt"
	"strconv"

	"krund/internal/display"
	"krund/internal/reading/summary"
)

// mostViolating is the number of violating records that are explained; JSON has all.
const mostViolating = 20

// Counters prints what limits the processor's counters, with the first violating records.
func (out *Console) Counters(d *summary.Counters) {
	threshold := "a hundredth of the rate of MPERF"
	if d.Threshold > 0 {
		threshold = fmt.Sprintf("%.0f", d.Threshold)
	}
	judged, violating := 0, 0
	for _, k := range d.Keys {
		judged, violating = judged+k.Judged, violating+k.Violating
	}
	out.print("%d of %s that could be judged violate: APERF/MPERF not within 1 +- %v times the\n"+
		"expected ratio, on cores with at least %s in APERF/s\n\n", violating,
		display.Count(judged, "record"), d.Tolerance, threshold)
	table := make([][]string, 0, len(d.Keys))
	for _, k := range d.Keys {
		table = append(table, []string{
			k.Key, fmt.Sprintf("%d/%d", k.Judged, k.Records), strconv.Itoa(k.Violating),
			strconv.Itoa(k.Iterations), strconv.Itoa(k.Throttled), strconv.Itoa(k.Turbo),
			ratioText(k.Lowest), ratioText(k.Highest),
		})
	}
	display.NarrowTable(out.w, out.width, 1, []string{"key", ">judged", ">violating", ">iterations",
		">throttled", ">turbo", ">lowest", ">highest"}, table)
	if len(d.Violating) > 0 {
		out.print("\n")
	}
	for i, v := range d.Violating {
		if i == mostViolating {
			out.print("... and %s more; --json has all\n", display.Count(len(d.Violating)-i, "record"))
			break
		}
		out.print("%d-%d %s, %s\n", v.Slot, v.Attempt, display.Terminal(v.Key), v.Outcome)
		for _, reason := range v.Reasons {
			out.print("    %s\n", display.Terminal(reason))
		}
	}
}

func ratioText(ratio *float64) string {
	return known(ratio, func(r float64) string { return fmt.Sprintf("%.3f", r) }, "-")
}
