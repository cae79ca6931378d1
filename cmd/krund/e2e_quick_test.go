//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/durable"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// quick makes an experiment of two keys with waits that no test could survive.
func quick(t *testing.T) *experiment {
	t.Helper()
	e := newExperiment(t)
	e.iterations, e.executions = 500, 7
	e.c("first", good)
	e.c("second", good)
	text := strings.Replace(e.config(), "startup = \"0s\"\nsync = \"0s\"",
		"startup = \"5h\"\nsync = \"5h\"", 1)
	text = strings.Replace(text, "base_wait = \"0s\"", "base_wait = \"5h\"", 1)
	e.write("test.toml", strings.Replace(text, "reboot = \"none\"", "reboot = \"hardware\"", 1))
	return e
}

func (e *experiment) krund(args ...string) ended {
	e.t.Helper()
	return startKrund(e.t, filepath.Join(scratch, "prefix"),
		append(args, filepath.Join(e.dir, "test.toml"))...).wait()
}

// TestQuick: two short executions of each key, without waits and reboots, in a directory of their
// own, and under a name that says so. The same command begins anew, with other contents of the
// file, too.
func TestQuick(t *testing.T) {
	e := quick(t)
	e.krund("run", "--quick").want(t, exitOK, "test-quick.krun")
	e.krund("run", "--quick").want(t, exitOK, "the results of the earlier quick run are removed")
	text, err := os.ReadFile(filepath.Join(e.dir, "test.toml"))
	e.must(err)
	e.write("test.toml", "# changed\n"+string(text))
	e.krund("run", "--dry-run", "--quick").want(t, exitOK, "would run 4 of 4")
	e.krund("run", "--quick").want(t, exitOK, "the results of the earlier quick run are removed")
	must.Refused(os.Lstat(e.directory))(t, "", "the directory of the experiment was created")
	n := 0
	records := filepath.Join(e.dir, "test-quick.krun/results")
	for r, err := range results.NewReader(durable.OS(), records).All() {
		e.must(err)
		n++
		must.Be(t, r.Experiment == "test-quick" && r.Iterations == 20 && r.Reboot == results.RebootNone &&
			len(r.WallNS) == 20, r.Experiment, "with", r.Iterations, "iterations, reboot", r.Reboot)
	}
	must.Equal(t, n, 4, "records, want 2 of each key")
	e.krund("run", "--quick", "--reboot", "hardware").want(t, exitUsage, "--quick runs without reboots")
}

// TestDryRun: what would run is printed, and nothing is created.
func TestDryRun(t *testing.T) {
	e := quick(t)
	before := listing(t, e.dir)
	r := e.krund("run", "--dry-run", "--reboot", "none")
	r.want(t, exitOK, "would run 14 of 14 process executions of 2 keys, without reboots, with results in "+
		e.directory, "  run   first:C:so, 7 executions of 500 iterations\n", "nothing was started")
	e.krund("run", "--dry-run", "--quick").want(t, exitOK, "would run 4 of 4",
		"2 executions of 20 iterations")
	must.Equal(t, listing(t, e.dir), before, "files before", "and after")
}
