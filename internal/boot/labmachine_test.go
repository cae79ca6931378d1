package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"krund/internal/boot/doctor"
	"krund/internal/control"
	"krund/internal/control/machines"
	"krund/internal/durable"
	"krund/internal/durable/crashfs"
	"krund/internal/execution/identity"
	"krund/internal/experiment/config"
	"krund/internal/experiment/config/setting"
	"krund/internal/experiment/results"
	"krund/internal/machine/probe"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

const labText = `[experiment]
reboot = "none"
[vms.C]
runner = "c"
variants = ["default-c"]
[variants.default-c]
entry = "bench.so"
[benchmarks]
nbody = { parameter = 1 }
`

func labConfig(t *testing.T, more string) *config.Config {
	t.Helper()
	return must.Get(config.Parse("/x/x.toml", []byte(labText+more), "host", doctor.Settings()))(t)
}

// labMachine is one that controls what cfg wants and watches what probes asks.
func labMachine(t *testing.T, root sysroot.Root, cfg *config.Config, probes probe.Request) *LabMachine {
	t.Helper()
	return &LabMachine{Control: control.NewMachine(t.Context(), root), Clock: sysroot.RealClock{},
		Log: slog.New(slog.DiscardHandler), FS: crashfs.New("/x"), Journal: "/x/journal",
		Settings: doctor.Of(cfg, config.RebootNone).Control, Probes: probes, Temperature: cfg.Temperature}
}

// watched is a LabMachine that watches the throttling and the power limits, and nothing else.
func watched(t *testing.T, root sysroot.Root, throttle, limits setting.Policy) *LabMachine {
	t.Helper()
	return labMachine(t, root, labConfig(t, ""), probe.Request{Temperature: setting.Off,
		KernelLog: setting.Off, Fingerprint: setting.Off, Throttle: throttle, PowerLimits: limits})
}

// kernel creates a root with the files of two settings and a sensor.
func kernel(t *testing.T) (sysroot.Root, func(name string) string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, content string) { must.Write(t, filepath.Join(dir, name), content) }
	write("proc/sys/kernel/randomize_va_space", "0\n")
	write("sys/class/hwmon/hwmon0/name", "coretemp\n")
	write("sys/class/hwmon/hwmon0/temp1_input", "40000\n")
	write("sys/class/hwmon/hwmon0/temp1_label", "Package id 0\n")
	return sysroot.New(dir), func(name string) string {
		content := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
		return strings.TrimSpace(string(content))
	}
}

func TestApplyRecordsAndUndoes(t *testing.T) {
	root, read := kernel(t)
	cfg := labConfig(t, "[controls]\naslr = \"require\"\n")
	m := labMachine(t, root, cfg, doctor.Of(cfg, config.RebootNone).Probe)
	applied := must.Get(m.Apply(t.Context()))(t)
	must.Equal(t, read("proc/sys/kernel/randomize_va_space"), "2", "randomize_va_space", "want 2")
	found := false
	for _, c := range applied.Controls {
		found = found || c.Name == "aslr" && c.Status == "set" && c.Found == "0"
	}
	must.Be(t, found, "the record lacks the setting", applied.Controls)
	i := slices.IndexFunc(applied.Controls, func(c results.Control) bool { return c.Name == "ksm" })
	must.Be(t, i >= 0 && applied.Controls[i].Status == "off" && applied.Controls[i].Found != "" &&
		applied.found["state.control.ksm"] == applied.Controls[i].Found, "what is off", applied.Controls)
	must.Do(t, m.Restore(t.Context(), applied))
	must.Equal(t, read("proc/sys/kernel/randomize_va_space"), "0", "randomize_va_space", "after undo, want 0")
}

func TestAnUnfitMachineIsAnError(t *testing.T) {
	root, _ := kernel(t)
	cfg := labConfig(t, "[controls]\nturbo = \"require\"\n")
	m := labMachine(t, root, cfg, probe.Request{})
	applied, err := m.Apply(t.Context())
	must.Refuse(t, err, "turbo", "error", "want one about turbo")
	must.Do(t, m.Restore(context.Background(), applied))
}

func TestTemperaturesAroundARun(t *testing.T) {
	root, _ := kernel(t)
	cfg := labConfig(t, "")
	m := labMachine(t, root, cfg, doctor.Of(cfg, config.RebootHardware).Probe)
	m.Origin = "/x/fingerprint.json"
	base, err := m.Base(t.Context())
	must.Need(t, err == nil && len(base) == 1 && base[0].MilliC == 40000, "base", base, err,
		"want one sensor of 40 C")
	must.Get(m.Gate(t.Context(), base))(t, "gate at the base")
	after := must.Get(m.Watch(t.Context(), Applied{}, []string{"of the gate"}))(t)
	seen := after(t.Context())
	must.Be(t, slices.Contains(seen.Remarks, "of the gate"), "remarks", seen.Remarks)
	before := seen.Machine.Temperatures.Before
	must.Be(t, len(before) == 1 && before[0].MilliC == 40000, "before", before)
}

func TestAChangedMachine(t *testing.T) {
	m := &LabMachine{FS: crashfs.New("/x"), Origin: "/x/fingerprint.json",
		Probes: probe.Request{Fingerprint: setting.Warn}}
	before := probe.Fingerprint{"kernel.release": "6.1.0-1", "cpu.model": "X"}
	for range 2 { // the first one is remembered, the second one is the same
		remarks, err := m.compare(before)
		must.Need(t, err == nil && len(remarks) == 0, remarks, err)
	}
	after := probe.Fingerprint{"kernel.release": "6.1.0-2", "cpu.model": "X"}
	remarks, err := m.compare(after)
	must.Be(t, err == nil && len(remarks) == 1 && strings.Contains(remarks[0], "6.1.0-1") &&
		strings.Contains(remarks[0], "6.1.0-2"), "remarks", remarks, err, "want both kernels in one")
	m.Probes.Fingerprint = setting.Require
	must.Refused(m.compare(after))(t, "kernel.release", "error", "want one that names the kernel")
	must.Get(m.compare(before))(t, "the machine is back")
	// a setting that nobody asked krund to control: both values, and never an error
	with := func(thp string) probe.Fingerprint {
		now := maps.Clone(before)
		now["state.thp.enabled"] = thp
		return now
	}
	must.Do(t, m.remember(with("madvise")))
	remarks, err = m.compare(with("always"))
	must.Be(t, err == nil && len(remarks) == 1 && strings.Contains(remarks[0], "madvise") &&
		strings.Contains(remarks[0], "always"), remarks, err)
	must.Do(t, m.remember(before)) // by an older krund
	remarks, err = m.compare(with("always"))
	must.Be(t, err == nil && len(remarks) == 0, remarks, err)
}

// TestChangedRunner: another version of krund's own parts is another machine; what is measured is
// checked before a slot begins.
func TestChangedRunner(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	p := &identity.Programs{Files: map[string][]string{"vm.C": {write("vm", "one")},
		"libkrun":           {write("libkrun.so", "three")},
		"benchmark.nbody.v": {write("bench.so", "two")}}}
	m := &LabMachine{FS: crashfs.New("/x"), Origin: "/x/fingerprint.json",
		Probes: probe.Request{Fingerprint: setting.Require}, Programs: p}
	must.Get(m.compare(m.more(t.Context())))(t)
	write("bench.so", "other")
	must.Get(m.compare(m.more(t.Context())))(t, "a benchmark has changed")
	write("libkrun.so", "other")
	_, err := m.compare(m.more(t.Context()))
	must.Be(t, err != nil && strings.Contains(err.Error(), "program.libkrun: ") &&
		!strings.Contains(err.Error(), "bench"), err, "want one that names libkrun")
}

func TestLostKernelMessages(t *testing.T) {
	bad := []probe.KernelLine{{Text: "bad"}}
	for _, test := range []struct {
		name             string
		policy           setting.Policy
		report           probe.KernelReport
		unread           error
		refused, remarks int
	}{
		{"nothing", setting.Require, probe.KernelReport{}, nil, 0, 0},
		{"a line is in the record", setting.Warn, probe.KernelReport{Unexpected: bad}, nil, 0, 0},
		{"a line that must not be", setting.Require, probe.KernelReport{Unexpected: bad}, nil, 1, 0},
		{"lost", setting.Warn, probe.KernelReport{Lost: 7}, nil, 0, 1},
		{"lost, number unknown", setting.Warn, probe.KernelReport{LostSome: true}, nil, 0, 1},
		{"lost, and must not be", setting.Require, probe.KernelReport{Unexpected: bad, Lost: 7}, nil, 2, 0},
		{"not read to its end", setting.Warn, probe.KernelReport{}, syscall.EIO, 0, 1},
		{"not read to its end, and must be", setting.Require, probe.KernelReport{}, syscall.EIO, 1, 0},
	} {
		m := &LabMachine{Probes: probe.Request{KernelLog: test.policy}}
		var seen Observation
		if m.judgeLog(test.report, test.unread, &seen); len(seen.Refused) != test.refused ||
			len(seen.Remarks) != test.remarks {
			t.Errorf("%s: refused %q, remarks %q; want %d and %d", test.name, seen.Refused, seen.Remarks,
				test.refused, test.remarks)
		}
	}
}

// logOf is a kernel's log of a number of messages.
type logOf int

func (n logOf) Drain(context.Context) (lines []probe.KernelLine, lost uint64, lostSome bool, err error) {
	for i := range int(n) {
		lines = append(lines, probe.KernelLine{Seq: uint64(i), Text: fmt.Sprintf("task %d", i)})
	}
	return lines, 0, false, nil
}

func (logOf) Close() error { return nil }

// noWait is a clock that does not wait.
type noWait struct{ sysroot.RealClock }

func (noWait) Sleep(context.Context, time.Duration) error { return nil }

// TestManyKernelMessages: a benchmark can make the kernel log a lot, such as the list of its
// processes when memory runs out. Records and mails contain only a part.
func TestManyKernelMessages(t *testing.T) {
	for n, want := range map[logOf]struct{ lines, remarks int }{100: {200, 0}, 101: {200, 1},
		5000: {200, 1}} {
		m := &LabMachine{Probes: probe.Request{KernelLog: setting.Warn}, Clock: noWait{}}
		var seen Observation
		m.drainLog(t.Context(), n, &seen) // which looks twice
		lines := seen.Machine.KernelLog.Lines
		must.Be(t, len(lines) == want.lines && len(seen.Remarks) == want.remarks && lines[0] == "task 0", 2*n,
			"messages", len(lines), "are in the record, remarks", seen.Remarks)
		want := fmt.Sprintf("%d more kernel messages are not in the record", 2*n-200)
		must.Be(t, n <= 100 || slices.Contains(seen.Remarks, want), "remarks", seen.Remarks, "want", want)
	}
}

// TestVirtualMachine: the record names the hypervisor, and if real hardware is required, nothing is
// changed on a virtual machine.
func TestVirtualMachine(t *testing.T) {
	root, read := kernel(t)
	must.Write(t, root.Path("/proc/cpuinfo"), "processor : 0\nflags : fpu hypervisor\n")
	cfg := labConfig(t, "[controls]\naslr = \"require\"\n")
	m := labMachine(t, root, cfg, doctor.Of(cfg, config.RebootNone).Probe)
	applied := must.Get(m.Apply(t.Context()))(t)
	i := slices.IndexFunc(applied.Controls,
		func(c results.Control) bool { return c.Name == "virtualisation" })
	must.Be(t, i >= 0 && applied.Controls[i].Found != "none" && applied.Controls[i].Detail != "",
		"the record", applied.Controls)
	must.Do(t, m.Restore(t.Context(), applied))
	m.Probes.Virtualisation = setting.Require
	if _, err := m.Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "virtualisation") ||
		read("proc/sys/kernel/randomize_va_space") != "0" {
		t.Errorf("error %v with randomize_va_space %s", err, read("proc/sys/kernel/randomize_va_space"))
	}
}

// TestGateWithoutABase: required temperatures are not satisfied by a missing base.
func TestGateWithoutABase(t *testing.T) {
	for policy, fails := range map[setting.Policy]bool{setting.Require: true, setting.Apply: false,
		setting.Warn: false, setting.Off: false} {
		m := &LabMachine{Probes: probe.Request{Temperature: policy}}
		_, err := m.Gate(t.Context(), nil)
		must.Equal(t, (err != nil), fails, policy, err)
	}
}

// TestPowerLimitMoved: a limit that moves during a run is a remark by default.
func TestPowerLimitMoved(t *testing.T) {
	for policy, want := range map[setting.Policy][3]int{ // refused, disturbed, remarks
		setting.Require: {1, 0, 0}, setting.Apply: {0, 1, 0}, setting.Warn: {0, 0, 1}, setting.Off: {0, 0, 0},
	} {
		root, _ := kernel(t)
		file := root.Path("/sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw")
		must.Write(t, file, "65000000\n")
		m := watched(t, root, setting.Off, policy)
		after := must.Get(m.Watch(t.Context(), Applied{}, nil))(t)
		must.Write(t, file, "45000000\n")
		seen := after(t.Context())
		got := [3]int{len(seen.Refused), len(seen.Disturbed), len(seen.Remarks)}
		must.Be(t, got == want && len(seen.Machine.PowerLimits) == min(1, want[0]+want[1]+want[2]), policy,
			seen)
	}
}

// TestThrottled: a run during which the processor was throttled is repeated, unless the policy is
// only to report it. One with a corrected memory error is repeated only under require.
func TestThrottled(t *testing.T) {
	const throttled = "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count"
	const corrected = "/sys/devices/system/edac/mc/mc0/ce_count"
	for _, tt := range []struct {
		counter string
		policy  setting.Policy
		want    [2]int // refused, disturbed
	}{
		{throttled, setting.Require, [2]int{1, 0}}, {throttled, setting.Apply, [2]int{1, 0}},
		{throttled, setting.Warn, [2]int{0, 1}}, {throttled, setting.Off, [2]int{0, 0}},
		{corrected, setting.Require, [2]int{1, 0}}, {corrected, setting.Apply, [2]int{0, 1}},
		{corrected, setting.Warn, [2]int{0, 1}},
	} {
		policy, want := tt.policy, tt.want
		root, _ := kernel(t)
		if tt.counter == corrected { // require wants the counters of the processor, too
			must.Write(t, root.Path(throttled), "0\n")
		}
		file := root.Path(tt.counter)
		must.Write(t, file, "3\n")
		m := watched(t, root, policy, "")
		after := must.Get(m.Watch(t.Context(), Applied{}, nil))(t)
		must.Write(t, file, "5\n")
		seen := after(t.Context())
		must.Be(t, len(seen.Refused) == want[0] && len(seen.Disturbed) == want[1], policy, "refused",
			seen.Refused, "disturbed", seen.Disturbed)
	}
}

// TestThrottleUnknown: counters that a machine lacks, or that cannot be read after the run as
// before it, are not the same as counters that stand still.
func TestThrottleUnknown(t *testing.T) {
	const counter = "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count"
	for policy, want := range map[setting.Policy][3]int{ // error before the run; refused, remarks after it
		setting.Require: {1, 1, 0}, setting.Apply: {0, 0, 1}, setting.Warn: {0, 0, 1}, setting.Off: {0, 0, 0},
	} {
		root, _ := kernel(t)
		_, err := watched(t, root, policy, "").Watch(t.Context(), Applied{}, nil)
		must.Equal(t, (err != nil), (want[0] == 1), policy, "without counters", err)
		file := root.Path(counter)
		must.Write(t, file, "3\n")
		after := must.Get(watched(t, root, policy, "").Watch(t.Context(), Applied{}, nil))(t)
		must.Write(t, file, "rubbish\n")
		if seen := after(t.Context()); len(seen.Refused) != want[1] || len(seen.Remarks) != want[2] {
			t.Errorf("%s: refused %q, remarks %q", policy, seen.Refused, seen.Remarks)
		}
	}
}

// TestFrequenciesOfCores: what LabMachine knows about each core once the controls are set, on a
// processor with two kinds of cores.
func TestFrequenciesOfCores(t *testing.T) {
	root := sysroot.New(machines.New(t, "intel-hybrid"))
	m := &LabMachine{Control: control.NewMachine(t.Context(), root), Log: slog.New(slog.DiscardHandler)}
	list := m.frequencies()
	must.Be(t, len(list) == 4 && *list[0].HeldKHz == 1700000 && *list[3].HeldKHz == 1200000 &&
		*list[3].Core == 3 && list[0].MPERFHz == nil, list)
	m.Control = control.NewMachine(t.Context(), sysroot.New(machines.New(t, "kvm-guest")))
	list = m.frequencies()
	must.Be(t, list == nil, "without a driver and without counters", list)
}

// TestSuspended: readings whose intervals overlap prove nothing, however far apart in time.
func TestSuspended(t *testing.T) {
	us := time.Microsecond
	for name, test := range map[string]struct {
		before, after ClockOffset
		want          time.Duration
	}{
		"never":               {ClockOffset{-1 * us, 2 * us}, ClockOffset{-3 * us, 1 * us}, 0},
		"earlier":             {ClockOffset{time.Hour, time.Hour}, ClockOffset{time.Hour, time.Hour + us}, 0},
		"a preempted reading": {ClockOffset{0, us}, ClockOffset{-time.Second, time.Second}, 0},
		"for 20 seconds": {ClockOffset{0, us}, ClockOffset{20 * time.Second, 20 * time.Second},
			20*time.Second - us},
		"a clock that turns back": {ClockOffset{time.Hour, time.Hour}, ClockOffset{0, us}, 0},
	} {
		must.Equal(t, suspended(test.before, test.after), test.want, name)
	}
}

// TestASuspensionIsRepeated: the run is refused, whatever verdict.policy says, and the record has
// the time.
func TestASuspensionIsRepeated(t *testing.T) {
	root, _ := kernel(t)
	for slept, refused := range map[time.Duration]int{0: 0, 20 * time.Second: 1} {
		offset := ClockOffset{time.Hour, time.Hour}
		m := &LabMachine{
			Control: control.NewMachine(t.Context(), root), Log: slog.New(slog.DiscardHandler),
			Clock: sysroot.RealClock{},
			Probes: probe.Request{Temperature: setting.Off, KernelLog: setting.Off, Fingerprint: setting.Off,
				Throttle: setting.Off},
			Offset: func() (ClockOffset, error) { return offset, nil },
		}
		after := must.Get(m.Watch(t.Context(), Applied{}, nil))(t)
		offset = ClockOffset{time.Hour + slept, time.Hour + slept}
		seen := after(t.Context())
		if len(seen.Refused) != refused || *seen.Machine.SuspendedNS != slept.Nanoseconds() ||
			refused > 0 && !strings.Contains(seen.Refused[0], "suspended for 20s") {
			t.Errorf("%s: refused %q, %d ns", slept, seen.Refused, *seen.Machine.SuspendedNS)
		}
	}
}

// killed is a machine that a killed krund has left changed. Its journal has a copy.
func killed(t *testing.T) (m *LabMachine, setting func() string) {
	t.Helper()
	m, _, read, _ := guarded(t, `aslr = "require"`)
	m.Spare = "/x/copy"
	must.Get(m.Apply(t.Context()))(t)
	setting = func() string { return read("proc/sys/kernel/randomize_va_space") }
	must.Need(t, setting() != "0", "nothing was changed")
	return m, setting
}

func hasCopy(m *LabMachine) bool {
	_, err := m.FS.Lstat(m.Spare)
	return err == nil
}

// TestRestoreLeftoverFromADamagedJournal: the copy has the entries that the journal has lost.
func TestRestoreLeftoverFromADamagedJournal(t *testing.T) {
	m, setting := killed(t)
	text := must.Get(durable.ReadFile(m.FS, m.Journal))(t)
	damaged := strings.Replace(string(text), `"aslr"`, `"aslX"`, 1)
	must.Need(t, damaged != string(text), "no change", text)
	must.Do(t, durable.WriteFile(m.FS, m.Journal, []byte(damaged), 0o644))
	_ = m.RestoreLeftover(t.Context())
	must.Be(t, setting() == "0" && !hasCopy(m), "randomize_va_space", setting(), "a copy", hasCopy(m))
}

// TestRestoreLeftoverFromALostJournal: the same if the experiment's directory was removed and
// created again.
func TestRestoreLeftoverFromALostJournal(t *testing.T) {
	m, setting := killed(t)
	must.Do(t, m.FS.Remove(m.Journal))
	if err := m.RestoreLeftover(t.Context()); err != nil || setting() != "0" || hasCopy(m) {
		t.Errorf("%v; randomize_va_space %s, a copy %t", err, setting(), hasCopy(m))
	}
}

// TestRestoreLeftoverForgetsAnOldCopy: the machine was restored by a version without copies of the
// journal. What its owner sets afterwards stays, even if the journal is lost later.
func TestRestoreLeftoverForgetsAnOldCopy(t *testing.T) {
	m, setting := killed(t)
	text := must.Get(durable.ReadFile(m.FS, m.Spare))(t)
	must.Do(t, errors.Join(m.RestoreLeftover(t.Context()), durable.WriteFile(m.FS, m.Spare, text, 0o600)))
	must.Do(t, m.Control.Root.Write("/proc/sys/kernel/randomize_va_space", "1"))
	err := m.RestoreLeftover(t.Context())
	must.Be(t, err == nil && !hasCopy(m), err, "a copy", hasCopy(m))
	err = errors.Join(m.FS.Remove(m.Journal), m.RestoreLeftover(t.Context()))
	must.Be(t, err == nil && setting() == "1", err, "randomize_va_space", setting())
}
