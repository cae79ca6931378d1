package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/internal/machine/probe"
	"krund/internal/msr"
	"krund/rig/must"
)

// TestEffect: a frequency that reads back as set but is not the one that CPUs run at is not "set".
// amd-pstate-epp of Linux 6.3 to 6.7 is such a driver; since then it applies the limits (Linux
// 6.12, drivers/cpufreq/amd-pstate.c:1489-1527).
func TestEffect(t *testing.T) {
	for _, c := range []struct {
		name, tree        string
		mhz               map[int]float64 // of the busy CPUs; nil: cannot be measured
		free              bool
		frequency, turbo  setting.Status
		detail, otherwise string // of frequency, of turbo
	}{
		{"ignored", "amd-pstate-epp", map[int]float64{0: 4850, 1: 4850}, false, setting.StatusCannot,
			setting.StatusCannot, "no effect on CPU 0-1: CPU 0 runs at 4850 MHz instead of 3800 MHz; " +
				"before Linux 6.8", "no effect on CPU 0-1"},
		{"fixed by the distribution", "amd-pstate-epp", map[int]float64{0: 3799, 1: 3801}, false,
			setting.StatusSet, setting.StatusSet, "measured on CPU 0-1", "measured on CPU 0-1"},
		{"ignored and not measured", "amd-pstate-epp", nil, false, setting.StatusCannot,
			setting.StatusCannot, "the limits are not held: before Linux 6.8", "not held"},
		{"held", "amd-pstate-epp-6.12", map[int]float64{0: 3800, 1: 3800}, false, setting.StatusSet,
			setting.StatusSet, "measured on CPU 0-1", "measured on CPU 0-1"},
		{"not measured", "amd-pstate-epp-6.12", nil, false, setting.StatusSet, setting.StatusSet,
			"the effect was not measured: no counters", "not measured"},
		{"a power limit", "intel-pstate-active", map[int]float64{0: 3600, 1: 3000}, false,
			setting.StatusCannot, setting.StatusSet, "no effect on CPU 1: CPU 1 runs at 3000 MHz instead " +
				"of 3600 MHz", "measured on CPU 0-1"},
		{"free, without turbo", "intel-pstate-active", map[int]float64{0: 3600, 1: 3000}, true,
			setting.StatusSet, setting.StatusSet, "", "measured on CPU 0-1"},
		{"each kind at its own", "intel-hybrid", map[int]float64{0: 1700, 1: 1700, 2: 1200, 3: 1200}, false,
			setting.StatusSet, setting.StatusSet, "measured on CPU 0-3", "measured on CPU 0-3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, _ := fakeMachine(t, c.tree)
			m.Speeds = func(_ context.Context, cpus host.CPUs) ([]msr.Speed, error) {
				var list []msr.Speed
				for _, cpu := range cpus {
					list = append(list, msr.Speed{Core: cpu, APERF: c.mhz[cpu] * 1e6, MPERF: 3.8e9})
				}
				if c.mhz == nil {
					return nil, errors.New("no counters")
				}
				return list, nil
			}
			r := Defaults()
			for i := range r.Demands {
				r.Demands[i].Policy = setting.Off
			}
			r = under(r, setting.Apply, "smt", "turbo")
			r.Demands = r.With(demand(frequencyLimits, setting.Apply, "free", c.free))
			findings, undo, problems := ApplyAll(t.Context(), m, r, openJournal(t, m))
			must.Need(t, len(problems) <= 0, problems)
			f, b := find(t, findings, "frequency"), find(t, findings, "turbo")
			must.Be(t, f.Status == c.frequency && strings.Contains(f.Detail, c.detail), "frequency", f.Status,
				f.Detail, c.frequency, c.detail)
			must.Be(t, b.Status == c.turbo && strings.Contains(b.Detail, c.otherwise), "turbo", b.Status,
				b.Detail, c.turbo, c.otherwise)
			must.Be(t, f.Status != setting.StatusCannot || f.Fix != "", "no remedy")
			must.Equal(t, len(m.Measured()), len(c.mhz), "speeds are known")
			must.Do(t, undo(t.Context()))
		})
	}
}

// TestEffectMeasuredAgain: a frequency that is wrong only once is not a fault of the machine.
func TestEffectMeasuredAgain(t *testing.T) {
	m, _ := fakeMachine(t, "intel-pstate-active")
	tries := 0
	m.Speeds = func(_ context.Context, cpus host.CPUs) ([]msr.Speed, error) {
		tries++
		return []msr.Speed{{Core: 0, APERF: 3.6e9 - 0.9e9/float64(tries*tries), MPERF: 3.6e9}}, nil
	}
	r := under(Defaults(), setting.Off, "tickless")
	findings, undo, problems := ApplyAll(t.Context(), m, r, openJournal(t, m))
	if f := find(t, findings, "frequency"); f.Status != setting.StatusSet || tries != 3 || len(problems) > 0 {
		t.Errorf("after %d measurements: %+v, %v", tries, f, problems) // 2700, 3375, 3500 MHz
	}
	must.Do(t, undo(t.Context()))
}

// TestHeldClock: a machine that holds its clock by itself is as wanted, and what is found is the
// same each time, although the measured speed differs: records of several executions are compared.
func TestHeldClock(t *testing.T) {
	for _, mhz := range []float64{2600, 2599, 604} {
		m, _ := fakeMachine(t, "kvm-guest")
		m.Speed = func(int) (probe.Speed, error) {
			return probe.Speed{Absolute: true, Chunks: []float64{mhz * 1e6, mhz * 1e6, mhz * 1e6}}, nil
		}
		f := find(t, CheckAll(t.Context(), m, Defaults()), "frequency")
		must.Be(t, f.Status == setting.StatusOK && f.Found == noDriver &&
			strings.Contains(f.Detail, fmt.Sprintf("%.0f MHz", mhz)), f)
	}
}

// TestEffectRequired: a required frequency without effect is a problem, and nothing else is set.
func TestEffectRequired(t *testing.T) {
	m, k := fakeMachine(t, "amd-pstate-epp")
	k.put(nohzFile, "1") // the only other problem of this machine
	_, undo, problems := ApplyAll(t.Context(), m, Defaults(), openJournal(t, m))
	must.Be(t, len(problems) == 2 && problems[0].Control == "frequency" && problems[1].Control == "turbo" &&
		strings.Contains(problems[0].Fix, "amd_pstate=passive"), problems)
	must.Equal(t, k.get("/proc/sys/kernel/nmi_watchdog"), "1", "nmi_watchdog")
	must.Do(t, undo(t.Context()))
}

// TestHeld: the frequency that the limits in force permit.
func TestHeld(t *testing.T) {
	for tree, want := range map[string]int64{ // before anything is set
		"intel-pstate-active": 3600000, "intel-ctdp": 1200000, "amd-acpi-cpufreq": 2400000,
		"amd-pstate-epp": 3800000, "arm64": 3000000,
	} {
		m, _ := fakeMachine(t, tree)
		policies, err := m.FrequencyPolicies()
		if err != nil || policies[0].Held() != want {
			t.Errorf("%s: %d, %v; want %d", tree, policies[0].Held(), err, want)
		}
	}
	must.Equal(t, (host.FrequencyPolicy{Min: 2000, Max: 2000, Base: 3000, HWMax: 4000}).Held(), 2000,
		"equal limits")
	must.Equal(t, (host.FrequencyPolicy{Min: 1000, Max: 2000, HWMax: 4000}).Held(), 0, "unknown")
}
