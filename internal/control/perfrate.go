package control

import (
	"context"
	"fmt"

	"krund/internal/setting"
)

// PerfRateSettings asks for the least that the kernel's profiler can do.
type PerfRateSettings struct {
	Policy  setting.Policy
	Rate    int // samples per second at most, 1 or more
	Percent int // share of CPU time at most, 1 to 99
}

const (
	perfRateFile    = "/proc/sys/kernel/perf_event_max_sample_rate"
	perfPercentFile = "/proc/sys/kernel/perf_cpu_time_max_percent"
)

// perfRate sets kernel.perf_event_max_sample_rate and kernel.perf_cpu_time_max_percent. The percentage comes first: while it is 0 or 100
// the kernel refuses to change the rate. Going backwards, the rate is put back before the percentage, for the same reason.
func perfRate(s PerfRateSettings) Control {
	return Control{
		Name: "perf_rate", Policy: s.Policy, targets: files(isNumber, perfRateFile, perfPercentFile),
		Why: "perf may interrupt a CPU 100000 times a second, and changes that rate by itself",
		plan: func(ctx context.Context, m *Machine) Plan {
			percent := sysfile{path: perfPercentFile, want: fmt.Sprint(s.Percent), unit: " %"}.plan(ctx, m)
			rate := sysfile{path: perfRateFile, want: fmt.Sprint(s.Rate), unit: " Hz"}.plan(ctx, m)
			return both(rate, percent, append(percent.Steps, rate.Steps...))
		},
	}
}

// both puts two plans of one control together; steps are those of both, in order.
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
