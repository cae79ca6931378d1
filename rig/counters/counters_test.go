package counters

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/rig"
	"krund/rig/must"
)

// The experiments by name. TestCounters defines the order in which they run.
var experiments = []experiment{
	{name: "registers", executions: 2},
	{name: "slow", attempts: 3, policy: "rerun"},
	{name: "slow-accepted"},
	{name: "turbo", policy: "fail"},
	{name: "whole", counters: `scope = "execution"`},
	{name: "whole-slow", counters: `scope = "execution"`, policy: "fail"},
	{name: "task", counters: `scope = "task"`},
	{name: "closes", benchmark: "closes"},
	{name: "swaps", benchmark: "swaps"},
	{name: "slows", benchmark: "steps"},
	{name: "fails", benchmark: "steps"},
	{name: "back", benchmark: "steps"},
	{name: "wraps", benchmark: "steps"},
	{name: "stands", benchmark: "steps", policy: "fail"},
	{name: "unreadable"},
	{name: "insists", counters: `sources = ["msr"]`},
	{name: "zeros"},
	{name: "without"},
}

// machine returns a machine with all experiments, off; its registers either count or stand still.
func machine(t *testing.T, moving bool) *rig.Machine {
	t.Helper()
	var files rig.Payload
	names, err := files.Benchmarks("benchmarks-of-counters", suite, "benchmarks")
	must.Need(t, err == nil && len(names) != 0, names, err)
	for _, e := range experiments {
		files.Experiment(e.name, e.text())
	}
	return rig.Krund(t, rig.Options{Payload: &files, Kernel: rig.Tickless, MSR: moving})
}

// TestTask uses a separate machine: under emulation the probes of rigmsr, which make registers
// count, conflict with the kernel's per-task events. One processor then stays in the kernel's
// exception entry forever. This never happened without rigmsr.
func TestTask(t *testing.T) {
	rig.Long(t, "takes minutes")
	m := machine(t, false)
	m.PowerOn()
	m.WaitUp()
	m.WaitRunning()
	m.Sh("mountpoint -q /sys/kernel/tracing || mount -t tracefs none /sys/kernel/tracing")
	run(t, m, "task")
	out, status := m.Try("krunctl show --counters /srv/krund/task.krun")
	must.Be(t, status == 1 && strings.Contains(out, "no record has APERF and MPERF"),
		"krunctl show --counters: exit status", status, out)
	m.Shutdown()
	e := m.Experiment(rig.Directory("task"))
	e.Check(t)
	task(t, e)
}

func TestCounters(t *testing.T) {
	rig.Long(t, "takes minutes")
	m := machine(t, true)
	m.PowerOn()
	m.WaitUp()
	m.WaitRunning()
	// APERF follows the P-state
	m.Sh("for p in /sys/devices/system/cpu/cpufreq/policy*; do echo performance >$p/scaling_governor; done")
	doctors := make(map[string]string)
	t.Run("the control registers are restored", func(t *testing.T) { putBack(t, m.For(t)) })
	moving(t, m)
	t.Run("krunctl show --counters and startup read what the guest measured",
		func(t *testing.T) { tools(t, m.For(t)) })
	doctors["moving"], _ = m.Try("krunctl check")
	m.SetMSRFaults(rig.FaultUnreadable)
	run(t, m, "unreadable")
	if ended := m.RunExperiment("insists"); ended.Result == "success" {
		t.Errorf("without any of the counters that it insists on krund ended with %+v", ended)
	}
	doctors["unreadable"], _ = m.Try("krunctl check /srv/krund/insists.toml")
	m.SetMSRFaults(0)
	m.Sh("rmmod rigmsr")
	run(t, m, "zeros")
	m.Sh("mv $(modinfo -n msr) /root/ && depmod && rmmod msr")
	doctors["without"], _ = m.Try("krunctl check")
	run(t, m, "without")
	m.Shutdown()
	for name, check := range map[string]func(*testing.T, *rig.Experiment){
		"registers": registers, "slow": slow, "slow-accepted": slowAccepted, "turbo": turbo, "whole": whole,
		"whole-slow": wholeSlow,
		"closes":     closes, "swaps": swaps, "slows": slows, "fails": fails, "back": back, "wraps": wraps,
		"stands":     stands,
		"unreadable": unreadable, "insists": insists, "zeros": zeros, "without": without,
	} {
		t.Run(name, func(t *testing.T) {
			e := m.Experiment(rig.Directory(name))
			e.Check(t)
			check(t, e)
			if t.Failed() {
				for _, r := range e.Records {
					t.Log(describe(r))
				}
			}
		})
	}
	t.Run("doctor names the sources and why others are not", func(t *testing.T) { doctor(t, doctors) })
}

func run(t *testing.T, m *rig.Machine, name string) {
	t.Helper()
	ended := m.RunExperiment(name)
	must.Equal(t, ended.Result, "success", name, "krund ended with", ended, "its log", m.Log(name))
}

// putBack: fixed counter 1 counts while an experiment runs, and its control registers are restored
// afterwards.
func putBack(t *testing.T, m *rig.Machine) {
	setRegister(m, regFixedCtrl, 0x300) // fixed counter 2 is in use
	run(t, m, "registers")
	for core := range 2 {
		fixed, global := register(t, m, core, regFixedCtrl), register(t, m, core, regGlobal)
		must.Be(t, fixed == 0x300 && global == 0, "core", core, "control registers are", fixed, "and", global,
			"were 0x300 and 0")
	}
}

// moving runs all experiments on registers that count.
func moving(t *testing.T, m *rig.Machine) {
	m.SetClockRatio(50)
	for _, name := range []string{"slow", "slow-accepted", "whole-slow"} {
		run(t, m, name)
	}
	m.SetClockRatio(200)
	run(t, m, "turbo")
	m.SetClockRatio(0)
	for _, name := range []string{"whole", "closes", "swaps"} {
		run(t, m, name)
	}
	for name, do := range map[string]func(step int){
		"slows": func(step int) {
			if step == 3 { // during the third iteration
				m.SetClockRatio(20)
			}
		},
		"fails": func(step int) {
			if step == 3 {
				m.SetMSRFaults(rig.FaultUnreadable)
			}
		},
		"back": func(step int) {
			if step == 3 {
				setRegister(m, regAPERF, 0)
			}
		},
		"stands": func(step int) {
			if step == 1 {
				m.SetMSRFaults(rig.FaultStuck)
			}
		},
		"wraps": func(step int) {
			switch step {
			case 0:
				// the rig's register would not wrap; it takes more than twenty seconds to reach the
				// end
				setRegister(m, regCycles, 1<<48-1<<36)
			case 1: // a 48-bit counter wraps like this
				setRegister(m, regCycles, 1<<10)
			}
		},
	} {
		ended := steps(m, name, 4, do)
		must.Equal(t, ended.Result, "success", name, "krund ended with", ended, "its log", m.Log(name))
		m.SetClockRatio(0)
		m.SetMSRFaults(0)
	}
}

func registers(t *testing.T, e *rig.Experiment) {
	must.Need(t, len(e.Records) == 2, len(e.Records), "records")
	for _, r := range e.Records {
		must.Be(t, r.Outcome == results.Completed && len(rig.Reasons(r)) <= 0 && r.CounterSource == "msr" &&
			strings.Contains(r.CounterReason, "perf: not available: "), describe(r))
		for core := range 2 {
			for _, name := range []string{"aperf", "mperf", "cycles"} {
				for i, n := range counts(t, r, name, core) {
					must.Be(t, n >= 1e6 && n <= 1e11, name, "of core", core, "in iteration", i, n)
				}
			}
		}
		var view struct {
			UID               int
			Open              []string
			Again             []string
			Write, Port, Perf string
			Inherited         map[string][]uint64
			WriteInherited    string `json:"write_inherited"`
		}
		printed(t, r, &view)
		const denied = "Permission denied"
		must.Be(t, view.UID != 0 && slices.Equal(view.Open, []string{denied, denied}) &&
			view.Write == denied && view.Port == denied && slices.Equal(view.Again, []string{denied}), "user",
			view.UID, "opened what it must not", view)
		must.Be(t, view.Perf != "", "an unprivileged process counts on a whole CPU by itself")
		for core := range 2 {
			got := view.Inherited[fmt.Sprintf("/dev/cpu/%d/msr", core)]
			must.Be(t, len(got) == 2 && got[1] > got[0], "through the descriptor of core", core, got)
		}
		must.Equal(t, view.WriteInherited, "Bad file descriptor", "writing through a descriptor")
	}
}

func slow(t *testing.T, e *rig.Experiment) {
	want := []results.Outcome{results.Rerun, results.Rerun, results.Error}
	for i, r := range e.Records {
		must.Be(t, i < len(want) && r.Outcome == want[i] &&
			says(r.Reasons, "core 1", "throttled", "in 4 of 4 iterations", "APERF/MPERF"), describe(r))
	}
	must.Be(t, len(e.Records) == len(want) && e.Finished(), len(e.Records), "records, want", len(want),
		"and the end")
}

func slowAccepted(t *testing.T, e *rig.Experiment) {
	r := only(t, e)
	must.Be(t, r.Outcome == results.Completed && says(r.Reasons, "throttled"), describe(r))
}

func turbo(t *testing.T, e *rig.Experiment) {
	r := only(t, e)
	must.Be(t, r.Outcome == results.Error && says(r.Reasons, "turbo", "in 4 of 4"), describe(r))
}

func whole(t *testing.T, e *rig.Experiment) {
	r := only(t, e)
	must.Be(t, r.Outcome == results.Completed && len(rig.Reasons(r)) <= 0 && len(r.Columns) <= 0 &&
		len(r.Totals) == 6, describe(r))
	for _, total := range r.Totals {
		must.Be(t, total.Value != nil && *total.Value >= 1e6, "total", total)
	}
}

func wholeSlow(t *testing.T, e *rig.Experiment) {
	r := only(t, e)
	must.Be(t, r.Outcome == results.Error && says(r.Reasons, "throttled", "over the execution"), describe(r))
}

// task: there is no PMU here, but the kernel's own counters are available through perf.
func task(t *testing.T, e *rig.Experiment) {
	r := only(t, e)
	must.Be(t, r.Outcome == results.Completed && r.CounterSource == "perf", describe(r))
	for _, name := range []string{"context_switches", "migrations", "page_faults", "timer_interrupts"} {
		if !slices.ContainsFunc(r.Columns, func(c results.Column) bool {
			return c.Name == name &&
				c.Core == nil && len(c.Counts) == 4
		}) {
			t.Errorf("no column %s of the task", name)
		}
	}
}

// closes: counts that were read before are kept, unreadable ones are missing, and krund reports
// that.
func closes(t *testing.T, e *rig.Experiment) {
	r := only(t, e)
	must.Be(t, r.Outcome != results.Completed && says(r.Reasons, "descriptor was closed or replaced") &&
		len(r.WallNS) == 4, describe(r))
	missing(t, r, 1)
}

// swaps: a file that krund did not pass must never be mistaken for a counter.
func swaps(t *testing.T, e *rig.Experiment) {
	r := only(t, e)
	must.Be(t, r.Outcome == results.Error && says(r.Reasons, "aperf", "core 1", "backwards") &&
		says(r.Reasons, "stood still"), describe(r))
}

func slows(t *testing.T, e *rig.Experiment) {
	r := only(t, e)
	must.Be(t, r.Outcome == results.Completed && says(r.Reasons, "core 1", "throttled", "the first is 2"),
		describe(r))
}

func fails(t *testing.T, e *rig.Experiment) {
	r := only(t, e)
	must.Be(t, r.Outcome == results.Error && says(r.Reasons, "could not be read") &&
		says(r.Reasons, "APERF of core 0 is missing", "the first is 2"), describe(r))
	missing(t, r, 2)
}

// missing requires that APERF exists before iteration from, and is missing from then on.
func missing(t *testing.T, r results.Record, from int) {
	t.Helper()
	for core := range 2 {
		for i, n := range counts(t, r, "aperf", core) {
			must.Be(t, (n == results.MissingCount) == (i >= from), "APERF of core", core, "in iteration", i,
				n, "want it missing from", from, "on")
		}
	}
}

func back(t *testing.T, e *rig.Experiment) {
	r := only(t, e)
	must.Be(t, r.Outcome == results.Error && says(r.Reasons, "aperf", "core 0", "backwards") &&
		says(r.Reasons, "aperf", "core 1", "backwards"), describe(r))
}

// wraps: the cycles wrap at 48 bits.
func wraps(t *testing.T, e *rig.Experiment) {
	r := only(t, e)
	must.Be(t, r.Outcome == results.Completed && len(rig.Reasons(r)) <= 0, describe(r))
	for core := range 2 {
		n := counts(t, r, "cycles", core)[0]
		must.Be(t, n != 0 && n <= 1<<37, "cycles of core", core, "over the end", n)
	}
}

// stands: counters that stand still do not show the frequency, and must not look like a sound
// machine. They stop during the first iteration.
func stands(t *testing.T, e *rig.Experiment) {
	r := only(t, e)
	must.Be(t, r.Outcome == results.Error &&
		says(r.Reasons, "stood still", "in 3 of 4 iterations, the first is 1"), describe(r))
}

func unreadable(t *testing.T, e *rig.Experiment) {
	r := only(t, e)
	must.Be(t, r.Outcome == results.Completed && r.CounterSource == "none" &&
		says([]string{r.CounterReason}, "perf: not available", "msr: not available", "no such register"),
		describe(r))
}

// insists: without "none" among its sources, an experiment does not measure with the clock alone.
func insists(t *testing.T, e *rig.Experiment) {
	must.Be(t, len(e.Records) == 0 && e.Slots[0].Attempts <= 0, "measured nevertheless", len(e.Records),
		"records", e.Slots[0].Attempts, "attempts")
}

func zeros(t *testing.T, e *rig.Experiment) {
	r := only(t, e)
	must.Be(t, r.Outcome == results.Completed && r.CounterSource == "none" &&
		says([]string{r.CounterReason}, "stands still", "no counter behind it"), describe(r))
}

func without(t *testing.T, e *rig.Experiment) {
	r := only(t, e)
	must.Be(t, r.Outcome == results.Completed && r.CounterSource == "none" &&
		says([]string{r.CounterReason}, "perf: not available", "modprobe msr"), describe(r))
	must.Be(t, len(r.Columns) <= 0 && len(r.Totals) <= 0 && len(r.WallNS) == 4, describe(r))
}

// only returns the only record of the experiment.
func only(t *testing.T, e *rig.Experiment) results.Record {
	t.Helper()
	must.Need(t, len(e.Records) == 1, len(e.Records), "records, want 1")
	return e.Records[0]
}

// tools: krunctl's reports on the counters and start-up times of these measurements.
func tools(t *testing.T, m *rig.Machine) {
	for _, c := range []struct {
		command string
		status  int
		want    []string
	}{
		{"show --counters --format json /srv/krund/registers.toml", 0, []string{`"judged": 2`,
			`"violating_records": 0`}},
		{"amperf /srv/krund/slow.toml", 1, []string{"spin:CPython:default", "throttled"}},
		{"amperf /srv/krund/whole.krun", 0, nil},
		{"amperf --idle 0 --busy 1 /srv/krund/registers.krun", 1, []string{"idle"}},
		{"startup /srv/krund/registers.toml", 0, []string{"CPython"}},
		{"show --startup --format json --by key /srv/krund/registers.krun", 0,
			[]string{"spin:CPython:default",
				`"executions": 2`}},
		{"summary /srv/krund/registers.krun", 0, nil},
		{"check-data /srv/krund/registers.krun", 0, nil},
	} {
		out, status := m.Try("krunctl " + c.command)
		must.Equal(t, status, c.status, "krunctl", c.command, "exit status", out)
		for _, want := range c.want {
			must.Contain(t, out, want, "krunctl", c.command)
		}
	}
}

func doctor(t *testing.T, said map[string]string) {
	for _, c := range []struct {
		when string
		want []string
	}{
		{"moving", []string{"counters perf", "counters msr", "reads registers of 2 cores"}},
		{"unreadable", []string{"counters msr", "no such register"}},
		{"without", []string{"counters perf", "counters msr", "modprobe msr"}},
	} {
		for _, want := range c.want {
			must.Contain(t, said[c.when], want, c.when)
		}
	}
}

// explanation is what the test reads of the output of krunctl explain --format json.
type explanation struct {
	Keys []struct {
		Statements []struct{ Target, Cause, Source, Text string }
		Executions []struct {
			Number       int
			Changepoints []struct {
				Iteration   int
				Ratio       float64
				Cause, Text string
			}
		}
	}
}

// TestGovernorIsNamed: in each execution the governor powersave takes over in another iteration.
// krunctl explain, on the host, names the frequency as the cause of the changepoint there. The
// governor, the driver and the register that it writes are the kernel's own; APERF, which follows
// that register, is the rig's, and the benchmark takes longer because it reads the frequency.
func TestGovernorIsNamed(t *testing.T) {
	rig.Long(t, "takes minutes")
	const name, executions = "governor", 6
	var files rig.Payload
	must.Get(files.Benchmarks("benchmarks-of-counters", suite, "benchmarks"))(t)
	files.Experiment(name, experiment{benchmark: name, executions: executions, iterations: 150}.text())
	m := rig.KrundUp(t, rig.Options{Payload: &files, MSR: true})
	m.Sh("chmod 666 /sys/devices/system/cpu/cpufreq/policy*/scaling_governor")
	run(t, m, name)
	m.Shutdown()

	e := m.Experiment(rig.Directory(name))
	explained := explain(t, e.Dir)
	must.Need(t, len(e.Records) == executions && len(explained.Keys) == 1 &&
		len(explained.Keys[0].Executions) == executions, len(e.Records), "records", explained)
	found, named := 0, 0
	for i, r := range e.Records {
		step := governorStep(t, r)
		for _, c := range explained.Keys[0].Executions[i].Changepoints {
			t.Logf("execution %d, governor changed in %d: %+v", i+1, step, c)
			if c.Iteration >= step-2 && c.Iteration <= step+2 && c.Ratio > 1 {
				found++
				if c.Cause == "frequency" {
					named++
				}
			}
		}
	}
	for _, s := range explained.Keys[0].Statements {
		t.Log(s.Text)
		must.Be(t, s.Target != "changepoints" || s.Cause == "frequency" && s.Source == "column mperf/aperf",
			"named is", s.Cause, s.Source)
	}
	if found < executions/2 {
		t.Skipf("the host was too busy: the analysis found the step in %d of %d executions", found,
			executions)
	}
	must.Be(t, named >= found, "the frequency is named at", named, found,
		"changepoints where the governor changed")
}

// governorStep returns the iteration in which the benchmark of a record changed the governor.
func governorStep(t *testing.T, r results.Record) int {
	t.Helper()
	step := must.Get(strconv.Atoi(strings.TrimSpace(r.Process.Stdout.Text)))(t, describe(r))
	return step
}

// explain runs krunctl explain of the last make build on the directory of an experiment.
func explain(t *testing.T, dir string) explanation {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "../../build/bin/krunctl", "explain", "--format", "json",
		dir).Output()
	var found explanation
	if err == nil {
		err = json.Unmarshal(out, &found)
	}
	must.Do(t, err, "krunctl explain", out)
	return found
}
