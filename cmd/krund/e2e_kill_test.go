//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"krund/internal/control"
	"krund/internal/durable"
	"krund/internal/experiment/directory"
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
		log := must.Get(os.ReadFile(filepath.Join(e.directory, "log")))(e.t)
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
		e := goodExperiment(t)
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
		log := must.Get(os.ReadFile(filepath.Join(e.directory, "log")))(e.t)
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

// TestExternalSuite: one program, several suites, distinguished by the benchmark's name that krund
// passes.
func TestExternalSuite(t *testing.T) {
	t.Parallel()
	e := newExperiment(t)
	e.iterations = 3
	e.external = e.write("suite", `#!/bin/sh
none='"core_cycle_counts": [], "aperf_counts": [], "mperf_counts": []'
case "$1 $2 $3 $4" in
"times 3 1000 0") echo "{\"wallclock_times\": [5e-7, 2.5e-7, 0.000001001], $none}" ;;
"cores 3 1000 0") echo '{"wallclock_times": [1e-6, 2e-6, 3e-6], "core_cycle_counts": [[1, 2, 3], [4, 5, 18446744073709551615]],
	"aperf_counts": [[1, 1, 1], [2, 2, 2]], "mperf_counts": [[1, 1, 1], [2, 2, 2]]}' ;;
"short 3 1000 0") echo "{\"wallclock_times\": [0.5], $none}" ;;
"garbage 3 1000 0") echo "Segmentation fault (just kidding)" ;;
"directory 3 1000 0") echo "{\"wallclock_times\": [1e-6, 2e-6, $(($(wc -l <data)))e-6], $none}" ;;
"years 3 1000 0") echo "{\"wallclock_times\": [4.6e9, 4.6e9, 4.6e9], $none}" ;;
"nothing 3 1000 0") echo "{\"wallclock_times\": [0, 1e-6, 0], $none}" ;;
"fails 3 1000 0") echo "{\"wallclock_times\": [0.5, 0.25, 1], $none}"; echo "no VM" >&2; exit 9 ;;
*) exit 77 ;;
esac
`)
	for _, name := range []string{"times", "cores", "short", "garbage", "fails", "directory", "missing-case",
		"years", "nothing"} {
		e.add(name, "External")
	}
	e.write("benchmarks/directory/data", "1\n2\n3\n")
	e.run().want(t, exitFailed)
	r := e.outcome("directory", results.Completed, 3)
	must.Be(t, r.WallNS[2] == 3_000 && r.Process.Dir == filepath.Join(e.dir, "benchmarks/directory"), "times",
		r.WallNS, "in", r.Process.Dir)
	r = e.outcome("times", results.Completed, 3)
	must.Be(t, r.WallNS[2] == 1_001 && r.CounterSource == "external" && r.Library == nil && r.StartNS == nil,
		"times", r.WallNS, "counters", r.CounterSource, "library", r.Library, "starts", r.StartNS)
	r = e.outcome("cores", results.Completed, 3)
	must.Be(t, len(r.Columns) == 6 && r.Columns[3].Counts[2] == 1<<64-1 && *r.Columns[3].Core == 1,
		"columns", r.Columns)
	e.outcome("short", results.Error, 0, "wallclock_times has 1 numbers for 3 iterations")
	e.outcome("garbage", results.Error, 0, "the suite's output")
	e.outcome("fails", results.Error, 0, "exit status 9", "no VM")
	e.outcome("missing-case", results.Error, 0, "exit status 77")
	e.outcome("years", results.Error, 3, "the 3 iterations reportedly took 1.38e+10 s in total, but the "+
		"process lived for 0.")
	e.outcome("nothing", results.Completed, 3, "the time is 0 ns in 2 of 3 iterations, the first is 0")
}
