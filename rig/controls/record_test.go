package controls

import (
	"slices"
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig"
	"krund/rig/must"
)

const throttled = "/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count"

// TestWhatTheRecordSays uses one start: a processor that is throttled during a run, a virtual
// machine, and a benchmark that changes during the experiment.
func TestWhatTheRecordSays(t *testing.T) {
	rig.Long(t, "not in the short selection")
	var files rig.Payload
	files.Held()
	m := rig.KrundUp(t, rig.Options{Payload: &files})
	m.Sh("echo 7 >/run/rig-count && mount --bind /run/rig-count " + throttled)
	t.Run("a throttled run is run again", func(t *testing.T) { throttledOnce(t, m.For(t)) })
	t.Run("one that is throttled each time is an error after its attempts",
		func(t *testing.T) { throttledAlways(t, m.For(t)) })
	t.Run("the machine is a virtual one", func(t *testing.T) { virtual(t, m.For(t)) })
	t.Run("a benchmark that changes in the middle", func(t *testing.T) { changed(t, m.For(t)) })
}

// heat increments the throttle counter while the benchmark is held.
func heat(m *rig.Machine) {
	m.WaitHeld()
	m.Sh("echo $(($(cat /run/rig-count) + 3)) >/run/rig-count")
}

func throttledOnce(t *testing.T, m *rig.Machine) {
	m.Hold()
	krund := begin(m, "once", experiment("executions = 1")+"[controls]\nthrottle = \"require\"\n")
	heat(m)
	m.NextHeld() // the second attempt
	m.LetGo()
	ended(t, m, krund)
	e := m.ExperimentNow(directory("once"))
	must.Need(t, len(e.Records) == 2 && e.Records[0].Outcome == results.Rerun &&
		e.Records[1].Outcome == results.Completed && e.Slots[0].Attempts == 2, "records", e.Records, "slots",
		e.Slots, "want one that is run again, and one that counts")
	r := e.Records[0]
	if !slices.ContainsFunc(r.Reasons, func(s string) bool {
		return strings.Contains(s, "cpu1/core_throttle_count: 7 -> 10")
	}) {
		t.Errorf("reasons %q, want one with the counter", r.Reasons)
	}
	for _, c := range []struct {
		list []results.Count
		want uint64
	}{{r.Machine.Throttle.Before, 7}, {r.Machine.Throttle.After, 10}, {e.Records[1].Machine.Throttle.Before,
		10}} {
		must.Be(t, slices.Contains(c.list, results.Count{Name: "cpu1/core_throttle_count", Count: c.want}),
			"counters", c.list, c.want)
	}
}

func throttledAlways(t *testing.T, m *rig.Machine) {
	m.Hold()
	krund := begin(m, "always", experiment("executions = 1\nattempts = 2")+"[controls]\nthrottle = "+
		"\"require\"\n")
	heat(m)
	m.NextHeld()
	heat(m)
	m.LetGo()
	krund.Wait()
	e := m.ExperimentNow(directory("always"))
	must.Be(t, len(e.Records) == 2 && e.Records[1].Outcome == results.Error && e.Count(schedule.Error) == 1,
		"records", e.Records, "slots", e.Slots, "want two, the second one an error")
}

func virtual(t *testing.T, m *rig.Machine) {
	e := m.ExperimentNow(directory("once"))
	i := slices.IndexFunc(e.Records[0].Machine.Controls,
		func(c results.Control) bool { return c.Name == "virtualisation" })
	must.Need(t, i >= 0, "the record has no virtualisation", e.Records[0].Machine.Controls)
	c := e.Records[0].Machine.Controls[i]
	must.Be(t, c.Found == "qemu" && strings.Contains(c.Detail, "systemd-detect-virt"), c,
		"want qemu, and how it was found")
	out, status := begin(m, "virtual", experiment(
		"executions = 1")+"[controls]\nvirtualisation = \"require\"\n").Wait()
	must.Be(t, status == 1 && strings.Contains(out, "virtualisation") &&
		len(m.ExperimentNow(directory("virtual")).Records) <= 0,
		"where it must not be virtual krund ended with status", status, out)
}

func changed(t *testing.T, m *rig.Machine) {
	for _, policy := range []string{"require", "warn"} {
		name := "changed-" + policy
		m.Hold()
		krund := begin(m, name, experiment("executions = 2")+"[controls]\nfingerprint = \""+policy+"\"\n")
		m.WaitHeld()
		m.Sh("echo '# " + policy + "' >>" + rig.ExperimentHome + "/benchmarks/" + rig.HeldBenchmark +
			"/python/bench.py")
		m.LetGo()
		out, status := krund.Wait()
		e := m.ExperimentNow(directory(name))
		const part = "program.benchmark.held.default-python: \""
		switch {
		case policy == "require" && (status != 1 || !strings.Contains(out, part) || !strings.Contains(out,
			"\" -> \"") || len(e.Records) != 1):
			t.Errorf("where it must not change krund ended with status %d after %d records:\n%s", status,
				len(e.Records), out)
		case policy == "warn" && (status != 0 || len(e.Records) != 2 ||
			!slices.ContainsFunc(e.Records[1].Reasons, func(r string) bool {
				return strings.Contains(r, part)
			})):
			t.Errorf("krund ended with status %d after %d records:\n%s", status, len(e.Records), out)
		}
	}
}
