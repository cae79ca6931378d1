package counters

import (
	"encoding/json"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/rig"
	"krund/rig/must"
)

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
