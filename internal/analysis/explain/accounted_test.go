package explain

import (
	"strings"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/rig/must"
)

// TestTime: from iteration 200 of 400 on iterations take 1.1 ms instead of 1, and garbage
// collections 50 µs in each of them instead of 10: 40 % of the change. With 30 µs it is 20 %, which
// is less than a third, and no cause.
func TestTime(t *testing.T) {
	for after, established := range map[int64]bool{50_000: true, 30_000: false} {
		e, a := made(400, []int{100}, []int{200})
		spent := make([]int64, 400)
		for i := range spent {
			spent[i] = 10_000
			if i >= 200 {
				spent[i] = after
			}
			event(&e, "gc", "minor", i, spent[i])
		}
		spent[100] = 1_000_000 // in an outlier, which the mean of its segment leaves out
		e.Columns = append(e.Columns, dataset.Column{Name: "gc_time", Unit: dataset.Nanoseconds,
			Core: dataset.NoCore, Ints: spent})
		k := keyOf([]dataset.Execution{e}, []warmup.Execution{a})
		f := k.Executions[0].Changepoints[0]
		must.Be(t, (f.Cause == GC) == established, after, "ns", f, k.Candidates)
		want := "garbage collections took 10 µs per iteration before and 50 µs after"
		must.Be(t, !established || strings.HasSuffix(f.Text, want), f.Text)
	}
}
