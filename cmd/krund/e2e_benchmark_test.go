//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"krund/internal/durable"
	"krund/internal/durable/foreign"
	"krund/internal/durable/foreign/deadfs"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// misbehaviour is one way in which a benchmark fails, and the expected record.
type misbehaviour struct {
	name    string
	c, py   string // source, one of them
	heap    string // limits, when others than the usual
	timeout string
	outcome results.Outcome
	done    int      // iterations in the record
	reasons []string // parts of them
	check   func(t *testing.T, e *experiment, r results.Record)
}

var misbehaviours = []misbehaviour{
	{
		name:    "segmentation fault in the fourth iteration",
		c:       `void run_iter(int p) { if (++n == 4) *(volatile int *)0 = 1; }`,
		outcome: results.Error, done: 3, reasons: []string{"ended by signal SIGSEGV", "3 of 5 iterations " +
			"were measured"},
	},
	{
		name:    "prints garbage and control characters",
		c:       `void run_iter(int p) { fputs("\033[2J\xff\xfe\a\r\b", stdout); fputs("\033c\200\n", stderr); }`,
		outcome: results.Completed, done: 5,
		check: func(t *testing.T, _ *experiment, r results.Record) {
			if p := r.Process; p.Stdout.Bytes != 45 || !utf8.ValidString(p.Stdout.Text) ||
				!strings.Contains(p.Stdout.Text, "\x1b[2J\uFFFD") || p.Stderr.Bytes != 20 {
				t.Errorf("stdout %+v, stderr %+v", p.Stdout, p.Stderr)
			}
		},
	},
	{
		name:    "last words with control characters and direction marks",
		c:       `void run_iter(int p) { fputs("\033[31mred\a\342\200\256dne\342\200\252", stderr); exit(3); }`,
		outcome: results.Error, done: 0, reasons: []string{"exit status 3", "red", "dne"},
	},
	{
		name: "exception in Python", py: "n = 0\ndef run_iter(p):\n    global n\n    n += 1\n    if n == " +
			"3: raise ValueError('no such planet')\n",
		outcome: results.Error, done: 2, reasons: []string{"exit status 70: the benchmark raised an " +
			"exception in run_iter", "run_iter: ValueError: no such planet", "2 of 5"},
		check: func(t *testing.T, _ *experiment, r results.Record) {
			must.Contain(t, r.Process.Stderr.Text, "ValueError: no such planet", "no traceback on stderr")
		},
	},
	{
		name: "a child that outlives it",
		c: `void run_iter(int p) {
			if (++n != 2 || fork() != 0) return;
			setsid();
			if (fork() != 0) _exit(0);
			FILE *f = fopen("pid", "w"); fprintf(f, "%d", getpid()); fclose(f);
			signal(SIGTERM, SIG_IGN); signal(SIGHUP, SIG_IGN);
			for (int fd = 0; fd < 64; fd++) close(fd);
			for (;;) pause();
		}
		__attribute__((destructor)) static void last(void) { while (access("pid", R_OK)) usleep(1000); }`,
		outcome: results.Completed, done: 5,
		check: func(t *testing.T, e *experiment, r results.Record) {
			must.Be(t, r.Process.Strays >= 1, r.Process.Strays, "strays")
			text := must.Get(os.ReadFile(filepath.Join(filepath.Dir(e.entry("victim")), "pid")))(e.t)
			pid := must.Get(strconv.Atoi(string(text)))(e.t)
			must.Fail(t, syscall.Kill(pid, 0), syscall.ESRCH, "process", pid, "lives on")
		},
	},
	{
		name: "endless iteration", timeout: "2s", c: `void run_iter(int p) { if (++n == 3) for (;;); }`,
		outcome: results.Timeout, done: 2, reasons: []string{"killed at the time limit of 2s " +
			"(limits.timeout) after 2 of 5 iterations"},
	},
	{
		name: "stops itself", timeout: "2s", c: `void run_iter(int p) { if (++n == 2) raise(SIGSTOP); }`,
		outcome: results.Timeout, done: 1, reasons: []string{"killed at the time limit of 2s " +
			"(limits.timeout) after 1 of 5 iterations"},
	},
	{
		name: "too much memory in C", heap: "64MiB",
		c:       `void run_iter(int p) { char *m = malloc(256 << 20); if (!m) { perror("malloc"); exit(4); } memset(m, 1, 256 << 20); }`,
		outcome: results.Error, done: 0, reasons: []string{"exit status 4", "malloc: Cannot allocate memory"},
	},
	{
		name:    "closes all its descriptors",
		c:       `void run_iter(int p) { for (int fd = 0; fd < 256; fd++) close(fd); }`,
		outcome: results.Completed, done: 5,
	},
	{
		name: "writes a gigabyte to stdout",
		c: `void run_iter(int p) {
			static char text[1 << 20];
			memset(text, 'x', sizeof text);
			if (++n == 1)
				for (int i = 0; i < 1024; i++)
					for (size_t at = 0; at < sizeof text;) { ssize_t k = write(1, text + at,
						sizeof text - at); if (k > 0) at += k; }
		}`,
		outcome: results.Completed, done: 5,
		check: func(t *testing.T, _ *experiment, r results.Record) {
			if o := r.Process.Stdout; o.Bytes != 1<<30 || !o.Truncated || len(o.Text) > 1<<20+200 {
				t.Errorf("%d bytes, truncated %v, %d kept", o.Bytes, o.Truncated, len(o.Text))
			}
		},
	},
	{
		name: "exits with 0 in its first iteration", c: `void run_iter(int p) { exit(0); }`,
		outcome: results.Error, done: 0, reasons: []string{"the process ended before the runner said that " +
			"it was done"},
	},
	{
		name:    "becomes another program",
		c:       `void run_iter(int p) { if (++n == 2) execl("/bin/true", "true", (char *)0); }`,
		outcome: results.Error, done: 1, reasons: []string{"the process ended before the runner said that " +
			"it was done"},
	},
	{
		name: "scribbles over the shared buffer",
		c: `void run_iter(int p) {
			char line[512];
			FILE *maps = fopen("/proc/self/maps", "r");
			if (++n < 4) return;
			while (fgets(line, sizeof line, maps)) {
				unsigned long from, to;
				if (strstr(line, " rw-s ") && strstr(line, "memfd:") && sscanf(line, "%lx-%lx", &from,
					&to) == 2)
					memset((void *)from, 0xff, to - from);
			}
		}`,
		outcome: results.Error, done: 4, reasons: []string{"the plan in the header was overwritten"},
		check: func(t *testing.T, _ *experiment, r results.Record) {
			must.Be(t, len(r.Library.Findings) != 0, "no findings about the buffer")
		},
	},
	{
		name: "forges its times in the shared buffer",
		c: `void run_iter(int p) {
			char line[512];
			FILE *maps = fopen("/proc/self/maps", "r");
			if (++n < 5) return;
			while (fgets(line, sizeof line, maps)) {
				unsigned long from, to;
				if (strstr(line, " rw-s ") && strstr(line, "memfd:") && sscanf(line, "%lx-%lx", &from,
					&to) == 2) {
					long *exec = (long *)(from + 136), *init = (long *)(from + 208);
					long *start = (long *)(from + *(long *)(from + 40)), *wall = (long *)(from +
						*(long *)(from + 48));
					wall[0] = start[0] - 10;
					start[0] = 3, *exec = 1, *init = 2;
				}
			}
		}`,
		outcome: results.Error, done: 5, reasons: []string{"the 5 iterations reportedly took",
			"but the process lived for 0.", "the buffer was made at"},
	},
	{
		name: "changes how its descriptors work",
		c: `#include <fcntl.h>
		int fallocate(int, int, long, long);
		void run_iter(int p) {
			for (int fd = 0; fd < 16; fd++) {
				fcntl(fd, F_SETFL, 02000 | 04000 | 040000); /* O_APPEND, O_NONBLOCK, O_DIRECT */
				fcntl(fd, 1031, 4096); fcntl(fd, 1033, 8); fcntl(fd, 1033, 16); /* F_SETPIPE_SZ,
					F_ADD_SEALS */
				lseek(fd, 1 << 30, SEEK_SET); ftruncate(fd, 0);
				fcntl(fd, 1024, F_WRLCK); lockf(fd, F_TLOCK, 0); /* F_SETLEASE */
				fallocate(fd, 1, 0, 1L << 40); /* FALLOC_FL_KEEP_SIZE */
			}
		}`,
		outcome: results.Completed, done: 5,
	},
	{
		name: "leaves many children that write",
		c: `void run_iter(int p) {
			if (++n != 1) return;
			for (int i = 0; i < 100; i++)
				if (fork() == 0) {
					signal(SIGTERM, SIG_IGN); setsid();
					for (;;) if (write(1 + i % 2, "flood\033[2J\n", 10) < 0) _exit(0);
				}
		}`,
		outcome: results.Completed, done: 5,
		check: func(t *testing.T, _ *experiment, r results.Record) {
			must.Be(t, r.Process.Strays == 100 && len(r.Process.Findings) <= 3 &&
				len(r.Process.Stdout.Text) <= 1<<20+200, r.Process.Strays, "strays",
				len(r.Process.Stdout.Text), "bytes of stdout, findings", r.Process.Findings)
		},
	},
	{
		name:    "shrinks the shared buffer",
		c:       `void run_iter(int p) { ftruncate(3, 0); ftruncate(3, 1 << 30); }`,
		outcome: results.Completed, done: 5,
	},
	{
		name: "kills its group", c: `void run_iter(int p) { if (++n == 2) kill(0, SIGKILL); }`,
		outcome: results.Error, done: 1, reasons: []string{"ended by signal SIGKILL"},
	},
	{
		name: "removes its own file", c: `void run_iter(int p) { unlink("bench.so"); }`,
		outcome: results.Completed, done: 5,
	},
}

// TestMisbehavingBenchmarks: each one ends with the right outcome and reasons, keeps what was
// measured before, and the next slot runs well.
func TestMisbehavingBenchmarks(t *testing.T) {
	for _, m := range misbehaviours {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			e := newExperiment(t)
			if m.heap != "" {
				e.heap = m.heap
			}
			if m.timeout != "" {
				e.timeout = m.timeout
			}
			if m.c != "" {
				e.c("victim", m.c)
				e.c("good", good)
			} else {
				e.py("victim", m.py)
				e.py("good", "def run_iter(p): sum(range(p))\n")
			}
			out := e.run()
			code := exitOK
			if m.outcome != results.Completed {
				code = exitFailed
				why := e.of("victim").Reasons[0]
				out.last(t,
					"krund: 1 of 2 process executions failed (`krunctl run --again` runs them again); "+
						"the first: victim:", printable(why))
			}
			out.want(t, code, "victim:", "good:")
			hidden := func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }
			must.Be(t, !strings.ContainsFunc(strings.ReplaceAll(out.stdout+out.stderr, "\n", ""), hidden),
				"control characters of the benchmark are printed", out.stdout+out.stderr)
			r := e.outcome("victim", m.outcome, m.done, m.reasons...)
			if m.check != nil {
				m.check(t, e, r)
			}
			e.outcome("good", results.Completed, 5)
			want := map[results.Outcome]string{results.Completed: "CC", results.Error: "EC",
				results.Timeout: "TC"}[m.outcome]
			must.Equal(t, e.flags(), want, "slots")
		})
	}
}

// TestDeadFileSystem: the benchmarks are on a file system that does not answer. A signal ends krund
// nevertheless, and the experiment has not begun.
func TestDeadFileSystem(t *testing.T) {
	e := newExperiment(t)
	e.c("b", good)
	asked := deadfs.Mount(t, filepath.Join(e.dir, "benchmarks"))
	r := e.start()
	select {
	case <-asked:
		r.signal(syscall.SIGTERM)
	case <-r.done:
	}
	r.wait().want(t, exitInterrupted, "")
	must.Refused(os.Stat(filepath.Join(e.directory, "schedule")))(t, "", "there is a schedule")
}

// TestKernelFile: a file of the kernel is neither a program nor a benchmark. Reading one such as
// /proc/kmsg waits for ever.
func TestKernelFile(t *testing.T) {
	e := newExperiment(t)
	e.c("b", good)
	e.vm["proc"] = "C"
	e.benchmarks = append(e.benchmarks, "proc")
	e.extra = "[vms.Kernel]\nrunner = \"python\"\npath = \"/proc/kmsg\"\nvariants = [\"kernel\"]\n" +
		"[variants.kernel]\nentry = \"version\"\n[machines.\"*\".experiment]\nbenchmarks = \"/\"\n"
	e.run().want(t, exitUsage, "/proc/kmsg is a file of the kernel",
		"/proc/version, which is a file of the kernel")
}

// TestPrepareLate: what comes before the first slot has a limit.
func TestPrepareLate(t *testing.T) {
	never := make(chan bool)
	defer close(never)
	_, err := prepareWithin(t.Context(), time.Nanosecond, func() (prepared, error) {
		<-never
		return prepared{}, nil
	})
	must.Be(t, errors.Is(err, foreign.ErrLate) && strings.Contains(err.Error(), "name another file"), err)
}

// TestEveryEndIsLogged: the log outlives standard error.
func TestEveryEndIsLogged(t *testing.T) {
	replace := func(old, by string) func(*testing.T, *experiment) {
		return func(t *testing.T, e *experiment) {
			text := e.config()
			must.Need(t, strings.Contains(text, old), "the configuration", old)
			e.write("test.toml", strings.Replace(text, old, by, 1))
		}
	}
	tests := map[string]struct {
		fault  func(*testing.T, *experiment) // in an experiment with one slot done and two outstanding
		code   int
		reason string
	}{
		"a mistake in the configuration": {fault: replace("1m", "1 minute"), code: exitUsage,
			reason: "timeout"},
		"another configuration": {
			fault: replace("256MiB", "128MiB"), code: exitError, reason: "another configuration",
		},
		"no configuration": {
			fault: func(_ *testing.T, e *experiment) {
				path := filepath.Join(e.dir, "test.toml")
				e.must(errors.Join(os.Remove(path), os.Mkdir(path, 0o755)))
			},
			code: exitUsage, reason: "is not a regular file",
		},
		"the schedule is damaged": {
			fault: func(_ *testing.T,
				e *experiment) {
				e.must(os.Truncate(filepath.Join(e.directory, "schedule"), 100))
			},
			code: exitError, reason: "schedule",
		},
		"the record cannot be stored": {
			fault: func(_ *testing.T, e *experiment) {
				e.must(os.Mkdir(filepath.Join(e.directory, "results", "0000001-001.json.gz"), 0o755))
			},
			code: exitError, reason: "store the record of slot 1",
		},
		"another krund works on it": {
			fault: func(t *testing.T, e *experiment) {
				f := must.Get(directory.Open(durable.OS(), e.directory))(e.t)
				lock := must.Get(f.Lock(os.Getpid(), "here"))(e.t)
				t.Cleanup(func() { _ = lock.Release() })
			},
			code: exitError, reason: "is running this experiment",
		},
		"the machine is not fit": {
			fault: func(_ *testing.T, e *experiment) { e.write("refuse", "") },
			code:  exitError, reason: "not fit to measure: hooks",
		},
	}
	if os.Geteuid() == 0 {
		trusts := tests["another configuration"]
		trusts.fault = func(_ *testing.T, e *experiment) {
			e.must(os.Chmod(filepath.Join(e.dir, "test.toml"), 0o666))
		}
		trusts.reason = "can be changed by others"
		tests["a configuration that other users can change"] = trusts
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := goodExperiment(t)
			e.executions = 3
			e.extra = fmt.Sprintf("[hooks]\nbefore = [[\"test\", \"!\", \"-e\", \"%[1]s/refuse\"]]\n"+
				"after = [[\"sh\", \"-c\", \"test -e %[1]s/go || touch %[1]s/test.krun/stop\"]]\n", e.dir)
			e.run().want(t, exitOK, "stopped as requested")
			e.write("go", "")
			test.fault(t, e)
			r := e.run()
			r.want(t, test.code)
			e.reason(test.code, test.reason)
			n := strings.Count(r.stderr, test.reason)
			must.Be(t, n >= 1, "standard error does not say", test.reason, r.stderr)
		})
	}
}

// TestNoLogWhereOthersWrite: no reason is logged in a directory that is not trusted, and no
// directory is created only for the log.
func TestNoLogWhereOthersWrite(t *testing.T) {
	e := goodExperiment(t)
	e.must(os.Mkdir(e.directory, 0o755))
	e.must(os.Mkdir(filepath.Join(e.directory, "results"), 0o755))
	e.must(os.Chmod(e.directory, 0o777))
	e.run().want(t, exitError, "can be changed by others")
	must.Refused(os.Lstat(filepath.Join(e.directory, "log")))(t, "",
		"a log was created in a directory that others may write")
	e.must(os.RemoveAll(e.directory))
	e.write("test.toml", "mistaken")
	e.run().want(t, exitUsage)
	must.Refused(os.Lstat(e.directory))(t, "", "a directory was created only for the log")
}

// reason checks that the last line of the log has the reason why krund ended.
func (e *experiment) reason(code int, text string) {
	e.t.Helper()
	log := must.Get(os.ReadFile(filepath.Join(e.directory, "log")))(e.t)
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	last := lines[len(lines)-1]
	want := fmt.Sprintf(`msg="krund ended" status=%d`, code)
	must.Be(e.t, strings.Contains(last, want) && strings.Contains(last, text), "the log ends with", last,
		"want status", code, text)
}
