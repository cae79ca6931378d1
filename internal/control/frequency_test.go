package control

import (
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"krund/internal/sysroot"
)

func TestSustainable(t *testing.T) {
	tests := []struct {
		name string
		p    cpuPolicy
		khz  int64
		sure bool
	}{
		{"intel_pstate with HWP names its base frequency", cpuPolicy{driver: "intel_pstate", base: 3600000, hwMax: 5000000}, 3600000, true},
		{"amd-pstate: nominal frequency of CPPC", cpuPolicy{driver: "amd-pstate-epp", nominal: 3800000, hwMax: 4850000}, 3800000, true},
		{"amd-pstate passive", cpuPolicy{driver: "amd-pstate", nominal: 3800000, hwMax: 4850000}, 3800000, true},
		{"cppc_cpufreq", cpuPolicy{driver: "cppc_cpufreq", nominal: 3000000, hwMax: 3000000}, 3000000, true},
		{"table with an entry for turbo", cpuPolicy{driver: "acpi-cpufreq", steps: []int64{3601000, 3600000, 800000}, hwMax: 3601000}, 3600000, true},
		{"table without one", cpuPolicy{driver: "acpi-cpufreq", steps: []int64{2400000, 1800000}, boosts: []int64{2900000}, hwMax: 2900000}, 2400000, true},
		{"boost frequencies within the table", cpuPolicy{driver: "cpufreq-dt", steps: []int64{1000000, 2000000, 2200000}, boosts: []int64{2200000}}, 2000000, true},
		{"nothing known: the hardware's maximum, without warrant", cpuPolicy{driver: "other", hwMax: 2000000}, 2000000, false},
		{"only boost frequencies", cpuPolicy{driver: "other", steps: []int64{1}, boosts: []int64{1}}, 0, true},
	}
	for _, tt := range tests {
		if khz, sure := tt.p.sustainable(); khz != tt.khz || sure != tt.sure {
			t.Errorf("%s: %d, %t; want %d, %t", tt.name, khz, sure, tt.khz, tt.sure)
		}
	}
}

func TestIntelBase(t *testing.T) {
	tests := []struct {
		name                    string
		lo, hi, states, percent int64
		noTurbo                 string
		want                    int64
	}{
		{"Core i5-2500 with turbo on", 1600000, 3700000, 22, 19, "0", 3300000},
		{"Core i7-4790 with turbo on", 800000, 4000000, 33, 13, "0", 3600000},
		{"turbo off: the driver has lowered the maximum", 1600000, 3300000, 22, 19, "1", 3300000},
		{"turbo off before Linux 6.10: the maximum is still that of turbo", 1600000, 3700000, 22, 19, "1", 3300000},
		{"Core i7-4790K with turbo off on Linux 6.1", 800000, 4400000, 37, 11, "1", 4000000},
		{"Core i7-4790K with turbo off on Linux 6.10", 800000, 4000000, 37, 11, "1", 4000000},
		{"turbo off in the firmware, P-states not said", 1600000, 3300000, 0, 0, "1", 3300000},
		{"a processor without turbo", 1600000, 3300000, 18, 0, "1", 3300000},
		{"not said", 1600000, 3700000, 0, 0, "0", 0},
		{"hybrid: no turbo_pct, all counts as lasting", 400000, 4400000, 41, 0, "0", 4400000},
		{"rubbish", 1, 0, 22, 200, "0", 0},
	}
	for _, tt := range tests {
		if got := intelBase(tt.lo, tt.hi, tt.states, tt.percent, tt.noTurbo); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestLimitsStayInOrder walks both limits to a target and back and checks that the minimum never is above the maximum.
func TestLimitsStayInOrder(t *testing.T) {
	for _, to := range []int64{800, 1000, 1500, 2000, 2500} {
		for _, from := range [][2]int64{{1000, 2000}, {1500, 1500}, {800, 2500}} {
			p := cpuPolicy{name: "policy0", min: from[0], max: from[1]}
			steps := p.limits(to)
			lo, hi := p.min, p.max
			set := func(s Step, value string) {
				var n int64
				if _, err := fmt.Sscan(value, &n); err != nil {
					t.Fatal(err)
				}
				if strings.Contains(s.Target, "min") {
					lo = n
				} else {
					hi = n
				}
				if lo > hi {
					t.Errorf("from %v to %d: minimum %d above maximum %d", from, to, lo, hi)
				}
			}
			for _, s := range steps {
				set(s, s.New)
			}
			if lo != to || hi != to {
				t.Errorf("from %v to %d: ended at %d-%d", from, to, lo, hi)
			}
			for i := range steps {
				set(steps[len(steps)-1-i], steps[len(steps)-1-i].Old)
			}
			if lo != from[0] || hi != from[1] {
				t.Errorf("from %v to %d and back: ended at %d-%d", from, to, lo, hi)
			}
		}
	}
}

func TestPlanFrequency(t *testing.T) {
	base := cpuPolicy{
		name: "policy0", cpus: CPUs{0}, driver: "intel_pstate", governor: "powersave", governors: []string{"performance", "powersave"},
		epp: "balance_performance", min: 800000, max: 5000000, hwMin: 800000, hwMax: 5000000, base: 3600000,
	}
	with := func(change func(*cpuPolicy)) []cpuPolicy {
		p := base
		change(&p)
		return []cpuPolicy{p}
	}
	tests := []struct {
		name  string
		plan  Plan
		want  Status
		steps int
		text  string
	}{
		{"governor and preference", planGovernor([]cpuPolicy{base}, nil), StatusWillSet, 2, "balance_performance"},
		{"as wanted", planGovernor(with(func(p *cpuPolicy) { p.governor, p.epp = performance, performance }), nil), StatusOK, 0, performance},
		{"dynamic boost alone", planGovernor(with(func(p *cpuPolicy) { p.governor, p.epp = performance, "" }), []Step{{}}), StatusWillSet, 1, performance},
		{"no such governor", planGovernor(with(func(p *cpuPolicy) { p.governors = []string{"userspace"} }), nil), StatusCannot, 0, "offers only userspace"},
		{"limits", planLimits([]cpuPolicy{base}, 0), StatusWillSet, 2, "800-5000 MHz"},
		{"a frequency asked for", planLimits([]cpuPolicy{base}, 2000000), StatusWillSet, 2, "2000 MHz"},
		{"beyond the hardware", planLimits([]cpuPolicy{base}, 6000000), StatusCannot, 0, "can run at 800 to 5000 MHz"},
		{"below the hardware", planLimits([]cpuPolicy{base}, 100), StatusCannot, 0, "can run at"},
		{"base above what turbo off leaves", planLimits(with(func(p *cpuPolicy) { p.hwMax, p.max = 3500000, 3500000 }), 0), StatusWillSet, 1, "3500 MHz"},
		{"unknown", planLimits(with(func(p *cpuPolicy) { p.base, p.hwMax = 0, 0 }), 0), StatusCannot, 0, "unknown"},
		{"fixed", planLimits(with(func(p *cpuPolicy) { p.min, p.max = 3600000, 3600000 }), 0), StatusOK, 0, "3600"},
	}
	for _, tt := range tests {
		all := fmt.Sprint(tt.plan.Found, tt.plan.Wanted, tt.plan.Detail)
		if tt.plan.Status != tt.want || len(tt.plan.Steps) != tt.steps || !strings.Contains(all, tt.text) {
			t.Errorf("%s: %s with %d steps (%s); want %s with %d and %q", tt.name, tt.plan.Status, len(tt.plan.Steps), all, tt.want, tt.steps, tt.text)
		}
	}
}

func TestHybridCoresHaveTheirOwnBase(t *testing.T) {
	m, _ := fakeMachine(t, "intel-hybrid")
	f := find(t, CheckAll(t.Context(), m, Defaults()), "frequency")
	if want := "performance, 1700 MHz on CPU 0-1, 1200 MHz on CPU 2-3"; f.Wanted != want {
		t.Errorf("wanted %q, want %q", f.Wanted, want)
	}
}

// TestBaseWithoutTurboBeforeLinux610: there the hardware maximum stays that of turbo when no_turbo is set, and no limit may reach it.
func TestBaseWithoutTurboBeforeLinux610(t *testing.T) {
	m, k := fakeMachine(t, "intel-cpufreq-passive")
	k.before610 = true
	before := state(t, m, k)
	s := everything()
	s.Frequency.Policy, s.Turbo.Policy = Require, Require
	findings, undo, problems := ApplyAll(t.Context(), m, s, openJournal(t, m))
	if len(problems) > 0 {
		t.Error(problems)
	}
	if f := find(t, findings, "frequency"); f.Status != StatusSet || !strings.Contains(f.Wanted, "3300 MHz") {
		t.Errorf("%+v", f)
	}
	for _, file := range []string{"scaling_min_freq", "scaling_max_freq"} {
		if got := k.get(cpufreqDir + "/policy0/" + file); got != "3300000" {
			t.Errorf("%s is %s, want 3300000", file, got)
		}
	}
	if err := undo(t.Context()); err != nil {
		t.Error(err)
	}
	sameTree(t, state(t, m, k), before)
}

func TestDriversAreNamed(t *testing.T) {
	want := map[string]string{
		"intel-acpi-cpufreq": "acpi-cpufreq ondemand, 800-3601 MHz", "intel-pstate-active": "intel_pstate powersave (energy balance_performance), 800-5000 MHz",
		"intel-cpufreq-passive": "intel_cpufreq schedutil, 1600-3700 MHz", "amd-pstate-epp": "amd-pstate-epp powersave (energy balance_performance), 550-4850 MHz",
		"amd-acpi-cpufreq": "acpi-cpufreq schedutil, 1200-2400 MHz", "kvm-guest": "no frequency driver", "arm64": "cppc_cpufreq ondemand, 1000-3000 MHz",
	}
	for machine, text := range want {
		m, _ := fakeMachine(t, machine)
		if f := find(t, CheckAll(t.Context(), m, Defaults()), "frequency"); f.Found != text {
			t.Errorf("%s: found %q, want %q", machine, f.Found, text)
		}
	}
}

func FuzzReadPolicy(f *testing.F) {
	f.Add("0 1", "acpi-cpufreq", "3601000 3600000", "<unsupported>")
	f.Add("", "<unknown>", "x", "-5")
	f.Fuzz(func(t *testing.T, affected, driver, steps, number string) {
		dir := cpufreqDir + "/policy0/"
		root := sysroot.New("/nowhere").With(texts{
			dir + "affected_cpus": affected, dir + "scaling_driver": driver, dir + "scaling_available_frequencies": steps,
			dir + "scaling_governor": "performance", dir + "scaling_available_governors": "performance",
			dir + "scaling_min_freq": "800000", dir + "scaling_max_freq": number, dir + "cpuinfo_min_freq": "800000", dir + "cpuinfo_max_freq": "900000",
			dir + "base_frequency": number,
		})
		p, err := readPolicy(root, "policy0")
		if err != nil {
			return
		}
		if khz, _ := p.sustainable(); khz < 0 {
			t.Errorf("sustainable frequency %d", khz)
		}
		planLimits([]cpuPolicy{p}, 0)
		planClamp([]cpuPolicy{p})
	})
}

// TestLimitsShowLate: since Linux 5.4 a limit comes into force after the write has returned.
func TestLimitsShowLate(t *testing.T) {
	m, k := fakeMachine(t, "amd-pstate-epp")
	k.late, m.Clock = map[string]bool{}, k
	before := state(t, m, k)
	f, undo, err := frequencyLimits(FrequencySettings{Policy: Require}).Apply(t.Context(), m, openJournal(t, m))
	if err != nil || f.Status != StatusSet {
		t.Fatalf("%+v, %v", f, err)
	}
	if err := undo(t.Context()); err != nil {
		t.Error(err)
	}
	if err := k.Sleep(t.Context(), 0); err != nil { // whatever is still on its way comes now
		t.Error(err)
	}
	sameTree(t, state(t, m, k), before)
}

// TestLimitsThatTurboHoldsBack: on the way back the limits come before turbo, and cannot be what they were until it is on again. Waiting for each of
// them would take minutes on a machine of some hundred CPUs.
func TestLimitsThatTurboHoldsBack(t *testing.T) {
	m, k := fakeMachine(t, "intel-cpufreq-passive")
	k.before610, m.Clock = true, k
	before := state(t, m, k)
	s := everything()
	s.Frequency.KHz = 2000000
	_, undo, problems := ApplyAll(t.Context(), m, s, openJournal(t, m))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	k.slept = 0
	if err := undo(t.Context()); err != nil {
		t.Error(err)
	}
	if most := restorePasses * consequences; k.slept > most {
		t.Errorf("waited %s, want at most %s", k.slept, most)
	}
	sameTree(t, state(t, m, k), before)
}

// TestLimitThatNeverShows gives up, and takes back what is on its way.
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
	f, _, err := frequencyLimits(FrequencySettings{Policy: Require}).Apply(t.Context(), m, openJournal(t, m))
	if err == nil || f.Status != StatusCannot || !strings.Contains(f.Detail, `reads back "550000"`) {
		t.Errorf("%+v, %v", f, err)
	}
	if err := k.Sleep(t.Context(), 0); err != nil {
		t.Error(err)
	}
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
		status Status // of frequency and turbo
	}{
		{"an energy preference without a name (amd-pstate)", "/energy_performance_preference", syscall.EINVAL, StatusWillSet},
		{"a broken energy preference", "/energy_performance_preference", syscall.EIO, StatusWillSet},
		{"the policy goes while it is read", "/policy3/scaling_", syscall.ENODEV, StatusWillSet},
		{"all CPUs of the policy are offline", "/policy3/", syscall.EBUSY, StatusWillSet},
		{"a limit that cannot be read", "/policy3/scaling_max_freq", syscall.EIO, StatusCannot},
	}
	for _, tt := range tests {
		m, k := fakeMachine(t, "amd-pstate-epp")
		m.Root = m.Root.With(unread{k, tt.part, tt.err})
		findings := CheckAll(t.Context(), m, Defaults())
		for _, name := range []string{"frequency", "turbo"} {
			if f := find(t, findings, name); f.Status != tt.status {
				t.Errorf("%s: %s: %s (%s), want %s", tt.name, name, f.Status, f.Detail, tt.status)
			}
		}
	}
}
