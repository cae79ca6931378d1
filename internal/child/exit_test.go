package child

import (
	"fmt"
	"testing"
)

// shell is a Command for a line of sh.
func shell(line string) Command {
	return Command{Path: "/bin/sh", Args: []string{"sh", "-c", line}, Env: []string{"PATH=/usr/bin:/bin"}}
}

// mustRun runs c and fails the test when krund itself could not.
func mustRun(t *testing.T, c Command) Run {
	t.Helper()
	run, err := Runner{}.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func TestExitStatus(t *testing.T) {
	for _, want := range []int{0, 1, 42, 127, 255} {
		run := mustRun(t, shell(fmt.Sprintf("exit %d", want)))
		if run.NotStarted != nil || run.Exit == nil || *run.Exit != want || run.Signal != "" {
			t.Errorf("exit %d: got %+v", want, run)
		}
	}
}
