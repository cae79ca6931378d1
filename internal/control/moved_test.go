package control

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/internal/control/machines"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/rig/must"
)

// TestNothingMoves: two readings of a machine that is left alone are the same, whatever the kernel
// rejected and under every policy.
func TestNothingMoves(t *testing.T) {
	must.Long(t)
	for _, name := range machines.Names() {
		m, _ := fakeMachine(t, name)
		for _, p := range []setting.Policy{setting.Apply, setting.Warn, setting.Off} {
			r := everything()
			for i := range r.Demands {
				r.Demands[i].Policy = p
			}
			_, restore, _ := ApplyAll(t.Context(), m, r, openJournal(t, m))
			before := TakeSnapshot(t.Context(), m, r)
			moves := TakeSnapshot(t.Context(), m, r).Since(before)
			must.Equal(t, len(moves), 0, name, "policy", p, moves)
			must.Do(t, restore(t.Context()))
		}
	}
}

// TestMoved changes one thing of a prepared machine, as another program would during a run.
func TestMoved(t *testing.T) {
	const policy0 = host.CPUFreqDir + "/policy0/"
	for name, test := range map[string]struct {
		change  func(*Machine, *fakeKernel)
		control string
		text    string
	}{
		"governor": {func(_ *Machine, k *fakeKernel) { k.put(policy0+"scaling_governor", "powersave") },
			"frequency", "powersave"},
		"limit": {func(_ *Machine, k *fakeKernel) { k.put(policy0+"scaling_max_freq", "800000") },
			"frequency", "to 3600-800 MHz on CPU 0"},
		// intel_pstate.c 6.12:1839: the HWP guarantee changes at run time, and base_frequency
		"guarantee": {func(_ *Machine, k *fakeKernel) { k.put(policy0+"base_frequency", "1900000") },
			"frequency", "moved"},
		"turbo": {func(_ *Machine, k *fakeKernel) { k.put(noTurboFile, "0") }, "turbo", "on"},
		"aslr": {func(_ *Machine, k *fakeKernel) { k.put("/proc/sys/kernel/randomize_va_space", "0") },
			"aslr", "from 2 to 0"},
		"service": {func(m *Machine, _ *fakeKernel) { _ = m.Units.Start(t.Context(), "cron.service") },
			"services", "cron.service running"},
		"irqbalance": {func(_ *Machine, k *fakeKernel) {
			files, _ := filepath.Glob(k.dir + irqDir + "/[0-9]*/smp_affinity_list")
			for _, file := range files {
				k.put(k.name(file), "0-3")
			}
		}, "irq_affinity", "away from CPU"},
		"hotplug": {func(_ *Machine, k *fakeKernel) { k.put("/sys/devices/system/cpu/online", "0,2-3") },
			"", "the CPUs online moved from 0-3 to 0,2-3"},
		"partition": {func(_ *Machine, k *fakeKernel) {
			k.put(shieldDir+"/cpuset.cpus.partition", "root invalid (Parent is not a partition root)")
		}, "shield", "moved"},
		"granted CPUs": {func(_ *Machine, k *fakeKernel) { k.put(shieldDir+"/cpuset.cpus.effective", "2-3") },
			"", "the CPUs of the shield moved from 1-3 to 2-3"},
	} {
		t.Run(name, func(t *testing.T) {
			m, k := fakeMachine(t, "intel-pstate-active")
			r := under(everything(), setting.Off, "smt") // so that CPUs 0 to 3 stay online
			_, _, problems := ApplyAll(t.Context(), m, r, openJournal(t, m))
			must.Need(t, len(problems) == 0, problems)
			k.put(shieldDir+"/cpuset.cpus.effective", "1-3")
			before := TakeSnapshot(t.Context(), m, r)
			test.change(m, k)
			moves := TakeSnapshot(t.Context(), m, r).Since(before)
			found := slices.ContainsFunc(moves, func(move Move) bool {
				return move.Control == test.control && strings.Contains(move.Text, test.text)
			})
			must.Be(t, found, "moves", moves, "want one of", test.control, "that contains", test.text)
		})
	}
}

// TestOvercommitStays: another program commits memory while the setting is in force. That is
// neither a move nor a setting that does not stay. What systemd does not tell is unknown.
func TestOvercommitStays(t *testing.T) {
	m, k := fakeMachine(t, "intel-pstate-active")
	r := everything()
	r.Heap = 2 << 30
	_, _, problems := ApplyAll(t.Context(), m, r, openJournal(t, m))
	must.Need(t, len(problems) == 0, problems)
	before := TakeSnapshot(t.Context(), m, r)
	k.put("/proc/meminfo", strings.Replace(k.get("/proc/meminfo"), "Committed_AS:    1203344",
		"Committed_AS:    9003344", 1))
	moves := TakeSnapshot(t.Context(), m, r).Since(before)
	must.Equal(t, len(moves), 0, "moves", moves)
	for _, c := range Controls(r) {
		must.Be(t, c.Name != overcommit.Name || !c.moved(t.Context(), m), "overcommit does not stay set")
	}
	k.put(overcommitFile, "0")
	if moves = TakeSnapshot(t.Context(), m, r).Since(before); len(moves) != 1 {
		t.Errorf("moves %v, want overcommit", moves)
	}
	k.put(overcommitFile, "2")
	m.Units = nil
	for _, move := range TakeSnapshot(t.Context(), m, r).Since(before) {
		must.Be(t, move.Unread, "without systemd", move)
	}
}

// TestTuners: a process with the kernel's shortened name, and a unit without a process.
func TestTuners(t *testing.T) {
	m, k := fakeMachine(t, "intel-pstate-active")
	if f := CheckTuners(t.Context(), m); f.Status != setting.StatusOK {
		t.Errorf("without any: %+v", f)
	}
	k.put("/proc/4711/comm", "power-profiles-") // TASK_COMM_LEN of include/linux/sched.h is 16
	units := m.Units.(*fakeUnits)
	units.units = append(units.units, Unit{Name: "tlp.service", Active: true}, Unit{Name: "cpupower.service"})
	f := CheckTuners(t.Context(), m)
	must.Be(t, f.Status == setting.StatusDiffers && f.Found == "power-profiles-daemon, tlp" &&
		strings.Contains(f.Fix, `stop = ["power-profiles-daemon.service", "tlp.service"]`), f)
	must.Equal(t, Movers(t.Context(), m, "energy_perf_bias"), "power-profiles-daemon",
		"movers of energy_perf_bias")
}

func TestOwnCPUs(t *testing.T) {
	m, k := fakeMachine(t, "kvm-guest")
	k.put("/proc/self/cgroup", "0::/system.slice/krund.service")
	k.put(groupRoot+"/system.slice/cpuset.cpus.effective", "0-1")
	if got, err := ownCPUs(m.Host); err != nil || got.String() != "0-1" {
		t.Errorf("of the nearest group with a cpuset: %s, %v", got, err)
	}
	// a container with one CPU of the host's two
	k.put(groupRoot+"/system.slice/cpuset.cpus.effective", "1")
	cpus, online, err := m.PlannedCPUs(under(everything(), setting.Off, "shield"))
	must.Be(t, err == nil && len(cpus) == 0 && online.String() == "1", "in a container", cpus, online, err)
	must.Equal(t, len(m.SystemCPUs(under(everything(), setting.Off, "shield"))), 0, "in a container")
	k.put("/proc/self/cgroup", "3:cpuset:/docker/x")
	k.put("/proc/self/cpuset", "/docker/x")
	k.put(groupRoot+"/cpuset/docker/x/cpuset.effective_cpus", "0")
	got, err := ownCPUs(m.Host)
	must.Be(t, err == nil && got.String() == "0", "of a group of version 1", got, err)
}
