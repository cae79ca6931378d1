//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/rig/must"
)

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
	text, err := os.ReadFile(inbox)
	must.Be(t, err == nil && strings.Contains(string(text), "finished "), "notifications", text, err)
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
