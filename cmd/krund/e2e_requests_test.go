//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/durable"
	"krund/internal/experiment/directory"
	"krund/rig/must"
)

// TestStopIsObeyedBetweenExecutions: the running execution is finished and recorded, the next one
// does not begin, and the next start continues.
func TestStopIsObeyedBetweenExecutions(t *testing.T) {
	t.Parallel()
	e := newExperiment(t)
	e.c("blocks", `void run_iter(int p) { if (++n == 2) meet(); }`)
	e.c("good", good)
	r := e.start()
	e.meet(r)
	f, err := directory.Open(durable.OS(), e.directory)
	e.must(err)
	e.must(f.Ask(directory.Stop, "test"))
	e.letGo()
	r.wait().want(t, exitOK)
	must.Equal(t, e.flags(), "CO", "slots", "want CO")
	if asked, err := f.Asked(directory.Stop); asked || err != nil {
		t.Errorf("the request is still there: %t, %v", asked, err)
	}
	e.letGo() // in case that the first one ran again
	e.run().want(t, exitOK)
	must.Equal(t, e.flags(), "CC", "slots", "want CC")
}

// TestHeldExperimentIsNotBegun: nothing changes if the hold is older than the experiment.
func TestHeldExperimentIsNotBegun(t *testing.T) {
	t.Parallel()
	e := newExperiment(t)
	e.c("good", good)
	f, err := directory.Create(durable.OS(), e.directory)
	e.must(err)
	e.must(f.Ask(directory.Hold, "test"))
	out := e.run()
	out.want(t, exitOK)
	if _, err := os.Lstat(filepath.Join(e.directory, "schedule")); err == nil || out.stdout == "" {
		t.Errorf("the experiment was begun; stdout %q", out.stdout)
	}
	must.Get(f.Withdraw(directory.Hold))(t)
	e.run().want(t, exitOK)
	must.Equal(t, e.flags(), "C", "slots", "want C")
}

// TestVariableOfTheUnit: a person who has the unit's variable in the environment is still a person:
// nothing is disabled and no notification is sent if the experiment cannot be opened. The packages'
// tests and rig/install have a krund that its unit started.
func TestVariableOfTheUnit(t *testing.T) {
	e := newExperiment(t)
	e.c("good", good)
	inbox := filepath.Join(e.dir, "inbox")
	script := e.write("tell", "#!/bin/sh\n{ echo \"$KRUND_EVENT $KRUND_SUBJECT\"; cat; } >>"+inbox+"\n")
	e.extra = "[notify]\ncommand = [\"" + script + "\"]\n"
	e.run().want(t, 0)
	if text, err := os.ReadFile(inbox); err != nil || !strings.Contains(string(text), "finished ") {
		t.Errorf("notifications %q, error %v", text, err)
	}
	e.must(os.Remove(inbox))
	e.iterations = 7 // a configuration cannot be changed
	e.write("test.toml", e.config())
	t.Setenv(unitVariable, "krund@no-such-unit-of-a-test.service")
	r := e.run()
	r.want(t, 1, "another configuration")
	if _, err := os.Stat(inbox); err == nil || strings.Contains(r.stderr, "disabled") {
		t.Errorf("krund gave up like one that a unit has started: %s", r.stderr)
	}
}
