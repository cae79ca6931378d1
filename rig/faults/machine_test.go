// Package faults makes the machine itself fail during an experiment: the kernel panics, hangs or
// runs out of memory, repeatedly.
package faults

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig"
	"krund/rig/must"
)

// trigger runs as root and does what an unprivileged benchmark requests.
const trigger = `#!/bin/bash
mkdir -p /run/rig
mkfifo -m 622 /run/rig/trigger
while read -r what </run/rig/trigger; do
  echo "RIG-FAULT $what" >/dev/ttyS0
  case $what in
  panic) echo c >/proc/sysrq-trigger ;;
  hang) # nothing else gets a processor, including systemd, which then does not ping the watchdog
    echo -1 >/proc/sys/kernel/sched_rt_runtime_us
    for cpu in 0 1; do taskset -c $cpu chrt -f 99 bash -c 'while :; do :; done' & done ;;
  esac
done
`

// The harmful benchmarks; each language must have its file.
var harmful = map[string]string{
	"panics": `import time
def run_iter(p):
    with open("/run/rig/trigger", "w") as f:
        f.write("panic\n")
    time.sleep(1000)
`,
	"hangs": `import time
def run_iter(p):
    with open("/run/rig/trigger", "w") as f:
        f.write("hang\n")
    time.sleep(1000)
`,
	"eats": `held = []
def run_iter(p):
    while True:
        held.append(bytearray(b"x") * (8 << 20))
`,
	"good": `def run_iter(p):
    sum(range(p))
`,
}

// watchdog makes systemd ping the machine's watchdog, which resets the machine if the pings stop.
func watchdog(files *rig.Payload) {
	files.Text("/etc/modules-load.d/watchdog.conf", "i6300esb\n")
	files.Text("/etc/systemd/system.conf.d/watchdog.conf", "[Manager]\nRuntimeWatchdogSec=30\n")
}

// machine has an experiment with the given benchmarks, one execution each, and another one that
// does not start automatically: a benchmark that exhausts memory, with a heap limit.
func machine(t *testing.T, name, top string, benchmarks ...string) *rig.Machine {
	t.Helper()
	var files rig.Payload
	for b := range harmful {
		files.Text(rig.ExperimentHome+"/benchmarks/"+b+"/python/bench.py", harmful[b])
	}
	files.Experiment(name, experiment(top, benchmarks...))
	files.Enable(name)
	files.Experiment("limited", strings.Replace(experiment("executions = 1", "eats"), `"none"`, `"64MiB"`, 1))
	files.Script("/usr/local/rig/trigger", trigger)
	files.Unit("rig-trigger.service", "[Service]\nExecStart=/usr/local/rig/trigger\n", "multi-user.target")
	watchdog(&files)
	return rig.Krund(t, rig.Options{
		Payload: &files, Kernel: rig.Tickless + " " + rig.PanicReboots, Devices: []string{"-device",
			"i6300esb", "-watchdog-action", "reset"},
	})
}

// experiment returns a configuration; top contains lines of [experiment].
func experiment(top string, benchmarks ...string) string {
	text := "[experiment]\n" + top + rig.Limits("10m", "none") + rig.WarnOnly + rig.Python(2)
	for _, b := range benchmarks {
		text += fmt.Sprintf("%s = { parameter = 1000 }\n", b)
	}
	return text
}

func directoryOf(name string) string { return rig.ExperimentHome + "/" + name + ".krun" }

// of returns the records of a benchmark, ordered by attempt.
func of(e *rig.Experiment, benchmark string) []results.Record {
	var list []results.Record
	for _, r := range e.Records {
		if r.Key.Benchmark == benchmark {
			list = append(list, r)
		}
	}
	return list
}

// TestExperimentGoesOnAfterPanicsHangsAndWantOfMemory: each benchmark that crashes the machine is
// retried as often as the configuration allows, and recorded; the others are measured.
func TestExperimentGoesOnAfterPanicsHangsAndWantOfMemory(t *testing.T) {
	rig.Long(t, "nine boots, and waits for a watchdog")
	const name = "harm"
	m := machine(t, name, "executions = 1\nattempts = 2\norder = \"round-robin\"", "eats", "good", "hangs",
		"panics")
	ended := m.RunToEnd(rig.UnitOf(name), 12)
	must.Need(t, ended.Result == "success", "krund ended with", ended)
	m.WaitUp()
	m.Sh("krund run --reboot none " + rig.ExperimentHome + "/limited.toml; test $? = 4 && sync")
	ordinary(t, m, name)
	t.Run("eats, with a limit for its heap", func(t *testing.T) {
		r := m.For(t).Experiment(directoryOf("limited")).Records
		must.Be(t, len(r) == 1 && r[0].Outcome == results.Error && r[0].Process.OOMKills == 0 &&
			r[0].Process.Signal == "" && strings.Contains(r[0].Process.Stderr.Text, "MemoryError"), "records",
			r, "want one of a Python that was refused memory")
	})
	e := m.Experiment(directoryOf(name))
	e.Check(t)
	must.Be(t, e.Finished() && e.Count(schedule.Completed) == 1 && e.Count(schedule.Error) == 3, "slots",
		e.Slots, "want one completed, three with errors")
	for _, benchmark := range []string{"panics", "hangs"} {
		t.Run(benchmark, func(t *testing.T) { lostTwice(t, of(e, benchmark)) })
	}
	t.Run("eats", func(t *testing.T) {
		records := of(e, "eats")
		n := len(records)
		must.Need(t, n >= 1 && n <= 2, n, "records, want 1 or 2: as many as attempts are allowed at most")
		last := records[len(records)-1]
		must.Equal(t, last.Attempt, len(records), "the last record is of attempt")
		must.Be(t, last.Outcome == results.Error && last.Process.OOMKills != 0 &&
			last.Process.Signal == "SIGKILL" && last.BootID != "", last.Outcome, last.Process.OOMKills,
			"OOM kills, signal", last.Process.Signal, "reasons", last.Reasons,
			"want an error and an OOM kill")
		if !slices.ContainsFunc(last.Machine.KernelLog.Lines,
			func(line string) bool { return strings.Contains(line, "Out of memory") }) {
			t.Errorf("the kernel log of the record does not contain it: %d lines",
				len(last.Machine.KernelLog.Lines))
		}
	})
	t.Run("good", func(t *testing.T) {
		r := of(e, "good")
		must.Be(t, len(r) == 1 && r[0].Outcome == results.Completed && len(r[0].WallNS) == 2, r)
	})
	faults := map[string]int{}
	for _, line := range m.Console() {
		if what, ok := strings.CutPrefix(line.Text, "RIG-FAULT "); ok {
			faults[what]++
		}
	}
	if reason, ok := rig.Panic(m.Console()); !ok || faults["panic"] != 2 || faults["hang"] != 2 {
		t.Errorf("faults %v, panic %q; want two of each", faults, reason)
	}
}

// lostTwice requires two attempts that the machine did not survive, the second one being the last.
func lostTwice(t *testing.T, records []results.Record) {
	t.Helper()
	must.Need(t, len(records) == 2, len(records), "records, want 2")
	for i, want := range []struct {
		outcome results.Outcome
		reason  string
	}{{results.Rerun, "stopped in the middle of attempt 1"}, {results.Error, "all 2 attempts are used up"}} {
		r := records[i]
		must.Be(t, r.Outcome == want.outcome &&
			strings.Contains(strings.Join(r.Reasons, "; "), want.reason) && r.Attempt == i+1 &&
			r.BootID != "", "attempt", r.Attempt, "in boot", r.BootID, r.Outcome, r.Reasons, want.outcome,
			"with", want.reason)
	}
	must.Be(t, records[0].BootID != records[1].BootID, "both attempts have the same boot id")
}

// ordinary requires an experiment that no longer runs: the unit is disabled, and another boot is an
// ordinary one that stays up. The machine is off afterwards.
func ordinary(t *testing.T, m *rig.Machine, name string) {
	t.Helper()
	state, _ := m.Try("systemctl is-enabled " + rig.UnitOf(name))
	must.Equal(t, state, "disabled", "the unit is", "want disabled")
	m.Reboot()
	m.WaitRunning()
	out := m.Sh("journalctl -b -o cat -u " + rig.UnitOf(name))
	must.Be(t, !strings.Contains(out, "krund"), "krund ran in an ordinary boot", out)
	m.Shutdown()
}

// TestBenchmarkThatAlwaysCrashesTheMachineDoesNotKeepItRebooting: after the allowed attempts the
// experiment ends, the errors are recorded, and the machine boots as if krund were not installed.
func TestBenchmarkThatAlwaysCrashesTheMachineDoesNotKeepItRebooting(t *testing.T) {
	rig.Long(t, "six boots")
	const name = "loop"
	m := machine(t, name, "executions = 2\nattempts = 2", "panics")
	ended := m.RunToEnd(rig.UnitOf(name), 6)
	must.Need(t, ended.Result == "success", "krund ended with", ended)
	m.WaitUp()
	ordinary(t, m, name)
	e := m.Experiment(directoryOf(name))
	e.Check(t)
	must.Be(t, e.Count(schedule.Error) == 2 && len(e.Records) == 4, e.Count(schedule.Error),
		"slots with errors", len(e.Records), "records; want 2 and 4")
	for slot := range 2 {
		lostTwice(t, e.Records[2*slot:2*slot+2])
	}
	must.Equal(t, m.Starts(), 7, "starts: one for the schedule, two attempts of two executions, one to find "+
		"out, and the ordinary one")
}

// TestRebootsAreBounded: an experiment that has used all its reboots stops, even if nothing else is
// wrong.
func TestRebootsAreBounded(t *testing.T) {
	rig.Long(t, "four boots")
	const name = "bounded"
	m := machine(t, name, "executions = 5\nmax_reboots = 2", "good")
	if ended := m.RunToEnd(rig.UnitOf(name), 2); ended.Result != "exit-code" || ended.Status != 1 {
		t.Fatalf("krund ended with %+v, want exit status 1", ended)
	}
	m.WaitUp()
	must.Contain(t, m.Log(name), "the limit of reboots is reached: 2 of 2 (experiment.max_reboots)",
		"the journal does not say why")
	ordinary(t, m, name)
	e := m.Experiment(directoryOf(name))
	e.Check(t)
	must.Be(t, e.Count(schedule.Completed) == 2 && len(e.Records) == 2 &&
		e.Count(schedule.Outstanding) == 3 && e.Header.Reboots == 2, e.Header.Reboots, "reboots, slots",
		e.Slots, "want two of each, and three slots outstanding")
	must.Equal(t, m.Starts(), 4, "starts, want 4: one for the schedule, two executions, and the ordinary one")
}
