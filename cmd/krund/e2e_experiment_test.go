//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"krund/internal/key"
	"krund/internal/results"
	"krund/runners/runnertest"
)

// TestExperimentFaults: what is wrong around the benchmarks, before and while the experiment runs.
func TestExperimentFaults(t *testing.T) {
	t.Run("mistakes in the configuration are told all at once", func(t *testing.T) {
		t.Parallel()
		e := newExperiment(t)
		e.add("missing", "C")
		e.add("with:colon", "C")
		text := strings.Replace(e.config(), "with:colon =", "\"with:colon\" =", 1)
		text = strings.Replace(text, "executions = 1", "executions = \"many\"\ncolour = 3", 1)
		e.write("test.toml", text)
		out := e.run()
		out.want(t, exitUsage, "test.toml:3", "test.toml:4", "colour", "with:colon", "bench.so")
		if out.stdout != "" {
			t.Errorf("stdout: %q", out.stdout)
		}
		if _, err := os.Lstat(e.folder); err == nil {
			t.Error("the folder was made")
		}
	})
	t.Run("no such configuration", func(t *testing.T) {
		t.Parallel()
		e := newExperiment(t)
		missing := filepath.Join(e.dir, "nothing.toml")
		startKrund(t, filepath.Join(scratch, "prefix"), "run", missing).wait().want(t, exitError, missing, "no such file")
	})
	t.Run("folder of another configuration", func(t *testing.T) {
		t.Parallel()
		e := newExperiment(t)
		e.c("good", good)
		e.run().want(t, exitOK)
		e.iterations = 6
		e.write("test.toml", e.config())
		e.run().want(t, exitError, "was started with another configuration", `line 2 was "iterations = 5" and is "iterations = 6"`, "undo the change")
		if n := len(e.records()); n != 1 {
			t.Errorf("%d records, want the one there was", n)
		}
	})
	t.Run("truncated schedule", func(t *testing.T) {
		t.Parallel()
		e := newExperiment(t)
		e.c("good", good)
		e.c("second", good)
		e.run().want(t, exitOK)
		file := filepath.Join(e.folder, "schedule")
		info, err := os.Stat(file)
		e.must(err)
		e.must(os.Truncate(file, info.Size()-100))
		e.run().want(t, exitError, "truncated", "krunctl repair")
		e.records()
	})
	t.Run("damaged slot is rebuilt from the results", func(t *testing.T) {
		t.Parallel()
		e := newExperiment(t)
		e.c("good", good)
		e.c("second", good)
		e.run().want(t, exitOK)
		file := filepath.Join(e.folder, "schedule")
		text, err := os.ReadFile(file)
		e.must(err)
		at := strings.Index(string(text), "second:C:so")
		e.must(os.WriteFile(file, append(append(append([]byte{}, text[:at]...), "damaged"...), text[at+7:]...), 0o644))
		e.run().want(t, exitOK)
		if got := e.flags(); got != "CC" {
			t.Errorf("slots %s, want CC", got)
		}
		if n := len(e.records()); n != 2 {
			t.Errorf("%d records, want 2", n)
		}
	})
	t.Run("corrupt record of the slot that was running", func(t *testing.T) {
		t.Parallel()
		e := newExperiment(t)
		e.c("blocks", `void run_iter(int p) { if (++n == 2) meet(); }`)
		r := e.start()
		e.meet(r)
		r.signal(syscall.SIGKILL)
		r.wait()
		record := filepath.Join(e.folder, "results", results.Name{Slot: 0, Attempt: 1}.String())
		e.must(os.WriteFile(record, []byte("not a record"), 0o644))
		e.run().want(t, exitError, filepath.Base(record), "krunctl check-data")
	})
	t.Run("benchmark and VM vanish after the start", func(t *testing.T) {
		t.Parallel()
		e := newExperiment(t)
		e.c("first", `void run_iter(int p) {
			char path[PATH_MAX];
			snprintf(path, sizeof path, "%s/benchmarks/gone/bench.so", getenv("E2E")); unlink(path);
			snprintf(path, sizeof path, "%s/suite", getenv("E2E")); unlink(path);
		}`)
		e.c("gone", good)
		e.c("last", good)
		e.external = e.write("suite", "#!/bin/sh\n")
		e.add("suite", "External")
		e.run().want(t, exitOK)
		if got := e.flags(); got != "CECE" {
			t.Errorf("slots %s, want CECE", got)
		}
		e.outcome("gone", results.Error, 0, "cannot be loaded", "gone/bench.so")
		e.outcome("suite", results.Error, 0, "could not be started", filepath.Join(e.dir, "suite"))
		e.outcome("last", results.Completed, 5)
	})
	t.Run("second krund on one experiment", func(t *testing.T) {
		t.Parallel()
		e := newExperiment(t)
		e.c("blocks", `void run_iter(int p) { if (++n == 2) meet(); }`)
		first := e.start()
		e.meet(first)
		e.run().want(t, exitError, fmt.Sprintf("krund with process number %d on", first.cmd.Process.Pid), "works on this experiment")
		e.letGo()
		first.wait().want(t, exitOK)
		e.outcome("blocks", results.Completed, 5)
	})
	t.Run("two experiments at the same time leave each other alone", func(t *testing.T) {
		t.Parallel()
		e, other := newExperiment(t), newExperiment(t)
		e.c("blocks", `void run_iter(int p) { if (++n == 2) meet(); }`)
		other.c("good", good)
		first := e.start()
		e.meet(first)
		other.run().want(t, exitOK)
		e.letGo()
		first.wait().want(t, exitOK)
		e.outcome("blocks", results.Completed, 5)
		other.outcome("good", results.Completed, 5)
	})
	t.Run("krund is not installed whole", func(t *testing.T) {
		t.Parallel()
		e := newExperiment(t)
		e.c("good", good)
		path := e.write("test.toml", e.config())
		program, err := os.ReadFile(filepath.Join(scratch, "prefix", "bin", "krund"))
		e.must(err)
		e.write("prefix/bin/krund", string(program))
		startKrund(t, filepath.Join(e.dir, "prefix"), "run", path).wait().want(t, exitError, "not installed whole", "libexec/krund/runner-c", "make install")
		if _, err := os.Lstat(e.folder); err == nil {
			t.Error("the folder was made")
		}
	})
	t.Run("experiment that is finished", func(t *testing.T) {
		t.Parallel()
		e := newExperiment(t)
		e.c("good", good)
		e.run().want(t, exitOK)
		e.run().want(t, exitOK)
		e.outcome("good", results.Completed, 5)
	})
	t.Run("hook that fails", func(t *testing.T) {
		t.Parallel()
		e := newExperiment(t)
		e.c("good", good)
		e.extra = fmt.Sprintf("[hooks]\nbefore = [[\"sh\", \"-c\", \"echo no network; test -e %s/network\"]]\n", e.dir)
		e.run().want(t, exitError, "not fit to measure", "hook 1 before", "no network")
		if got := e.flags(); got != "O" {
			t.Errorf("slots %s, want O: nothing was measured", got)
		}
		e.write("network", "")
		e.run().want(t, exitOK)
		if r := e.outcome("good", results.Completed, 5); r.Attempt != 1 {
			t.Errorf("attempt %d, want the first", r.Attempt)
		}
	})
}

// mounted is a small file system of its own for the experiment's folder; remount changes its options.
func mounted(t *testing.T, options string) (dir string, remount func(flags uintptr, options string)) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a file system")
	}
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("cannot mount a file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir, func(flags uintptr, options string) {
		t.Helper()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|flags, options); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDisks(t *testing.T) {
	t.Run("disk full at the first record", func(t *testing.T) {
		t.Parallel()
		e := newExperiment(t)
		dir, remount := mounted(t, "size=256k,mode=755")
		e.folder, e.output = filepath.Join(dir, "test.krun"), "4MiB"
		e.c("small", good)
		e.c("large", fmt.Sprintf(`void run_iter(int p) {
			unsigned long x = %d;
			for (int i = 0; i < 400000; i++) { x = x * 6364136223846793005 + 1442695040888963407; putchar(48 + (x >> 58)); }
		}`, rand.Uint32()))
		e.c("last", good)
		e.run().want(t, exitError, "no space left on device", "store the record of slot 1", "start krund again")
		e.outcome("small", results.Completed, 5)
		if got := e.flags(); got != "CRO" {
			t.Errorf("slots %s, want CRO", got)
		}
		remount(0, "size=64m")
		e.run().want(t, exitOK)
		for _, name := range e.benchmarks {
			e.outcome(name, results.Completed, 5)
		}
	})
	t.Run("disk full at the start", func(t *testing.T) {
		t.Parallel()
		e := newExperiment(t)
		dir, remount := mounted(t, "size=64k,mode=755")
		e.folder = filepath.Join(dir, "test.krun")
		e.c("good", good)
		e.must(os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 32<<10), 0o644))
		_ = os.WriteFile(filepath.Join(dir, "more"), make([]byte, 64<<10), 0o644) // as much as there is room for
		e.run().want(t, exitError, "no space left on device")
		remount(0, "size=4m")
		e.run().want(t, exitOK)
		e.outcome("good", results.Completed, 5)
	})
	t.Run("folder on a read-only disk", func(t *testing.T) {
		t.Parallel()
		e := newExperiment(t)
		dir, remount := mounted(t, "size=4m,mode=755")
		e.folder = filepath.Join(dir, "test.krun")
		e.c("good", good)
		e.c("second", good)
		e.run().want(t, exitOK)
		remount(syscall.MS_RDONLY, "")
		e.run().want(t, exitError, "read-only file system")
		e.folder = filepath.Join(dir, "other.krun")
		e.run().want(t, exitError, "read-only file system")
	})
	t.Run("folder that may not be written", func(t *testing.T) {
		t.Parallel()
		if os.Geteuid() == 0 {
			t.Skip("root may write everywhere")
		}
		e := newExperiment(t)
		e.c("good", good)
		e.must(os.Mkdir(e.folder, 0o555))
		e.run().want(t, exitError, "permission denied", e.folder)
	})
	t.Run("folder that others may write", func(t *testing.T) {
		t.Parallel()
		e := newExperiment(t)
		e.c("good", good)
		e.must(os.Mkdir(e.folder, 0o755))
		e.must(os.Chmod(e.folder, 0o777))
		e.run().want(t, exitError, "may be written by others", "chmod go-w")
	})
}

// TestLinksAreNotFollowed: root must not be made to write elsewhere, not even the log.
func TestLinksAreNotFollowed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("others than root can only write what is theirs")
	}
	for _, name := range []string{"log", "lock", "journal", "schedule", "config.toml", "results"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newExperiment(t)
			e.c("good", good)
			e.must(os.Mkdir(e.folder, 0o755))
			outside, link := filepath.Join(e.dir, "outside"), filepath.Join(e.folder, name)
			e.must(os.Symlink(outside, link))
			if out := e.run(); out.code != exitError || !strings.Contains(out.stderr, link) {
				t.Errorf("link to nothing: exit status %d, %s", out.code, out.stderr)
			}
			if _, err := os.Lstat(outside); err == nil {
				t.Error("made a file outside")
			}
			e.write("outside", "precious")
			e.run().want(t, exitError, link)
			text, err := os.ReadFile(outside)
			e.must(err)
			if string(text) != "precious" {
				t.Errorf("the file outside was changed: %q", text)
			}
		})
	}
}

// TestCheck: it says whether krund could run the experiment here, and changes nothing.
func TestCheck(t *testing.T) {
	prefix := filepath.Join(scratch, "prefix")
	t.Run("fit", func(t *testing.T) {
		t.Parallel()
		e := newExperiment(t)
		e.c("good", good)
		path := e.write("test.toml", e.config())
		startKrund(t, prefix, "check", path).wait().want(t, exitOK, "test: 1 process executions of 1 keys", "fit to measure")
		out := startKrund(t, prefix, "check", "--json", path).wait()
		out.want(t, exitOK)
		var table struct {
			Findings []struct{ Name, Policy, Status string }
		}
		if err := json.Unmarshal([]byte(out.stdout), &table); err != nil || len(table.Findings) < 20 || table.Findings[0].Policy != "off" {
			t.Errorf("%v: %.200s", err, out.stdout)
		}
		if _, err := os.Lstat(e.folder); err == nil {
			t.Error("the folder was made")
		}
	})
	t.Run("unfit", func(t *testing.T) {
		t.Parallel()
		e := newExperiment(t)
		e.c("good", good)
		text := strings.Replace(e.config(), "temperature = \"off\"", `temperature = "require"`, 1)
		text = strings.Replace(text, "base_wait", "sensors = [\"no-such-sensor\"]\nbase_wait", 1)
		path := e.write("test.toml", text)
		startKrund(t, prefix, "check", path).wait().want(t, exitError, "temperature")
	})
	t.Run("missing benchmark", func(t *testing.T) {
		t.Parallel()
		e := newExperiment(t)
		e.c("good", good)
		path := e.write("test.toml", e.config())
		e.must(os.Remove(e.entry("good")))
		startKrund(t, prefix, "check", path).wait().want(t, exitUsage, "test.toml:", "good/bench.so", "build the benchmark")
	})
}

// TestInterruptions: signals to krund in the middle of an execution. Nothing is lost, nothing counts twice, and the same command goes on.
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
		if got := e.flags(); got != "CCC" {
			t.Errorf("slots %s, want CCC", got)
		}
		for _, name := range e.benchmarks {
			if r := e.outcome(name, results.Completed, 5); r.Attempt != 1 {
				t.Errorf("%s: attempt %d, want 1: an interruption does not count", name, r.Attempt)
			}
		}
	}
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			e := blocking(t)
			r := e.start()
			e.meet(r)
			r.signal(s)
			r.wait().want(t, exitInterrupted, "interrupted; the same command goes on where it stopped")
			if got := e.flags(); got != "COO" {
				t.Errorf("slots %s, want COO", got)
			}
			complete(t, e)
		})
	}
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		e := blocking(t)
		r := e.start()
		e.meet(r)
		r.signal(syscall.SIGKILL)
		r.wait()
		if got := e.flags(); got != "CRO" {
			t.Errorf("slots %s, want CRO", got)
		}
		complete(t, e, "krund ended in the middle of an execution, which is run again")
	})
	t.Run("second interrupt ends krund at once", func(t *testing.T) {
		t.Parallel()
		e := blocking(t)
		e.extra = fmt.Sprintf("[hooks]\ntimeout = \"50s\"\nafter = [[\"sh\", \"-c\", \"test -e %[1]s/quick || { echo x >%[1]s/ready; sleep 50; }\"]]\n", e.dir)
		e.write("quick", "")
		r := e.start()
		e.meet(r)
		e.must(os.Remove(filepath.Join(e.dir, "quick")))
		r.signal(syscall.SIGINT)
		e.meet(r) // the hook
		began := time.Now()
		r.signal(syscall.SIGINT)
		r.wait().want(t, exitInterrupted)
		if waited := time.Since(began); waited > 40*time.Second {
			t.Errorf("krund took %s", waited)
		}
		if got := e.flags(); got != "COO" {
			t.Errorf("slots %s, want COO", got)
		}
		e.write("quick", "")
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
		if got, n := e.flags(), len(e.records()); got != "O" || n != 0 {
			t.Errorf("slot %s, %d records; want O and none", got, n)
		}
	})
}

// TestKrunBenchmarks: benchmarks as they were written for Krun run unchanged.
func TestKrunBenchmarks(t *testing.T) {
	t.Run("Python 2", func(t *testing.T) {
		t.Parallel()
		e := newExperiment(t)
		for name, path := range runnertest.Pythons(t) {
			if strings.HasPrefix(name, "CPython 2.7") {
				e.python = path
			}
		}
		if e.python == "" {
			t.Skip("no Python 2.7")
		}
		e.py("fannkuch", `import sys
EXPECT_CKSUM = 45
def run_iter(n):
    s = 0
    for i in xrange(10):
        s += i
    if s != EXPECT_CKSUM:
        print "bad checksum: %d vs %d" % (s, EXPECT_CKSUM)
        sys.exit(1)
`)
		e.py("wrong", `import sys
def run_iter(n):
    for i in xrange(3): pass
    print "bad checksum: %d vs %d" % (i, n)
    sys.exit(1)
`)
		e.run().want(t, exitOK)
		e.outcome("fannkuch", results.Completed, 5)
		e.outcome("wrong", results.Error, 0, "exit status 1", "bad checksum: 2 vs 1000")
	})
	t.Run("C", func(t *testing.T) {
		t.Parallel()
		e := newExperiment(t)
		e.c("nbody", `
#define EXPECT_CKSUM 499500
void setup(void) {}
int run_iter(int n)
{
	unsigned long sum = 0;
	for (int i = 0; i < n; i++)
		sum += i;
	if (sum != EXPECT_CKSUM) {
		fprintf(stderr, "bad checksum: %lu vs %d\n", sum, EXPECT_CKSUM);
		exit(EXIT_FAILURE);
	}
	return 0;
}`)
		e.run().want(t, exitOK)
		r := e.outcome("nbody", results.Completed, 5)
		if r.Parameter != 1000 || r.Key != (key.Key{Benchmark: "nbody", VM: "C", Variant: "so"}) {
			t.Errorf("parameter %d of %s", r.Parameter, r.Key)
		}
	})
}

// TestExternalSuite: one program, several suites, told apart by the benchmark's name that krund passes.
func TestExternalSuite(t *testing.T) {
	t.Parallel()
	e := newExperiment(t)
	e.iterations = 3
	e.external = e.write("suite", `#!/bin/sh
none='"core_cycle_counts": [], "aperf_counts": [], "mperf_counts": []'
case "$1 $2 $3 $4" in
"times 3 1000 0") echo "{\"wallclock_times\": [0.5, 0.25, 1.000000001], $none}" ;;
"cores 3 1000 0") echo '{"wallclock_times": [1, 2, 3], "core_cycle_counts": [[1, 2, 3], [4, 5, 18446744073709551615]],
	"aperf_counts": [[1, 1, 1], [2, 2, 2]], "mperf_counts": [[1, 1, 1], [2, 2, 2]]}' ;;
"short 3 1000 0") echo "{\"wallclock_times\": [0.5], $none}" ;;
"garbage 3 1000 0") echo "Segmentation fault (just kidding)" ;;
"fails 3 1000 0") echo "{\"wallclock_times\": [0.5, 0.25, 1], $none}"; echo "no VM" >&2; exit 9 ;;
*) exit 77 ;;
esac
`)
	for _, name := range []string{"times", "cores", "short", "garbage", "fails", "missing-case"} {
		e.add(name, "External")
	}
	e.run().want(t, exitOK)
	if r := e.outcome("times", results.Completed, 3); r.WallNS[2] != 1_000_000_001 || r.CounterSource != "external" || r.Library != nil || r.StartNS != nil {
		t.Errorf("times %v, counters %s, library %v, starts %v", r.WallNS, r.CounterSource, r.Library, r.StartNS)
	}
	if r := e.outcome("cores", results.Completed, 3); len(r.Columns) != 6 || r.Columns[3].Counts[2] != 1<<64-1 || *r.Columns[3].Core != 1 {
		t.Errorf("columns %+v", r.Columns)
	}
	e.outcome("short", results.Error, 0, "wallclock_times has 1 numbers for 3 iterations")
	e.outcome("garbage", results.Error, 0, "the suite's output")
	e.outcome("fails", results.Error, 0, "exit status 9", "no VM")
	e.outcome("missing-case", results.Error, 0, "exit status 77")
}
