//go:build linux

package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"krund/internal/control"
	"krund/internal/durable"
	"krund/internal/experiment/directory"
	"krund/rig/must"
)

// holding is an experiment that holds one harmless setting of this machine while its benchmark
// waits. want is the value before.
func holding(t *testing.T) (e *experiment, current func() string, before string) {
	t.Helper()
	const file = "/proc/sys/vm/stat_interval"
	current = func() string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Skipf("no setting to test this with: %v", err)
		}
		return strings.TrimSpace(string(text))
	}
	before = current()
	if err := os.WriteFile(file, []byte(before), 0); err != nil {
		t.Skipf("settings of this machine cannot be changed: %v", err)
	}
	e = newExperiment(t)
	e.c("blocks", `void run_iter(int p) { if (++n == 2) meet(); }`)
	// the latter would be warned of
	e.extra = "stat_interval = { policy = \"require\", seconds = 37 }\nvirtualisation = \"off\"\n"
	return e, current, before
}

// TestGuard: krund is killed with its whole process group while it has changed settings. Only its
// guard can restore the machine.
func TestGuard(t *testing.T) {
	e, current, before := holding(t)
	r := e.start()
	e.meet(r)
	got := current()
	must.Need(t, got == "37", "vm.stat_interval is", got, "want 37")
	r.signal(syscall.SIGKILL)
	out := r.wait() // standard error ends with the guard
	for _, part := range []string{"restored a setting left behind by a killed krund",
		"/proc/sys/vm/stat_interval",
		"value=" + before} {
		log, err := os.ReadFile(filepath.Join(e.directory, "log"))
		e.must(err)
		must.Contain(t, out.stderr+string(log), part, "the guard has not said", out.stderr)
	}
	must.Equal(t, current(), before, "vm.stat_interval")
	pending, err := control.ReadJournal(durable.OS(), filepath.Join(e.directory, "journal"))
	must.Be(t, err == nil && len(pending) <= 0, "journal", pending, err)
}

// TestGuardIsSilent: when krund ends in order, its guard ends with it and prints nothing.
func TestGuardIsSilent(t *testing.T) {
	e, current, before := holding(t)
	r := e.start()
	e.meet(r)
	e.letGo()
	out := r.wait()
	out.want(t, exitOK)
	must.Be(t, out.stderr == "" && current() == before, "vm.stat_interval is", current(), "was", before,
		"stderr", out.stderr)
}

// TestGuardWithoutTheDirectory: whatever happens to the experiment's directory and its lock while
// krund runs, its guard restores the machine.
func TestGuardWithoutTheDirectory(t *testing.T) {
	must.Root(t, "only root has a place for the copy of the journal")
	for name, harm := range map[string]func(e *experiment){
		"a hostile journal in a directory for all": func(e *experiment) {
			const evil = `{"op":"set","n":1,"control":"aslr","step":{"kind":"file","target":"/nowhere","old":"0","new":"2"}}`
			e.must(os.WriteFile(filepath.Join(e.directory, "journal"), []byte(evil), 0o644))
			e.must(os.Chmod(e.directory, 0o777))
		},
		"no directory": func(e *experiment) { e.must(os.Rename(e.directory, e.directory+".moved")) },
		"a journal that cannot be read": func(e *experiment) {
			e.must(os.Remove(filepath.Join(e.directory, "journal")))
			e.must(os.Mkdir(filepath.Join(e.directory, "journal"), 0o755))
		},
		"a lock that another program holds": func(e *experiment) {
			lock := filepath.Join(e.directory, "lock")
			e.must(os.Remove(lock))
			e.must(os.WriteFile(lock, nil, 0o600))
			flock := exec.CommandContext(e.t.Context(), "flock", "-x", lock, "sh", "-c", "echo held; exec "+
				"sleep 1000")
			out, err := flock.StdoutPipe()
			e.must(err)
			e.must(flock.Start())
			_, err = out.Read(make([]byte, 5))
			e.must(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, current, before := holding(t)
			r := e.start()
			e.meet(r)
			got := current()
			must.Need(t, got == "37", "vm.stat_interval is", got, "want 37")
			harm(e)
			r.signal(syscall.SIGKILL)
			out := r.wait() // standard error ends with the guard
			must.Equal(t, current(), before, "vm.stat_interval", "the guard said", out.stderr)
			if spare := directory.Spare(durable.OS(), e.directory, directory.RuntimeDirs()...); spare == "" {
				t.Error("there is no place for a copy of the journal")
			} else if _, err := os.Stat(spare); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the copy of the journal is still there: %v", err)
			}
			must.Contain(t, out.stderr, "using its copy", "the guard does not report why it used the copy")
		})
	}
}
