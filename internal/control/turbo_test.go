package control

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/rig/must"
)

func TestTurboOfEachMachine(t *testing.T) {
	tests := []struct {
		machine string
		status  setting.Status
		found   string
		detail  string
		writes  string // a target among the steps
	}{
		{"intel-acpi-cpufreq", setting.StatusWillSet, "on", "", boostFile},
		{"intel-pstate-active", setting.StatusWillSet, "on", "", noTurboFile},
		{"intel-cpufreq-passive", setting.StatusWillSet, "on", "", noTurboFile},
		{"amd-pstate-epp", setting.StatusWillSet, "on", "nominal",
			host.CPUFreqDir + "/policy3/scaling_max_freq"},
		{"amd-acpi-cpufreq", setting.StatusWillSet, "on", "", boostFile},
		{"intel-hybrid", setting.StatusWillSet, "on", "", noTurboFile},
		{"kvm-guest", setting.StatusCannot, "unknown", "host", ""},
		{"arm64", setting.StatusOK, "off", "", ""},
		{"intel-ctdp", setting.StatusWillSet, "on", "", noTurboFile},
		{"intel-server", setting.StatusWillSet, "on", "", noTurboFile},
		{"amd-pstate-passive", setting.StatusWillSet, "on", "", boostFile},
		{"amd-pstate-epp-6.12", setting.StatusWillSet, "on", "", host.CPUFreqDir + "/policy3/boost"},
		{"amd-pstate-guided-6.12", setting.StatusWillSet, "on", "", host.CPUFreqDir + "/policy3/boost"},
	}
	for _, tt := range tests {
		m, _ := fakeMachine(t, tt.machine)
		p := planTurbo(m, false)
		must.Be(t, p.Status == tt.status && p.Found == tt.found && strings.Contains(p.Detail, tt.detail),
			tt.machine, p.Status, "found", p.Found, p.Detail, tt.status, tt.found, tt.detail)
		if targets := targetsOf(p.Steps); tt.writes != "" && !strings.Contains(targets, tt.writes) {
			t.Errorf("%s: writes %s, want %s among them", tt.machine, targets, tt.writes)
		}
	}
}

// TestMinPercentRestored: no_turbo = 1 lowers min_perf_pct for good (Linux 6.12,
// drivers/cpufreq/intel_pstate.c:1549-1556), so it is restored after turbo.
func TestMinPercentRestored(t *testing.T) {
	m, k := fakeMachine(t, "intel-pstate-active")
	k.put(minPercentFile, "100")
	before := state(t, m, k)
	f, restore, err := required(turbo).Apply(t.Context(), m, openJournal(t, m))
	must.Need(t, err == nil && f.Status == setting.StatusSet && k.get(minPercentFile) == "72", f, err,
		"min_perf_pct", k.get(minPercentFile))
	must.Do(t, restore(t.Context()))
	sameTree(t, state(t, m, k), before)
}

func targetsOf(steps []Step) string {
	var targets []string
	for _, s := range steps {
		targets = append(targets, s.Target)
	}
	return strings.Join(targets, " ")
}

// TestTurboByRegister gives a machine without a switch model-specific registers in files.
func TestTurboByRegister(t *testing.T) {
	tests := []struct {
		machine  string
		register int64
		old, new uint64
	}{
		{"intel-pstate-active", 0x1a0, 0x850089, 0x4000850089},
		{"amd-pstate-epp", 0xc0010015, 0x9000011, 0xb000011},
	}
	for _, tt := range tests {
		m, k := fakeMachine(t, tt.machine)
		for _, name := range []string{noTurboFile, boostFile} {
			must.Do(t, os.RemoveAll(filepath.Join(k.dir, name)))
		}
		for _, dir := range k.policies() { // nothing that says what is nominal
			must.Do(t, os.RemoveAll(filepath.Join(k.dir, dir)))
		}
		registers(t, k.dir, tt.register, tt.old)
		p := planTurbo(m, false)
		must.Be(t, p.Status == setting.StatusCannot && strings.Contains(p.Fix, "msr = true"), tt.machine,
			"not allowed, yet", p.Status, "with fix", p.Fix)
		c := required(turbo, "msr", true)
		f, restore, err := c.Apply(t.Context(), m, openJournal(t, m))
		must.Need(t, err == nil && f.Status == setting.StatusSet, tt.machine, f, err)
		must.Equal(t, register(t, k.dir, 3, tt.register), tt.new, tt.machine, "register")
		// The kernel changes another bit in the meantime, which krund must not restore.
		registers(t, k.dir, tt.register, tt.new|1<<16)
		must.Do(t, restore(t.Context()))
		must.Equal(t, register(t, k.dir, 3, tt.register), tt.old|1<<16, tt.machine, "register", "afterwards")
	}
}

// registers writes a register of all four CPUs.
func registers(t *testing.T, dir string, at int64, value uint64) {
	t.Helper()
	for _, cpu := range []string{"0", "1", "2", "3"} {
		path := filepath.Join(dir, "dev/cpu", cpu, "msr")
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		f := must.Get(os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600))(t)
		must.Get(f.WriteAt(binary.LittleEndian.AppendUint64(nil, value), at))(t)
		must.Do(t, f.Close())
	}
}

func register(t *testing.T, dir string, cpu int, at int64) uint64 {
	t.Helper()
	f := must.Get(os.Open(filepath.Join(dir, "dev/cpu", string(rune('0'+cpu)), "msr")))(t)
	defer func() { _ = f.Close() }()
	var data [8]byte
	must.Get(f.ReadAt(data[:], at))(t)
	return binary.LittleEndian.Uint64(data[:])
}

// TestRegisterOutlivesKexec: registers are the one thing that a new boot may have inherited.
func TestRegisterOutlivesKexec(t *testing.T) {
	m, k := fakeMachine(t, "intel-pstate-active")
	registers(t, k.dir, intelMiscEnable, intelTurboOffBit)
	e := Entry{Boot: "an earlier boot", Step: Step{Kind: KindMSR, Target: "/dev/cpu/0/msr@0x1a0",
		Old: "0x0", New: hex(intelTurboOffBit)}}
	must.Be(t, !m.stale(e), "the bit still stands, but the entry counts as void")
	registers(t, k.dir, intelMiscEnable, 0)
	must.Be(t, m.stale(e), "the bit is cleared, but the entry does not count as void")
}

func FuzzSplitMSR(f *testing.F) {
	f.Add("/dev/cpu/0/msr@0x1a0")
	f.Add("@")
	f.Fuzz(func(t *testing.T, target string) {
		_, at, err := splitMSR(target)
		must.Be(t, err != nil || at >= 0, target, "register", at)
	})
}
