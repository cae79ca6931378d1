package control

import (
	"context"
	"fmt"
	"strings"

	"krund/internal/config/setting"
	"krund/internal/host"
	"krund/internal/msr"
)

// An effect is what a control should have achieved in a frequency policy: the frequency in kHz of
// its CPUs while they are busy, 0 for nothing, and whether they may not be slower either.
type effect func(p host.FrequencyPolicy) (wanted int64, exact bool)

// effectTolerance is the largest relative deviation of a frequency: adjacent P-states differ by
// more (section 7 of the warmup study).
const effectTolerance = 0.03

// Measured returns the speeds of the CPUs as ApplyAll measured them, after the frequency was set
// and before CPUs were shielded, where krund cannot run; nil if they cannot be measured.
func (m *Machine) Measured() []msr.Speed { return m.speeds }

// effects measures the speed of all CPUs and compares it with the effects of the controls that were
// set. A value that reads back correctly may have no effect, and the drivers do not report that.
func (a *applied) effects(ctx context.Context) {
	a.m.speeds = nil
	online, err := a.m.Online()
	if err == nil && a.m.Speeds != nil {
		a.m.speeds, err = a.m.Speeds(ctx, online)
	}
	policies, policyErr := a.m.FrequencyPolicies()
	if policyErr != nil || len(policies) == 0 {
		return
	}
	for i := range a.controls {
		f := &a.parts[i]
		if a.controls[i].effect == nil || f.Status != setting.StatusSet && f.Status != setting.StatusOK {
			continue
		}
		switch {
		case len(a.m.speeds) > 0:
			a.compare(i, policies)
		case ignoresMaximum(a.m, policies):
			f.Status = setting.StatusCannot
			f.Detail = join(f.Detail, "the limits are not held: "+ignoredMaximum, "; ")
			f.Fix = ignoredFix
		case a.m.Speeds != nil && err != nil:
			f.Detail = join(f.Detail, "the effect was not measured: "+oneLine(err.Error()), "; ")
		}
	}
}

// compare compares the measured speeds with the effect of control i.
func (a *applied) compare(i int, policies []host.FrequencyPolicy) {
	var wrong, right host.CPUs
	var example string
	for _, p := range policies {
		wanted, exact := a.controls[i].effect(p)
		if wanted == 0 {
			continue
		}
		for _, s := range a.m.speeds {
			off := s.APERF/(1000*float64(wanted)) - 1
			switch {
			case !p.CPUs.Contains(host.CPUs{s.Core}):
			case off > effectTolerance || exact && off < -effectTolerance:
				wrong = wrong.Plus(host.CPUs{s.Core})
				if example == "" {
					example = fmt.Sprintf("CPU %d runs at %.0f MHz instead of %s MHz", s.Core, s.MHz(),
						mhz(wanted))
				}
			default:
				right = right.Plus(host.CPUs{s.Core})
			}
		}
	}
	f := &a.parts[i]
	switch {
	case len(wrong) > 0:
		f.Status = setting.StatusCannot
		f.Detail = join(f.Detail, fmt.Sprintf("the setting has no effect on CPU %s: %s", wrong, example),
			"; ")
		f.Fix = "switch turbo off in the firmware, and check the firmware's power limits"
		if ignoresMaximum(a.m, policies) {
			f.Detail, f.Fix = join(f.Detail, ignoredMaximum, "; "), ignoredFix
		}
	case len(right) > 0:
		f.Detail = join(f.Detail, "measured on CPU "+right.String(), "; ")
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
	release, err := m.Root.Read("/proc/sys/kernel/osrelease")
	if err != nil || !strings.HasPrefix(policies[0].Driver, "amd-pstate-epp") {
		return false
	}
	var major, minor int
	if n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor); n < 2 {
		return false
	}
	return major == 6 && minor < 8
}
