//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"krund/internal/control"
	"krund/internal/durable"
)

// holding is an experiment that holds one harmless setting of this machine while its benchmark waits. want is the value before.
func holding(t *testing.T) (e *experiment, current func() string, before string) {
	t.Helper()
	const file = "/proc/sys/vm/stat_interval"
	current = func() string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Skipf("no setting to try this with: %v", err)
		}
		return strings.TrimSpace(string(text))
	}
	before = current()
	if err := os.WriteFile(file, []byte(before), 0); err != nil {
		t.Skipf("settings of this machine cannot be changed: %v", err)
	}
	e = newExperiment(t)
	e.c("blocks", `void run_iter(int p) { if (++n == 2) meet(); }`)
	e.extra = "stat_interval = { policy = \"require\", seconds = 37 }\nvirtualisation = \"off\"\n" // the latter would be warned of
	return e, current, before
}

// TestGuard: krund is killed with its whole process group while it holds the machine. Nobody but its guard puts the machine back.
func TestGuard(t *testing.T) {
	e, current, before := holding(t)
	r := e.start()
	e.meet(r)
	if got := current(); got != "37" {
		t.Fatalf("vm.stat_interval is %s, want 37", got)
	}
	r.signal(syscall.SIGKILL)
	out := r.wait() // standard error ends with the guard
	for _, part := range []string{"put back what an earlier krund had changed", "/proc/sys/vm/stat_interval", "value=" + before} {
		log, err := os.ReadFile(filepath.Join(e.folder, "log"))
		e.must(err)
		if !strings.Contains(out.stderr+string(log), part) {
			t.Errorf("the guard has not said %q:\n%s\n%s", part, out.stderr, log)
		}
	}
	if got := current(); got != before {
		t.Errorf("vm.stat_interval is %s, was %s", got, before)
	}
	pending, err := control.ReadJournal(durable.OS(), filepath.Join(e.folder, "journal"))
	if err != nil || len(pending) > 0 {
		t.Errorf("journal %v, %v", pending, err)
	}
}

// TestGuardIsSilent: when krund ends in an orderly way its guard goes with it and says nothing.
func TestGuardIsSilent(t *testing.T) {
	e, current, before := holding(t)
	r := e.start()
	e.meet(r)
	e.letGo()
	out := r.wait()
	out.want(t, exitOK)
	if out.stderr != "" || current() != before {
		t.Errorf("vm.stat_interval is %s, was %s; stderr %q", current(), before, out.stderr)
	}
}
