//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/durable"
	"krund/internal/experiment/directory"
	"krund/rig/must"
)

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
				f, err := directory.Open(durable.OS(), e.directory)
				e.must(err)
				lock, err := f.Lock(os.Getpid(), "here")
				e.must(err)
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
			e := newExperiment(t)
			e.executions = 3
			e.c("good", good)
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
	e := newExperiment(t)
	e.c("good", good)
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
	log, err := os.ReadFile(filepath.Join(e.directory, "log"))
	e.must(err)
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	last := lines[len(lines)-1]
	want := fmt.Sprintf(`msg="krund ended" status=%d`, code)
	must.Be(e.t, strings.Contains(last, want) && strings.Contains(last, text), "the log ends with", last,
		"want status", code, text)
}
