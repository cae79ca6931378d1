package control

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/internal/msr"
)

// An effect is what a control should have achieved in a frequency policy: the frequency in kHz of
// its CPUs while they are busy, 0 for nothing, and whether they may not be slower either.
type effect func(d setting.Demand, p host.FrequencyPolicy) (wanted int64, exact bool)

// A measured frequency may deviate from the wanted one by the tolerance of the warmup study
// (section 7), or by one P-state: the driver takes the next level of the hardware. On hybrid
// processors the levels are not multiples of 100 MHz (Linux 6.12,
// drivers/cpufreq/intel_pstate.c:532-548).
const (
	effectTolerance = 0.03
	effectStep      = 100e6 // Hz
)

// A wrong frequency is measured again after a pause, since it may pass, such as a limit that the
// processor reached while the machine booted. It may stop an experiment.
const (
	effectTries = 3
	effectPause = time.Second
)

// Measured returns the speeds of the CPUs as ApplyAll measured them, after the frequency was set
// and before CPUs were shielded, where krund cannot run; nil if they cannot be measured.
func (m *Machine) Measured() []msr.Speed { return m.speeds }

// effects measures the speed of all CPUs and compares it with the effects of the controls that were
// set. A value that reads back correctly may have no effect, and the drivers do not report that.
func (a *applied) effects(ctx context.Context) {
	policies, policyErr := a.m.FrequencyPolicies()
	var judged []int // controls
	for i := range a.controls {
		if s := a.parts[i].Status; a.controls[i].effect != nil &&
			(s == setting.StatusSet || s == setting.StatusOK) {
			judged = append(judged, i)
		}
	}
	err := a.measure(ctx)
	if policyErr != nil || len(policies) == 0 {
		return
	}
	isWrong := func(i int) bool { return len(a.compare(i, policies).wrong) > 0 }
	for range effectTries - 1 {
		if !slices.ContainsFunc(judged, isWrong) {
			break
		}
		a.m.wait(ctx, effectPause)
		err = a.measure(ctx)
	}
	for _, i := range judged {
		f := &a.parts[i]
		switch {
		case len(a.m.speeds) > 0:
			a.compare(i, policies).report(f, ignoresMaximum(a.m, policies))
		case ignoresMaximum(a.m, policies):
			f.Status = setting.StatusCannot
			f.Detail = join(f.Detail, "the limits are not held: "+ignoredMaximum, "; ")
			f.Fix = ignoredFix
		case a.m.Speeds != nil && err != nil:
			f.Detail = join(f.Detail, "the effect was not measured: "+oneLine(err.Error()), "; ")
		}
	}
}

// measure measures the speed of all CPUs, if it can be measured.
func (a *applied) measure(ctx context.Context) (err error) {
	a.m.speeds = nil
	if a.m.Speeds == nil {
		return nil
	}
	online, err := a.m.Online()
	if err == nil {
		a.m.speeds, err = a.m.Speeds(ctx, online)
	}
	return err
}

// compared are the CPUs on which a control has its effect, and on which it has not.
type compared struct {
	right, wrong host.CPUs
	example      string // of the wrong ones
}

// compare compares the measured speeds with the effect of control i.
func (a *applied) compare(i int, policies []host.FrequencyPolicy) (c compared) {
	for _, p := range policies {
		wanted, exact := a.controls[i].effect(a.controls[i].demand, p)
		if wanted == 0 {
			continue
		}
		hz := 1000 * float64(wanted)
		tolerance := max(effectTolerance*hz, effectStep)
		for _, s := range a.m.speeds {
			switch {
			case !p.CPUs.Contains(host.CPUs{s.Core}):
			case s.APERF > hz+tolerance || exact && s.APERF < hz-tolerance:
				c.wrong = c.wrong.Plus(host.CPUs{s.Core})
				if c.example == "" {
					c.example = fmt.Sprintf("CPU %d runs at %.0f MHz instead of %s MHz", s.Core, s.MHz(),
						mhz(wanted))
				}
			default:
				c.right = c.right.Plus(host.CPUs{s.Core})
			}
		}
	}
	return c
}

// report adds the result to a finding.
func (c compared) report(f *setting.Finding, ignored bool) {
	switch {
	case len(c.wrong) > 0:
		f.Status = setting.StatusCannot
		f.Detail = join(f.Detail, fmt.Sprintf("the setting has no effect on CPU %s: %s", c.wrong, c.example),
			"; ")
		f.Fix = "switch turbo off in the firmware, and check the firmware's power limits"
		if ignored {
			f.Detail, f.Fix = join(f.Detail, ignoredMaximum, "; "), ignoredFix
		}
	case len(c.right) > 0:
		f.Detail = join(f.Detail, "measured on CPU "+c.right.String(), "; ")
	}
}

// Of the driver amd-pstate-epp.
const (
	ignoredMaximum = "before Linux 6.8 the driver amd-pstate-epp ignores scaling_max_freq"
	ignoredFix     = "use Linux 6.8 or later, or boot with amd_pstate=passive"
)

// ignoresMaximum reports whether the driver may ignore scaling_max_freq: amd-pstate-epp, which came
// with Linux 6.3, wrote the highest level to the processor. It applies the limits since 6.8 (as of
// 6.12, drivers/cpufreq/amd-pstate.c:1489-1527); a distribution may have fixed it earlier, so a
// measurement has precedence.
func ignoresMaximum(m *Machine, policies []host.FrequencyPolicy) bool {
	return strings.HasPrefix(policies[0].Driver, "amd-pstate-epp") && m.KernelAtLeast(6, 0) &&
		!m.KernelAtLeast(6, 8)
}
