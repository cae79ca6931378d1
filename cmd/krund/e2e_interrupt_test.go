//go:build linux

package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestInterruptions: signals to krund in the middle of an execution. Nothing is lost, nothing
// counts twice, and the same command continues.
func TestInterruptions(t *testing.T) {
	blocking := func(t *testing.T) *experiment {
		e := newExperiment(t)
		e.c("first", good)
		e.c("blocks", `void run_iter(int p) { if (++n == 3) meet(); }`)
		e.c("last", good)
		return e
	}
	complete := func(t *testing.T, e *experiment, messages ...string) {
		t.Helper()
		r := e.start()
		e.meet(r)
		e.letGo()
		r.wait().want(t, exitOK, messages...)
		must.Equal(t, e.flags(), "CCC", "slots", "want CCC")
		for _, name := range e.benchmarks {
			must.Equal(t, e.outcome(name, results.Completed, 5).Attempt, 1, "attempt",
				"want 1: an interruption does not count")
		}
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // if the tests were started to ignore it, krund would be, too
	t.Cleanup(func() { signal.Stop(hangups) })
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			e := blocking(t)
			r := e.start()
			e.meet(r)
			r.signal(s)
			r.wait().want(t, exitInterrupted, "interrupted; the same command continues where it stopped")
			e.reason(exitInterrupted, "interrupted")
			must.Equal(t, e.flags(), "COO", "slots", "want COO")
			complete(t, e)
		})
	}
	t.Run("nohup", func(t *testing.T) {
		t.Parallel()
		e := blocking(t)
		e.write("test.toml", e.config())
		r := startProgram(t, "nohup", filepath.Join(scratch, "prefix", "bin", "krund"), "run", "--directory",
			e.directory, filepath.Join(e.dir, "test.toml"))
		e.meet(r)
		r.signal(syscall.SIGHUP)
		e.letGo()
		r.wait().want(t, exitOK)
		must.Equal(t, e.flags(), "CCC", "slots", "want CCC")
	})
	t.Run("nothing reads its output", func(t *testing.T) {
		t.Parallel()
		e := blocking(t)
		e.write("test.toml", e.config())
		e.letGo()
		krund := filepath.Join(scratch, "prefix", "bin", "krund")
		r := startProgram(t, "sh", "-c", `"$0" "$@" 2>&1 | true`, krund, "run", "--verbose", "--directory",
			e.directory, filepath.Join(e.dir, "test.toml"))
		r.wait().want(t, exitOK)
		must.Equal(t, e.flags(), "CCC", "slots", "want CCC")
	})
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		e := blocking(t)
		r := e.start()
		e.meet(r)
		r.signal(syscall.SIGKILL)
		r.wait()
		must.Equal(t, e.flags(), "CRO", "slots", "want CRO")
		complete(t, e, "krund ended in the middle of an execution; it is repeated")
	})
	t.Run("a crash of krund itself is logged", func(t *testing.T) {
		t.Parallel()
		e := blocking(t)
		r := e.start()
		e.meet(r)
		r.signal(syscall.SIGQUIT) // Go ends with a trace, as after a panic
		r.wait()
		log, err := os.ReadFile(filepath.Join(e.directory, "log"))
		e.must(err)
		// Go cannot show the frames of a goroutine that runs at this moment on another thread.
		where := strings.Contains(string(log), "boot.Run") ||
			strings.Contains(string(log), "goroutine running on other thread; stack unavailable")
		must.Be(t, strings.Contains(string(log), "SIGQUIT: quit") && where,
			"the log does not say where krund was", log)
		complete(t, e, "krund ended in the middle of an execution; it is repeated")
	})
	t.Run("second interrupt ends krund at once", func(t *testing.T) {
		t.Parallel()
		e := blocking(t)
		// The hook lasts until the test has seen krund end.
		e.extra = fmt.Sprintf("[hooks]\ntimeout = \"10h\"\nafter = [[\"sh\", \"-c\", \"test ! -e %[1]s/slow "+
			"|| { echo x >%[1]s/ready; while test -e %[1]s/slow; do sleep 1; done; }\"]]\n", e.dir)
		r := e.start()
		e.meet(r)
		e.write("slow", "")
		r.signal(syscall.SIGINT)
		e.meet(r) // the hook
		r.signal(syscall.SIGINT)
		r.wait().want(t, exitInterrupted)
		e.reason(exitInterrupted, "krunctl repair --machine")
		must.Equal(t, e.flags(), "COO", "slots", "want COO")
		e.must(os.Remove(filepath.Join(e.dir, "slow")))
		complete(t, e)
	})
	t.Run("interrupt during a wait", func(t *testing.T) {
		t.Parallel()
		e := newExperiment(t)
		e.c("good", good)
		e.write("test.toml", strings.Replace(e.config(), "sync = \"0s\"", "sync = \"50s\"", 1)+
			fmt.Sprintf("[hooks]\nbefore = [[\"sh\", \"-c\", \"echo x >%s/ready\"]]\n", e.dir))
		r := e.start()
		e.meet(r) // the hook; the wait follows
		r.signal(syscall.SIGINT)
		r.wait().want(t, exitInterrupted)
		got, n := e.flags(), len(e.records())
		must.Be(t, got == "O" && n == 0, "slot", got, n, "records; want O and none")
	})
}
