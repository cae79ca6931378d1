package execution

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"krund/internal/execution/child"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// linked returns a job that is relinked by a program that never runs, and what it writes to.
func linked(t *testing.T) (j *Job, output string) {
	t.Helper()
	is := job(t, "nbody:C:so")
	is.Layout = Layout{Mode: config.LayoutRandom, LinkSeed: 12}
	is.Relink = Relink{Argv: []string{"/bin/sh", "-x"}, Timeout: time.Minute,
		Variables: []string{"KRUND_SLOT=3"}, Scratch: filepath.Join(t.TempDir(), "relinked")}
	return &is, filepath.Join(is.Relink.Scratch, filepath.Base(is.Entry))
}

// TestRelinkFails: whatever the command does instead of its work is the reason of an execution
// that does not start; an old file is never executed.
func TestRelinkFails(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Job)
		run    child.Run
		play   func(output string) error
		want   string
	}{
		{name: "exit status",
			run: child.Run{Process: results.Process{Exit: exited(3).Exit,
				Stderr: results.Output{Text: "a\nno objects\n"}}},
			want: "experiment.relink: exit status 3: no objects"},
		{name: "time limit", run: child.Run{Process: results.Process{TimedOut: true, Signal: "SIGKILL"}},
			want: "killed at the time limit of 1m0s (hooks.timeout)"},
		{name: "signal", run: child.Run{Process: results.Process{Signal: "SIGSEGV"}},
			want: "killed by SIGSEGV"},
		{name: "not started", run: child.Run{Process: results.Process{
			NotStarted: &results.StartFailure{Text: "exec format error"}}},
			want: "exec format error"},
		{name: "nothing written", run: exited(0), want: "must write the file $KRUN_LAYOUT_OUTPUT"},
		{name: "a link", run: exited(0), want: "is not a regular file",
			play: func(output string) error { return os.Symlink("/etc/passwd", output) }},
		{name: "no such program", change: func(j *Job) { j.Relink.Argv[0] = "/none" },
			want: "/none cannot be found"},
		{name: "root", change: func(j *Job) { j.Root = true }, want: "the result would run as root"},
	} {
		t.Run(test.name, func(t *testing.T) {
			j, output := linked(t)
			must.Do(t, errors.Join(os.Mkdir(filepath.Dir(output), 0o755),
				os.WriteFile(output, []byte("old"), 0o644)))
			if test.change != nil {
				test.change(j)
			}
			play := func(child.Command) {
				if test.play != nil {
					must.Do(t, test.play(output))
				}
			}
			e := Executor{Runner: fake{run: test.run, play: play}, Installed: installed}
			must.Do(t, e.Relink(t.Context(), j))
			m, err := e.Execute(t.Context(), *j)
			must.Be(t, err == nil && m.Process.NotStarted != nil &&
				strings.Contains(m.Process.NotStarted.Text, test.want), m.Process.NotStarted, err, "want",
				test.want)
			must.Be(t, m.Layout != nil && m.Layout.Relink != nil && m.Layout.Relink.SHA256 == "", "layout",
				m.Layout)
		})
	}
}
