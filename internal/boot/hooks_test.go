package boot

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"krund/internal/durable/crashfs"
	"krund/internal/execution"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestHooksKnowTheExecution: the hooks get the key, the attempt, and afterwards outcome and record.
func TestHooksKnowTheExecution(t *testing.T) {
	cfg := parse(t, experimentText("executions = 1\nreboot = \"none\""))
	s := newSimulated(t)
	must.Get(Run(t.Context(), cfg, dir, "none", s.system(crashfs.New("/lab"))))(t)
	before := "KRUND_EXPERIMENT=x KRUND_DIRECTORY=/lab/x.krun KRUND_KEY=nbody:C:default-c KRUND_ARM= " +
		"KRUND_SLOT=0 KRUND_EXECUTION=1 KRUND_ATTEMPT=1"
	after := before + " KRUND_OUTCOME=completed KRUND_RECORD=/lab/x.krun/results/0000000-001.json.gz"
	must.Be(t, len(s.hooks) == 4 && s.hooks[0] == before && s.hooks[1] == after, "the hooks got",
		strings.Join(s.hooks, "\n"), "want", before, after)
}

// TestFailingAfterHook: a hook that fails after an execution is reported, and stops the experiment
// only if the configuration says so. The record is kept in any case.
func TestFailingAfterHook(t *testing.T) {
	for policy, want := range map[string]string{"report": "CC", "stop": "CO"} {
		t.Run(policy, func(t *testing.T) {
			text := experimentText("executions = 1\nreboot = \"none\"") + "[hooks]\nafter_failure = \"" +
				policy + "\"\n"
			s, fsys := newSimulated(t), crashfs.New("/lab")
			s.afterFails = errors.New("no network")
			_, err := Run(t.Context(), parse(t, text), dir, "none", s.system(fsys))
			stopped := errors.Is(err, ErrUnfit) && strings.Contains(err.Error(), "hooks: no network")
			must.Be(t, (policy == "stop") == stopped && (policy != "report" || err == nil), "error", err)
			must.Equal(t, flags(t, fsys), want, "slots")
			must.Be(t, s.applied == 0 && strings.Contains(s.log.String(), "no network"), "settings left",
				s.applied, "log", s.log.String())
		})
	}
}

// TestShip: each execution is followed by one shipment, on a restored machine; that the hub is dead
// changes nothing.
func TestShip(t *testing.T) {
	cfg := parse(t, experimentText("executions = 2\nreboot = \"none\""))
	s, disk := newSimulated(t), crashfs.New("/lab")
	sys := s.system(disk)
	shipped := 0
	sys.Ship = func(context.Context) error {
		shipped++
		last := len(s.events) - 1
		if run, restored := lastOf(s.events, "run"), lastOf(s.events, "restore"); restored < run {
			t.Errorf("shipment %d: the machine was not restored: %q", shipped, s.events[max(0, last-8):])
		}
		return errors.New("no route to the hub")
	}
	ending, err := Run(t.Context(), cfg, dir, "none", sys)
	must.Need(t, ending == Finished && err == nil, ending, err)
	must.Equal(t, shipped, cfg.Slots(), "shipments")
	must.Do(t, audit(disk, cfg, nil))
}

func lastOf(events []string, name string) int {
	for i, e := range slices.Backward(events) {
		if e == name {
			return i
		}
	}
	return -1
}

// TestWhatABenchmarkLeavesIsBounded: neither the record nor the mails grow with what a benchmark
// leaves behind.
func TestWhatABenchmarkLeavesIsBounded(t *testing.T) {
	cfg := parse(t, experimentText("executions = 1\nreboot = \"none\""))
	s, fsys := newSimulated(t), crashfs.New("/lab")
	s.outcome = func(j execution.Job, boot int) execution.Measured {
		m := failed(j, boot)
		for range 4096 {
			m.Process.Findings = append(m.Process.Findings,
				"process 4711 (sh) of the benchmark cannot be killed: state D")
			m.Execution.Series = append(m.Execution.Series, "a reason of its own")
		}
		return m
	}
	s.oneBoot(cfg, fsys)
	records := 0
	for r, err := range results.NewReader(fsys, dir+"/results").All() {
		must.Do(t, err)
		records++
		n := len(strings.Join(append(r.Process.Findings, r.Reasons...), "\n"))
		must.Be(t, n <= 200_000, "record", r.Slot, "-", r.Attempt, "has", n, "bytes of sentences")
	}
	must.Be(t, records != 0, "nothing was stored")
	for _, text := range s.told {
		must.Be(t, len(text) <= 100_000, "a message of", len(text), "bytes", text)
	}
}
