package control

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/internal/machine/probe"
)

const frequencyWhy = "a varying clock frequency changes every result; only a sustainable frequency can " +
	"be held"

// frequency is a control in two parts, with turbo between them: frequencyGovernor and
// frequencyLimits.
var frequency = setting.Descriptor{
	Name: "frequency", Policy: setting.Require,
	Brief: "the clock held at the highest sustainable frequency",
	Why:   frequencyWhy,
	Options: []setting.Option{
		{
			Name: "khz", Default: int64(0), Max: 100_000_000,
			Doc: "the frequency to hold; 0 is the highest that the processor can sustain",
		},
		{
			Name: "free", Default: false,
			Doc: "only select the `performance` governor and leave the limits, as the study did",
		},
	},
	What: "`scaling_governor` = `performance`, `energy_performance_preference` = `performance`, " +
		"`hwp_dynamic_boost` = 0; then `scaling_min_freq` = `scaling_max_freq`",
	Notes: "see below",
}

// noDriver is what is found without cpufreq. The measured speed is no part of it: it would differ
// from one execution to the next.
const noDriver = "no frequency driver"

// noFrequencyDriver is the plan for a machine without cpufreq.
func noFrequencyDriver(m *Machine, wanted string) Plan {
	platform := probe.PlatformOf(m.Host)
	if speed, held := m.heldSpeed(); held {
		return ok(noDriver, wanted, "the hardware holds the clock: "+speed.String()+", measured idle")
	}
	why := "the kernel found no way to set the frequency"
	if platform.Guest {
		why = "the host of this virtual machine decides"
	}
	return cannot(noDriver, wanted, why, platform.Remedy("frequency"))
}

// heldSpeed measures, once, whether a machine without a frequency driver holds its clock by itself,
// as Graviton and other servers of clouds do. Without a program that measures it is unknown.
func (m *Machine) heldSpeed() (speed probe.Speed, held bool) {
	if m.Speed == nil {
		return speed, false
	}
	if m.oneSpeed == nil {
		online, err := m.Online()
		if err != nil || len(online) == 0 {
			return speed, false
		}
		measured, err := m.Speed(online[len(online)-1])
		if err != nil {
			return speed, false
		}
		m.oneSpeed = &measured
	}
	return *m.oneSpeed, m.oneSpeed.Held()
}

// frequencyLimits is the second part, after turbo: minimum = maximum = the wanted frequency, in
// every policy.
var frequencyLimits = Descriptor{
	Descriptor: frequency,
	targets:    limitFiles(),
	plan: func(_ context.Context, m *Machine, d setting.Demand, _ Request) Plan {
		if d.Flag("free") {
			return ok("", "")
		}
		return planAllLimits(m, d.Whole("khz"))
	},
	effect: func(d setting.Demand, p host.FrequencyPolicy) (wanted int64, exact bool) {
		if d.Flag("free") {
			return 0, false
		}
		return p.Target(d.Whole("khz")), true
	},
}

func planAllLimits(m *Machine, khz int64) Plan {
	policies, err := m.FrequencyPolicies()
	if err != nil {
		return unreadable("fixed frequency", err)
	}
	if len(policies) == 0 {
		return noFrequencyDriver(m, "fixed frequency")
	}
	p := planLimits(policies, khz)
	if ignoresMaximum(m, policies) {
		p.Detail = join(p.Detail, ignoredMaximum+"; krund measures the frequency", "; ")
	}
	if rest := m.WithoutPolicy(policies); len(rest) > 0 {
		uncovered := fmt.Sprintf("the driver has no policy for CPU %s, so the frequency there is not "+
			"held", rest)
		p.Detail = join(p.Detail, uncovered, "; ")
	}
	return p
}

// limitFiles are the targets of limits.
func limitFiles() []target {
	return files(isNumber, host.CPUFreqDir+"/policy[0-9]*/scaling_min_freq",
		host.CPUFreqDir+"/policy[0-9]*/scaling_max_freq")
}

// planLimits sets scaling_min_freq = scaling_max_freq = the target of each policy. The order of the
// two writes keeps the minimum at or below the maximum at every moment, also when they are restored
// in reverse order.
func planLimits(policies []host.FrequencyPolicy, khz int64) Plan {
	found := each(policies, func(p host.FrequencyPolicy) string {
		return fmt.Sprintf("%s-%s MHz", mhz(p.Min), mhz(p.Max))
	})
	wanted := each(policies, func(p host.FrequencyPolicy) string { return mhz(p.Target(khz)) + " MHz" })
	var steps []Step
	for _, p := range policies {
		to := p.Target(khz)
		switch {
		case to == 0:
			return cannot(found, "fixed frequency", p.Name+": the sustainable frequency is unknown",
				`set frequency = { policy = "require", khz = ... } in [controls]`)
		case to < p.HWMin || to > p.HWMax:
			return cannot(found, wanted, fmt.Sprintf("%s can run at %s to %s MHz", p.Name, mhz(p.HWMin),
				mhz(p.HWMax)), "ask for a frequency in that range")
		}
		steps = append(steps, limits(p, to)...)
	}
	return willSet(found, wanted, steps...)
}

// limits returns the steps that set both limits of a policy to one frequency.
func limits(p host.FrequencyPolicy, to int64) []Step {
	lower := Step{Kind: KindFile, Target: p.File("scaling_min_freq"), Old: fmt.Sprint(p.Min),
		New: fmt.Sprint(to), Form: FormLimit}
	upper := Step{Kind: KindFile, Target: p.File("scaling_max_freq"), Old: fmt.Sprint(p.Max),
		New: fmt.Sprint(to), Form: FormLimit}
	var steps []Step
	if p.Min > to { // the minimum must come down before the maximum can
		steps = []Step{lower, upper}
	} else {
		steps = []Step{upper, lower}
	}
	return slices.DeleteFunc(steps, func(s Step) bool { return s.Old == s.New })
}

// mhz formats kHz as MHz, without a zero fraction.
func mhz(khz int64) string {
	if khz%1000 == 0 {
		return fmt.Sprint(khz / 1000)
	}
	return fmt.Sprintf("%.1f", float64(khz)/1000)
}

// each describes all policies in one line: one value if they agree, else each value with its CPUs.
func each(policies []host.FrequencyPolicy, describe func(host.FrequencyPolicy) string) string {
	var values []string
	cpus := map[string]host.CPUs{}
	for _, p := range policies {
		v := describe(p)
		if _, known := cpus[v]; !known {
			values = append(values, v)
		}
		cpus[v] = cpus[v].Plus(p.CPUs)
	}
	if len(values) == 1 {
		return values[0]
	}
	for i, v := range values {
		values[i] = fmt.Sprintf("%s on CPU %s", v, cpus[v])
	}
	return strings.Join(values, ", ")
}
