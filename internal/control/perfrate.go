package control

import (
	"context"
	"fmt"

	"krund/internal/experiment/config/setting"
)

const (
	perfRateFile    = "/proc/sys/kernel/perf_event_max_sample_rate"
	perfPercentFile = "/proc/sys/kernel/perf_cpu_time_max_percent"
)

// perfRate sets kernel.perf_event_max_sample_rate and kernel.perf_cpu_time_max_percent. The
// percentage comes first: while it is 0 or 100 the kernel rejects a new rate. For the same reason
// the rate is restored before the percentage.
var perfRate = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "perf_rate", Policy: setting.Require,
		Brief: "the lowest sampling rate of the kernel's profiler",
		Why:   "perf may interrupt a CPU 100000 times a second, and changes that rate by itself",
		Options: []setting.Option{
			{Name: "rate", Default: int64(1), Min: 1, Max: 1_000_000, Doc: "maximum number of samples " +
				"per second"},
			{Name: "percent", Default: int64(1), Min: 1, Max: 99, Doc: "maximum percentage of a CPU's time"},
		},
		What:  "`kernel.perf_cpu_time_max_percent`, then `kernel.perf_event_max_sample_rate`",
		Notes: "in that order: while the percentage is 0 or 100 the kernel rejects a new rate",
	},
	targets: files(isNumber, perfRateFile, perfPercentFile),
	plan: func(ctx context.Context, m *Machine, d setting.Demand, _ Request) Plan {
		percent := sysfile{path: perfPercentFile, want: fmt.Sprint(d.Whole("percent")), unit: " %"}
		rate := sysfile{path: perfRateFile, want: fmt.Sprint(d.Whole("rate")), unit: " Hz"}
		first, second := percent.plan(ctx, m), rate.plan(ctx, m)
		return both(second, first, append(first.Steps, second.Steps...))
	},
}

// both combines two plans of one control; steps are those of both, in order.
func both(a, b Plan, steps []Step) Plan {
	p := Plan{
		Status: a.Status,
		Found:  join(a.Found, b.Found, ", "),
		Wanted: join(a.Wanted, b.Wanted, ", "),
		Detail: join(a.Detail, b.Detail, "; "),
		Fix:    join(a.Fix, b.Fix, "; "),
	}
	if rank(b.Status) > rank(a.Status) {
		p.Status = b.Status
	}
	if p.Status == setting.StatusWillSet {
		p.Steps = steps
	}
	return p
}
