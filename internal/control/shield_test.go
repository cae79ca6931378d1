package control

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/rig/must"
)

func applyShield(t *testing.T, m *Machine, kind, cpus string) (setting.Finding, Undo, error) {
	t.Helper()
	return requiredOn(cpus, shield, "type", kind).Apply(t.Context(), m, openJournal(t, m))
}

// placed returns where a finding of a required shield puts the benchmark.
func placed(m *Machine, f setting.Finding, cpus string) Place {
	return Placement(m, requestOn(cpus, demand(shield, setting.Require)),
		[]setting.Finding{{Name: "aslr"}, f})
}

func TestPlacementWithoutShield(t *testing.T) {
	m, _ := fakeMachine(t, "intel-acpi-cpufreq")
	for _, policy := range []setting.Policy{setting.Off, setting.Warn} {
		s := requestOn("", demand(shield, policy))
		p := Placement(m, s, CheckAll(t.Context(), m, s))
		must.Be(t, p.Cgroup == "" && p.CPUs.String() == "1-3", "bound by placement, policy", policy, p)
		s = under(s, setting.Off, "placement")
		p = Placement(m, s, CheckAll(t.Context(), m, s))
		must.Be(t, p.Cgroup == "" && p.CPUs == nil, "policy", policy, p)
	}
	m.Root = m.Root.With(texts{})
	p := placed(m, setting.Finding{Name: "shield", Status: setting.StatusSet}, "")
	must.Be(t, p.Cgroup == "" && p.CPUs == nil, "unknown CPUs", p)
}

func TestShield(t *testing.T) {
	for _, kind := range []string{"root", "isolated"} {
		m, k := fakeMachine(t, "intel-acpi-cpufreq")
		before := state(t, m, k)
		f, restore, err := applyShield(t, m, kind, "")
		must.Need(t, err == nil && f.Status == setting.StatusSet, kind, f, err)
		got := k.get(shieldDir+"/cpuset.cpus") + " " + k.get(shieldDir+"/cpuset.cpus.partition") + " " +
			k.get(groupRoot+"/cgroup.subtree_control")
		must.Equal(t, got, "1-3 "+kind+" cpuset cpu memory pids", "groups")
		p := placed(m, f, "")
		must.Be(t, p.Cgroup == "/krund.shield/run" && p.CPUs.String() == "1-3", "placement", p)
		f = requiredOn("", shield, "type", kind).Check(t.Context(), m)
		must.Equal(t, f.Status, setting.StatusOK, "checked again", f)
		must.Do(t, restore(t.Context()))
		sameTree(t, state(t, m, k), before)
	}
}

func TestShieldKeepsAControllerThatWasGranted(t *testing.T) {
	m, k := fakeMachine(t, "intel-acpi-cpufreq")
	k.put(groupRoot+"/cgroup.subtree_control", "cpuset cpu")
	before := state(t, m, k)
	_, restore := must.Get2(applyShield(t, m, "root", ""))(t)
	must.Do(t, restore(t.Context()))
	sameTree(t, state(t, m, k), before)
}

// TestShieldThatTheKernelDeclaresInvalid: the finding has the kernel's reason, and nothing is left
// behind.
func TestShieldThatTheKernelDeclaresInvalid(t *testing.T) {
	m, k := fakeMachine(t, "intel-acpi-cpufreq")
	before := state(t, m, k)
	k.put("/sys/devices/system/cpu/online", "1-3") // the fake kernel checks against these
	c := required(Descriptor{Descriptor: shield.Descriptor, targets: shieldTargets(),
		plan: fixed(func(context.Context, *Machine) Plan {
			return willSet("none", "CPU 1-3 root", shieldSteps(m.Root, "root", host.CPUs{1, 2, 3})...)
		})})
	f, _, err := c.Apply(t.Context(), m, openJournal(t, m))
	must.Be(t, err != nil && f.Status == setting.StatusCannot &&
		strings.Contains(f.Detail, "Parent unable to distribute cpu downstream"), f, err)
	k.put("/sys/devices/system/cpu/online", "0-3")
	sameTree(t, state(t, m, k), before)
}

// TestShieldWithProcessesLeft: a benchmark that outlives krund is moved out of the groups, and
// lives.
func TestShieldWithProcessesLeft(t *testing.T) {
	m, k := fakeMachine(t, "intel-acpi-cpufreq")
	before := state(t, m, k)
	_, restore := must.Get2(applyShield(t, m, "root", ""))(t)
	must.Do(t, os.Mkdir(k.dir+shieldDir+"/run", 0o755))
	k.put(shieldDir+"/run/cgroup.procs", "4711")
	must.Do(t, restore(t.Context()))
	must.Equal(t, k.get(groupRoot+"/cgroup.procs"), "1 4711", "processes of the root group")
	k.put(groupRoot+"/cgroup.procs", "1")
	sameTree(t, state(t, m, k), before)
}

func TestShieldCannot(t *testing.T) {
	tests := []struct {
		name   string
		change func(*fakeKernel)
		kind   string
		text   string
	}{
		{"version 1 groups", func(k *fakeKernel) { k.remove(t, groupRoot+"/cgroup.controllers") }, "root",
			"not mounted"},
		{"no cpuset", func(k *fakeKernel) { k.put(groupRoot+"/cgroup.controllers", "cpu io") }, "root",
			"no cpuset"},
		{"one CPU", func(k *fakeKernel) { k.put("/sys/devices/system/cpu/online", "0") }, "root",
			"may use only CPU 0"},
		{"no such type", func(*fakeKernel) {}, "member", "no partition type"},
	}
	for _, tt := range tests {
		m, k := fakeMachine(t, "intel-acpi-cpufreq")
		tt.change(k)
		f, _, err := applyShield(t, m, tt.kind, "")
		must.Be(t, err == nil && f.Status == setting.StatusCannot && strings.Contains(f.Detail, tt.text),
			tt.name, f, err)
		must.Equal(t, placed(m, f, "").Cgroup, "", tt.name, "placed into a shield that is not there")
	}
}

// fakeSystemctl keeps AllowedCPUs of units.
type fakeSystemctl map[string]string

func (s fakeSystemctl) Output(_ context.Context, name string, args ...string) ([]byte, error) {
	unit := args[len(args)-1]
	switch {
	case name != "systemctl":
		return nil, errors.New("unexpected program " + name)
	case args[0] == "show":
		return []byte(s[unit] + "\n"), nil
	case args[0] == "set-property":
		_, cpus, _ := strings.Cut(unit, "=")
		s[args[2]] = strings.ReplaceAll(cpus, ",", " ") // systemd prints ranges with spaces between
		return nil, nil
	}
	return nil, errors.New("unexpected arguments")
}

// TestShieldWithoutPartitions is for kernels before 5.0.
func TestShieldWithoutPartitions(t *testing.T) {
	m, k := fakeMachine(t, "intel-acpi-cpufreq")
	k.put(groupRoot+"/cgroup.subtree_control", "cpuset cpu")
	k.put(groupRoot+"/system.slice/cpuset.cpus", "")
	f, _, err := applyShield(t, m, "root", "1")
	must.Be(t, err == nil && f.Status == setting.StatusCannot, "without systemctl", f, err)
	systemctl := fakeSystemctl{"user.slice": "0-1"}
	m.Commands = systemctl
	f, restore, err := applyShield(t, m, "root", "1")
	must.Need(t, err == nil && f.Status == setting.StatusSet && strings.HasPrefix(f.Detail, affinityOnly), f,
		err)
	must.Be(t, systemctl["init.scope"] == "0 2-3" && systemctl["user.slice"] == "0 2-3", "slices", systemctl)
	p := placed(m, f, "1")
	must.Be(t, p.Cgroup == "" && p.CPUs.String() == "1", "placement", p, "want the CPU and no group")
	err = restore(t.Context())
	must.Be(t, err == nil && systemctl["user.slice"] == "0-1" && systemctl["init.scope"] == "", "restore",
		err, systemctl)
}

// statText is /proc/PID/stat of a thread with these flags and start time; its name is an ugly one.
func statText(flags, start int) string {
	return fmt.Sprintf(
		"7 (a) b) (c) S 2 0 0 0 -1 %d 0 0 0 0 0 1 0 0 20 0 1 0 %d 0 0 18446744073709551615 0\n", flags, start)
}

// TestThreadsAreBoundAgain: a partition of CPUs sets all threads free; those that were bound before
// are bound again afterwards.
func TestThreadsAreBoundAgain(t *testing.T) {
	m, k := fakeMachine(t, "arm64")
	write := func(id, flags, start int, cpus string) {
		dir := fmt.Sprintf("/proc/%d/task/%d/", id, id)
		k.put(dir+"stat", strings.TrimSpace(statText(flags, start)))
		k.put(dir+"status", "Cpus_allowed_list:\t"+cpus)
	}
	online := must.Get(m.Online())(t)
	all := online.String()
	for id, cpus := range map[int]string{2: "0", 3: all, 4: "0", 5: "0", 6: "0"} {
		write(id, 0, id, cpus)
	}
	write(7, 0x4000000, 7, "0")
	steps := noteThreads(m)
	must.Be(t, steps == nil, "steps", steps, "without a way to bind")
	var bound []string
	m.Bind = func(id int, cpus host.CPUs) error {
		if id == 6 {
			return syscall.EINVAL
		}
		bound = append(bound, fmt.Sprintf("%d to %s", id, cpus))
		write(id, 0, id, cpus.String())
		return nil
	}
	steps = noteThreads(m)
	must.Need(t, len(steps) == 1 && strings.Count(steps[0].Data, "\n") == 3, "steps", steps,
		"want one with four threads")
	write(2, 0, 2, all)
	write(4, 0, 99, all) // another one of the same number
	must.Do(t, os.RemoveAll(filepath.Join(k.dir, "proc/5")))
	write(6, 0, 6, all) // rejected
	for _, want := range []Restoration{Restored, Already} {
		got, err := (threadApplier{m}).restore(t.Context(), steps[0])
		must.Be(t, got == want && err == nil, got, err, "want", want)
	}
	must.Equal(t, strings.Join(bound, ", "), "2 to 0", "bound", "want 2 to 0 and nothing else")
	m.Bind = func(int, host.CPUs) error { return syscall.EPERM }
	write(2, 0, 2, all)
	got, err := (threadApplier{m}).restore(t.Context(), steps[0])
	must.Be(t, got == Failed && errors.Is(err, syscall.EPERM), "not allowed", got, err)
}
