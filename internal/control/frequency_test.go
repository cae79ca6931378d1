package control

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// TestLimitsStayInOrder walks both limits to a target and back and checks that the minimum never is
// above the maximum.
func TestLimitsStayInOrder(t *testing.T) {
	for _, to := range []int64{800, 1000, 1500, 2000, 2500} {
		for _, from := range [][2]int64{{1000, 2000}, {1500, 1500}, {800, 2500}} {
			p := host.FrequencyPolicy{Name: "policy0", Min: from[0], Max: from[1]}
			steps := limits(p, to)
			lo, hi := p.Min, p.Max
			set := func(s Step, value string) {
				var n int64
				must.Get(fmt.Sscan(value, &n))(t)
				if strings.Contains(s.Target, "min") {
					lo = n
				} else {
					hi = n
				}
				must.Be(t, lo <= hi, "from", from, to, "minimum", lo, "above maximum", hi)
			}
			for _, s := range steps {
				set(s, s.New)
			}
			must.Be(t, lo == to && hi == to, "from", from, to, "ended at", lo, "-", hi)
			for i := range steps {
				set(steps[len(steps)-1-i], steps[len(steps)-1-i].Old)
			}
			must.Be(t, lo == from[0] && hi == from[1], "from", from, to, "and back: ended at", lo, "-", hi)
		}
	}
}

func TestPlanFrequency(t *testing.T) {
	base := host.FrequencyPolicy{
		Name: "policy0", CPUs: host.CPUs{0}, Driver: "intel_pstate", Governor: "powersave",
		Governors: []string{"performance", "powersave"},
		EPP:       "balance_performance", Min: 800000, Max: 5000000, HWMin: 800000, HWMax: 5000000,
		Base: 3600000,
	}
	with := func(change func(*host.FrequencyPolicy)) []host.FrequencyPolicy {
		p := base
		change(&p)
		return []host.FrequencyPolicy{p}
	}
	tests := []struct {
		name  string
		plan  Plan
		want  setting.Status
		steps int
		text  string
	}{
		{"governor and preference", planGovernor([]host.FrequencyPolicy{base}, nil), setting.StatusWillSet,
			2, "balance_performance"},
		{"as wanted", planGovernor(with(func(p *host.FrequencyPolicy) {
			p.Governor, p.EPP = performance, performance
		}), nil), setting.StatusOK, 0, performance},
		{"dynamic boost alone", planGovernor(with(func(p *host.FrequencyPolicy) {
			p.Governor, p.EPP = performance, ""
		}), []Step{{}}), setting.StatusWillSet, 1, performance},
		{"no such governor", planGovernor(
			with(func(p *host.FrequencyPolicy) { p.Governors = []string{"userspace"} }), nil),
			setting.StatusCannot, 0, "offers only userspace"},
		{"limits", planLimits([]host.FrequencyPolicy{base}, 0), setting.StatusWillSet, 2, "800-5000 MHz"},
		{"a frequency asked for", planLimits([]host.FrequencyPolicy{base}, 2000000), setting.StatusWillSet,
			2, "2000 MHz"},
		{"beyond the hardware", planLimits([]host.FrequencyPolicy{base}, 6000000), setting.StatusCannot, 0,
			"can run at 800 to 5000 MHz"},
		{"below the hardware", planLimits([]host.FrequencyPolicy{base}, 100), setting.StatusCannot, 0,
			"can run at"},
		{"base above what turbo off leaves", planLimits(with(func(p *host.FrequencyPolicy) {
			p.HWMax, p.Max = 3500000, 3500000
		}), 0), setting.StatusWillSet, 1, "3500 MHz"},
		{"unknown", planLimits(with(func(p *host.FrequencyPolicy) { p.Base, p.HWMax = 0, 0 }), 0),
			setting.StatusCannot, 0, "unknown"},
		{"fixed", planLimits(with(func(p *host.FrequencyPolicy) { p.Min, p.Max = 3600000, 3600000 }), 0),
			setting.StatusOK, 0, "3600"},
	}
	for _, tt := range tests {
		all := fmt.Sprint(tt.plan.Found, tt.plan.Wanted, tt.plan.Detail)
		must.Be(t, tt.plan.Status == tt.want && len(tt.plan.Steps) == tt.steps &&
			strings.Contains(all, tt.text), tt.name, tt.plan.Status, "with", len(tt.plan.Steps), "steps", all,
			"want", tt.want, "with", tt.steps, "and", tt.text)
	}
}

// TestBaseWithoutTurboBeforeLinux610: there the hardware maximum stays that of turbo when no_turbo
// is set, and no limit may reach it.
func TestBaseWithoutTurboBeforeLinux610(t *testing.T) {
	m, k := fakeMachine(t, "intel-cpufreq-passive")
	k.before610 = true
	before := state(t, m, k)
	s := everything()
	s = under(s, setting.Require, "frequency", "turbo")
	findings, restore, problems := ApplyAll(t.Context(), m, s, openJournal(t, m))
	must.Be(t, len(problems) <= 0, problems)
	f := find(t, findings, "frequency")
	must.Be(t, f.Status == setting.StatusSet && strings.Contains(f.Wanted, "3300 MHz"), f)
	for _, file := range []string{"scaling_min_freq", "scaling_max_freq"} {
		must.Equal(t, k.get(host.CPUFreqDir+"/policy0/"+file), "3300000", "want 3300000")
	}
	must.Do(t, restore(t.Context()))
	sameTree(t, state(t, m, k), before)
}

func FuzzReadPolicy(f *testing.F) {
	f.Add("0 1", "acpi-cpufreq", "3601000 3600000", "<unsupported>")
	f.Add("", "<unknown>", "x", "-5")
	f.Fuzz(func(t *testing.T, affected, driver, steps, number string) {
		dir := host.CPUFreqDir + "/policy0/"
		root := sysroot.New("/nowhere").With(texts{
			dir + "affected_cpus": affected, dir + "scaling_driver": driver,
			dir + "scaling_available_frequencies": steps,
			dir + "scaling_governor":              "performance",
			dir + "scaling_available_governors":   "performance",
			dir + "scaling_min_freq":              "800000", dir + "scaling_max_freq": number,
			dir + "cpuinfo_min_freq": "800000", dir + "cpuinfo_max_freq": "900000",
			dir + "base_frequency": number,
		})
		p, err := host.Host{Root: root}.FrequencyPolicy("policy0")
		if err != nil {
			return
		}
		khz, _ := p.Sustainable()
		must.Be(t, khz >= 0, "sustainable frequency", khz)
		planLimits([]host.FrequencyPolicy{p}, 0)
		planClamp([]host.FrequencyPolicy{p})
	})
}

// TestLimitsShowLate: since Linux 5.4 a limit comes into force after the write has returned.
func TestLimitsShowLate(t *testing.T) {
	m, k := fakeMachine(t, "amd-pstate-epp")
	k.late, m.Clock = map[string]bool{}, k
	before := state(t, m, k)
	f, restore, err := required(frequencyLimits).Apply(t.Context(), m, openJournal(t, m))
	must.Need(t, err == nil && f.Status == setting.StatusSet, f, err)
	must.Do(t, restore(t.Context()))
	if err := k.Sleep(t.Context(), 0); err != nil { // whatever is still on its way comes now
		t.Error(err)
	}
	sameTree(t, state(t, m, k), before)
}

// TestLimitsThatTurboHoldsBack: limits are restored before turbo, and cannot have their old value
// until it is on again. Waiting for each of them would take minutes on a machine of some hundred
// CPUs.
func TestLimitsThatTurboHoldsBack(t *testing.T) {
	m, k := fakeMachine(t, "intel-cpufreq-passive")
	k.before610, m.Clock = true, k
	before := state(t, m, k)
	s := everything()
	s.Demands = s.With(s.Of("frequency").With("khz", int64(2000000)))
	_, restore, problems := ApplyAll(t.Context(), m, s, openJournal(t, m))
	must.Need(t, len(problems) <= 0, problems)
	k.slept = 0
	must.Do(t, restore(t.Context()))
	most := restorePasses * settleDelay
	must.Be(t, k.slept <= most, "waited", k.slept, "want at most", most)
	sameTree(t, state(t, m, k), before)
}

// TestLimitThatNeverShows: Apply gives up, and restores the pending limits.
func TestLimitThatNeverShows(t *testing.T) {
	m, k := fakeMachine(t, "amd-pstate-epp")
	k.late, m.Clock = map[string]bool{}, k
	before := state(t, m, k)
	k.refuse = func(_, name, value string) error {
		if strings.HasSuffix(name, "policy2/scaling_min_freq") && value == "3800000" {
			return errKeep
		}
		return nil
	}
	f, _, err := required(frequencyLimits).Apply(t.Context(), m, openJournal(t, m))
	must.Be(t, err != nil && f.Status == setting.StatusCannot &&
		strings.Contains(f.Detail, `reads back "550000"`), f, err)
	must.Do(t, k.Sleep(t.Context(), 0))
	sameTree(t, state(t, m, k), before)
}

// unread answers reads of some files with an error.
type unread struct {
	sysroot.Access
	part string // of the path
	err  error
}

func (u unread) ReadFile(path string) ([]byte, error) {
	if strings.Contains(path, u.part) {
		return nil, &fs.PathError{Op: "read", Path: path, Err: u.err}
	}
	return u.Access.ReadFile(path)
}

// TestUnreadablePolicies: what the kernel may answer instead of a value, and what that means.
func TestUnreadablePolicies(t *testing.T) {
	tests := []struct {
		name   string
		part   string
		err    error
		status setting.Status // of frequency and turbo
	}{
		{"an energy preference without a name (amd-pstate)", "/energy_performance_preference",
			syscall.EINVAL, setting.StatusWillSet},
		{"a broken energy preference", "/energy_performance_preference", syscall.EIO, setting.StatusWillSet},
		{"the policy goes while it is read", "/policy3/scaling_", syscall.ENODEV, setting.StatusWillSet},
		{"all CPUs of the policy are offline", "/policy3/", syscall.EBUSY, setting.StatusWillSet},
		{"a limit that cannot be read", "/policy3/scaling_max_freq", syscall.EIO, setting.StatusCannot},
	}
	for _, tt := range tests {
		m, k := fakeMachine(t, "amd-pstate-epp")
		m.Root = m.Root.With(unread{k, tt.part, tt.err})
		findings := CheckAll(t.Context(), m, Defaults())
		for _, name := range []string{"frequency", "turbo"} {
			f := find(t, findings, name)
			must.Equal(t, f.Status, tt.status, tt.name, name, f.Detail)
		}
	}
}

// TestPreferenceBeforeGovernor: in reverse order the preference is restored after the governor,
// which would reject it before.
func TestPreferenceBeforeGovernor(t *testing.T) {
	m, _ := fakeMachine(t, "intel-hybrid")
	policies := must.Get(m.FrequencyPolicies())(t)
	governor := false
	for _, s := range planGovernor(policies, nil).Steps {
		if strings.HasSuffix(s.Target, "scaling_governor") {
			governor = true
		} else if governor {
			t.Errorf("%s after a governor", s)
		}
	}
}

// TestGovernorsTunablesAreRestored: a kernel discards a governor's tunables when the last policy
// stops using it.
func TestGovernorsTunablesAreRestored(t *testing.T) {
	m, k := fakeMachine(t, "intel-acpi-cpufreq")
	governor := k.get(host.CPUFreqDir + "/policy0/scaling_governor")
	file := filepath.Join(k.dir, host.CPUFreqDir, governor, "up_threshold")
	must.Write(t, file, "71\n")
	_, restore := must.Get2(required(frequencyGovernor).Apply(t.Context(), m, openJournal(t, m)))(t)
	must.Write(t, file, "95\n") // the kernel's default, as it is when the governor comes back
	must.Do(t, restore(t.Context()))
	must.Equal(t, k.get(host.CPUFreqDir+"/"+governor+"/up_threshold"), "71", "up_threshold of", "want 71")
}
