package controls

import (
	"encoding/json"
	"strings"
	"testing"

	"krund/rig"
	"krund/rig/must"
)

// finding is a row of krunctl check --format json.
type finding struct {
	Name, Status, Found, Wanted, Detail, Fix string
}

type report struct {
	Fit         bool
	Findings    []finding
	ProofBefore []finding `json:"proof_before"`
	Proof       []finding
}

// row returns the finding with that name.
func (r report) row(name string) finding {
	for _, f := range r.Findings {
		if f.Name == name {
			return f
		}
	}
	return finding{}
}

func doctor(t *testing.T, m *rig.Machine, args string) report {
	t.Helper()
	out, _ := m.Try("krunctl check --format json " + args)
	var r report
	must.Do(t, json.Unmarshal([]byte(out[max(strings.IndexByte(out, '{'), 0):]), &r), "in", out)
	return r
}

// TestDoctor uses two starts, the first one without a tickless CPU.
func TestDoctor(t *testing.T) {
	rig.Long(t, "not in the short selection")
	var files rig.Payload
	files.Held()
	m := rig.KrundUp(t, rig.Options{Payload: &files, MemoryMB: 1536})
	t.Run("without nohz_full krund stops and names the missing argument",
		func(t *testing.T) { ticking(t, m.For(t)) })
	m.Shutdown()
	m.SetKernelArguments(rig.Tickless)
	m.PowerOn()
	m.WaitUp()
	m.WaitRunning()
	m.Sh("echo 1 >/proc/sys/kernel/randomize_va_space; echo 5 >/proc/sys/vm/overcommit_ratio; echo 4242 " +
		">/proc/sys/kernel/perf_event_max_sample_rate")
	before := m.Snapshot()
	t.Run("the table agrees with the files", func(t *testing.T) { truthful(t, m.For(t)) })
	t.Run("looking has changed nothing", func(t *testing.T) { same(t, m.For(t), before) })
	t.Run("--prove sets, measures and restores", func(t *testing.T) {
		proved(t, m.For(t))
		same(t, m.For(t), before)
	})
}

func ticking(t *testing.T, m *rig.Machine) {
	before := m.Snapshot()
	out, status := begin(m, "ticking", experiment(
		"executions = 1")+"[controls]\ntickless = \"require\"\nfrequency = \"require\"\n").Wait()
	for _, part := range []string{"nohz_full=1", "GRUB_CMDLINE_LINUX", "update-grub"} {
		must.Be(t, status == 1 && strings.Contains(out, part), "krund ended with status", status,
			"want 1 and", part, out)
	}
	same(t, m, before)
	e := m.ExperimentNow(directory("ticking"))
	must.Be(t, len(e.Records) == 0 && e.Slots[0].Attempts <= 0, len(e.Records), "records", e.Slots)
	row := doctor(t, m, "").row("tickless")
	must.Be(t, row.Status == "needs_reboot" && strings.Contains(row.Fix, "nohz_full=1"), "doctor", row)
}

func truthful(t *testing.T, m *rig.Machine) {
	r := doctor(t, m, "")
	policy := m.Sh("cat /sys/devices/system/cpu/cpufreq/policy0/scaling_governor")
	for _, c := range []struct{ name, status, found string }{
		{"frequency", "will_set", "acpi-cpufreq " + policy},
		{"tickless", "ok", "CPU " + m.Sh("cat /sys/devices/system/cpu/nohz_full")},
		{"isolcpus", "ok", "none"},
		{"perf_rate", "will_set", m.Sh("cat /proc/sys/kernel/perf_event_max_sample_rate") + " Hz"},
		{"aslr", "will_set", m.Sh("cat /proc/sys/kernel/randomize_va_space")},
		{"smt", "ok", m.Sh("cat /sys/devices/system/cpu/smt/control")},
		{"nmi_watchdog", "ok", m.Sh("cat /proc/sys/kernel/nmi_watchdog")},
		// 5 % of the memory is less than the committed memory
		{"overcommit", "cannot", m.Sh("cat /proc/sys/vm/overcommit_memory")},
		{"virtualisation", "cannot", "qemu"},
	} {
		row := r.row(c.name)
		must.Be(t, row.Status == c.status && strings.HasPrefix(row.Found, c.found), c.name, row.Status,
			row.Found, c.status, c.found)
	}
	must.Be(t, !r.Fit, "it calls this machine fit")
	got := r.row("temperature")
	must.Contain(t, got.Found+got.Detail, "40.0", "temperature", got, "want 40.0")
}

func proved(t *testing.T, m *rig.Machine) {
	m.Put(toml("prove"), 0o644, []byte(experiment("executions = 1")+"[controls]\naslr = "+
		"\"require\"\nperf_rate = \"require\"\nfrequency = \"require\"\ntickless = \"require\"\n"))
	r := doctor(t, m, "--prove --time 1s "+toml("prove"))
	for _, name := range []string{"aslr", "perf_rate", "frequency"} {
		row := r.row(name)
		must.Equal(t, row.Status, "set", name, row, "want set")
	}
	must.Be(t, len(r.Proof) != 0 && len(r.ProofBefore) == len(r.Proof), "measured before", r.ProofBefore,
		"and with the settings", r.Proof)
}
