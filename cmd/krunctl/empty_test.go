package main

import (
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestNothingToAnalyze: a command that analyzes an experiment of which no execution was completed
// prints what there is, and ends with a status other than 0.
func TestNothingToAnalyze(t *testing.T) {
	b := newExperimentOf(t, experimentText)
	for range b.cfg.Slots() {
		b.run(results.Error)
	}
	good := newExperimentOf(t, experimentText)
	for range good.cfg.Slots() {
		good.run(results.Completed)
	}
	out := filepath.Join(t.TempDir(), "out")
	for name, args := range map[string][]string{
		"analyze": {"analyze", b.dir()}, "report": {"report", b.dir(), "-o", out},
		"stability": {"enough", "stability", b.dir()}, "similarity": {"analyze", "--similarity", b.dir()},
		"explain":                  {"explain", b.dir()},
		"one side of a comparison": {"compare", good.dir(), b.dir()},
		"a key without results":    {"analyze", "--key", "nbody:*:*", b.dir()},
	} {
		r := krunctl(t, args...)
		want := "krunctl: nothing of " + b.dir() + " could be analyzed: none of its "
		must.Be(t, r.code == exitError && strings.Contains(r.stderr, want) &&
			strings.Contains(r.stderr, "executions was completed"), name, "exit", r.code, "stderr", r.stderr,
			"want 1 and", want)
	}
	krunctl(t, "analyze", good.dir()).says(t, exitOK, "", "", "with results")
}
