//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/rig/must"
)

// TestGrow: an experiment that has ended goes on with a larger configuration, of which --dry-run
// says beforehand what it adds; a smaller one is refused.
func TestGrow(t *testing.T) {
	t.Parallel()
	e := newExperiment(t)
	e.executions = 2
	e.c("good", good)
	e.run().want(t, exitOK)
	small := e.config()
	e.executions = 3
	e.c("more", good)
	e.write("test.toml", "# larger\n"+e.config())
	const grows = "the experiment grows by 4 slots, from 2 to 6: "
	e.run("--dry-run").want(t, exitOK, "would run 4 of 6 process executions", grows)
	must.Equal(t, e.flags(), "CC", "slots after --dry-run")
	e.run().want(t, exitOK, grows, "executions was 2 and is 3", "benchmarks.more is new", "is edition 2")
	must.Equal(t, e.flags(), "CCCCCC", "slots")
	e.run().want(t, exitOK, "nothing is outstanding")
	stored := must.Get(os.ReadFile(filepath.Join(e.directory, "config.toml")))(t)
	must.Be(t, strings.HasPrefix(string(stored), "# larger\n"), "config.toml is", string(stored))
	e.write("test.toml", small)
	e.run().want(t, exitError, "executions was 3 and is 2", "benchmarks.more was", "is gone", "can only grow")
}
