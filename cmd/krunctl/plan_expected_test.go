package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/analysis/sequential"
	"krund/internal/experiment/results"
	"krund/internal/reading/replay"
	"krund/internal/reading/summary"
	"krund/rig/must"
)

// stoppingText is an experiment that ends keys and executions early: 4 keys of 6 executions, of
// which 3 are needed at least, and 40 iterations, of which 2 to 8 steps of 4 are needed.
var stoppingText = strings.NewReplacer("executions = 2", "executions = 6\nseed = 5", "iterations = 4",
	"iterations = 40", "iterations = 3\n", "").Replace(experimentText) + `
[stop]
rules = ["halfwidth"]
halfwidth = 0.05
[stop.iterations]
criterion = "cv"
step = "4"
warmup_min = 5
warmup_max = 6
measure = 2
`

// TestPlanExpected: plan has the least and the most that [stop] and [stop.iterations] leave, and
// with --from what they would have left of another experiment, two keys of which are too noisy.
func TestPlanExpected(t *testing.T) {
	old := newExperimentOf(t, strings.Split(stoppingText, "[stop]")[0])
	for i := range old.cfg.Slots() {
		slot, err := old.sched.Begin()
		old.must(err)
		r := old.record(slot, results.Completed)
		r.Process.WallNS = 60e9
		for j := range r.WallNS {
			r.WallNS[j] = 1e6 + int64(i*137+j*j*31)%100
			if slot.Key.VM == "CPython" {
				r.WallNS[j] <<= i % 5
			}
		}
		old.append(r)
		old.must(old.sched.Finish(slot, 'C'))
	}
	path := filepath.Join(t.TempDir(), "new.toml")
	old.must(os.WriteFile(path, []byte(strings.ReplaceAll(stoppingText, "[experiment_end]\n", "")), 0o644))
	var plan struct {
		Bounds   *summary.Bounds
		Expected *replay.Expected
	}
	r := krunctl(t, "check", "--plan", "--format", "json", "--from", old.dir(), path)
	if err := json.Unmarshal([]byte(r.stdout), &plan); err != nil || r.code != exitOK {
		t.Fatal(err, r.text())
	}
	keys := int64(len(old.cfg.Keys()))
	if b := plan.Bounds; b == nil || b.Executions != (summary.Range{Least: 3 * keys, Most: 6 * keys}) ||
		b.Iterations != (summary.Range{Least: 3 * keys * 28, Most: 6 * keys * 32}) || b.NS != nil {
		t.Errorf("left %+v", b)
	}
	x := plan.Expected
	must.Need(t, x != nil && int64(x.Keys) == keys && x.Executions.All == float64(6*keys), x)
	noisy := int64(0)
	for _, k := range old.cfg.Keys() {
		if k.VM == "CPython" {
			noisy++
		}
	}
	n := float64(6*noisy + 3*(keys-noisy))
	iterations := sequential.Saving{All: float64(6 * keys * 40), Needed: n * 28}
	if x.Executions.Needed != n || x.Iterations != iterations || x.Seconds.Needed >= x.Seconds.All {
		t.Errorf("expected %+v, want %v executions", x, n)
	}
	text := krunctl(t, "check", "--plan", "--from", old.dir(), path).stdout
	for _, want := range []string{"left         12 to 24 executions, 336 to 768 iterations\n",
		": all keys, as in " + old.dir()} {
		must.Contain(t, text, want)
	}
	krunctl(t, "check", "--plan", "--from", old.dir(), old.toml).says(t, exitUsage, "",
		"the configuration has neither")
}

// TestPlanExpectedOfStopped: keys of the other experiment that [stop] finished there need no more
// executions than they have.
func TestPlanExpectedOfStopped(t *testing.T) {
	old := newExperimentOf(t, strings.Split(stoppingText, "[stop]")[0])
	const measured = 3
	for range measured * len(old.cfg.Keys()) {
		slot, err := old.sched.Begin()
		old.must(err)
		must.Need(t, slot.Pexec <= measured, "slot", slot, "is not of the first rounds")
		r := old.record(slot, results.Completed)
		for j := range r.WallNS {
			r.WallNS[j] = 1e6 + int64(slot.Index*137+j*j*31)%100
		}
		old.append(r)
		old.must(old.sched.Finish(slot, 'C'))
	}
	path := filepath.Join(t.TempDir(), "new.toml")
	old.must(os.WriteFile(path, []byte(strings.ReplaceAll(stoppingText, "[experiment_end]\n", "")), 0o644))
	if r := krunctl(t, "check", "--plan", "--from", old.dir(), path); !strings.Contains(r.stdout,
		"expected     12 of 24 executions") {
		t.Error(r.text())
	}
}

// TestStatusOfStoppedIterations: status has what was saved, and what is left.
func TestStatusOfStoppedIterations(t *testing.T) {
	b := newExperimentOf(t, stoppingText)
	slot, err := b.sched.Begin()
	b.must(err)
	r := b.record(slot, results.Completed)
	r.WallNS, r.StartNS, r.Columns = r.WallNS[:28], r.StartNS[:28], nil
	b.append(r)
	b.must(b.sched.Finish(slot, 'C'))
	text := krunctl(t, "status", b.dir()).stdout
	for _, want := range []string{"\nreboots      none\n",
		"the last 1 execution ran 28 of 40 iterations (stop.iterations)",
		"left         11 to 23 executions"} {
		must.Contain(t, text, want)
	}
}
