package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"krund/internal/analysis/warmup"
	"krund/internal/config"
	"krund/internal/control"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/exchange"
	"krund/internal/experiment"
	"krund/internal/key"
	"krund/internal/msr"
	"krund/internal/probe"
	"krund/internal/sysroot"
)

// app is the world that the commands work in.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer // data, and talk
	now            func() time.Time
	host           string // name of this machine
	fsys           durable.FS
	uid            int                                             // of the caller
	systemctl      func(ctx context.Context, args ...string) error // tells systemd
	machine        func(context.Context) *control.Machine          // this machine, or a test's copy of one
	state          string                                          // directory for what krunctl must find again after a crash
	runtime        []string                                        // directories for what ends with the boot: where the lock of the machine is

	leftOut map[[2]string]bool // source and reason of what could not be read

	counters func(context.Context, sysroot.Root, msr.Want) []msr.Finding // which counters there are
	measure  func(context.Context, *control.Machine, control.CPUs, time.Duration) (probe.Proof, error)
}

// Bounds of one message for people.
const (
	talkLines = 200
	talkBytes = 64 << 10
)

// talk prints a message for people. Its lines are made fit for a terminal, and
// there are no more of them than anyone reads.
func (a *app) talk(format string, args ...any) {
	var lines []string
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		lines = append(lines, display.Terminal(strings.TrimSuffix(line, "\n")))
	}
	for _, line := range display.ClipLines(lines, talkLines, talkBytes) {
		_, _ = fmt.Fprintln(a.stderr, line) // an error here cannot be reported anywhere
	}
}

// print writes data to standard output. Write errors are kept by the buffer
// behind it and reported at the end.
func (a *app) print(format string, args ...any) {
	_, _ = fmt.Fprintf(a.stdout, format, args...)
}

// printJSON writes one document.
func (a *app) printJSON(document any) error {
	e := json.NewEncoder(a.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(document)
}

// Exit codes.
const (
	exitOK    = 0
	exitError = 1 // could not be done, or problems were found
	exitUsage = 2 // wrong usage or configuration

	exitLeftOut = 3 // done, without records that could not be read
)

// records reads the records of an experiment.
func (a *app) records(f experiment.Experiment, pattern *key.Pattern) (*experiment.Records, error) {
	return f.Records(pattern, a.host, func(err error) { a.leaveOut(f.Dir(), err.Error()) })
}

// reader reads experiments and files of results. workers is the number of goroutines of an analysis.
func (a *app) reader(workers int) experiment.Reader {
	return experiment.Reader{
		FS: a.fsys, LeaveOut: a.leaveOut, Message: a.talk, Workers: workers,
		Progress: func(source string) (func(warmup.Progress), func()) {
			bar := newProgressBar(a, source)
			return bar.show, bar.clear
		},
	}
}

// usageError marks a mistake in the command line.
func usageError(err error) error { return experiment.UsageError{Err: err} }

// errFound ends a command that did its work and found problems. What they are
// is in its output already.
var errFound = errors.New("problems were found")

// leaveOut says, once, that something of source could not be read, and why. The command goes on
// without it, and ends with exitLeftOut unless there is worse.
func (a *app) leaveOut(source, why string) {
	const most = 20 // that are named
	if a.leftOut == nil {
		a.leftOut = make(map[[2]string]bool)
	}
	if what := [2]string{source, why}; !a.leftOut[what] {
		a.leftOut[what] = true
		if len(a.leftOut) <= most {
			a.talk("krunctl: %s: left out: %s", source, why)
		}
	}
}

// end says how a command ended, and returns its exit code.
func (a *app) end(err error) int {
	if n := len(a.leftOut); n > 0 {
		a.talk("krunctl: left out %s in all; `krunctl check-data` says what to do", display.Count(n, "record"))
		if err == nil {
			return exitLeftOut
		}
	}
	if text := message(err); text != "" {
		a.talk("krunctl: %s", text)
	}
	return exitCode(err)
}

func exitCode(err error) int {
	var usage experiment.UsageError
	var wrong config.Errors
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage), errors.As(err, &wrong), errors.Is(err, exchange.ErrUnknown),
		errors.Is(err, exchange.ErrPacked):
		return exitUsage
	}
	return exitError
}

// message is what to print about err; "" for nothing.
func message(err error) string {
	if err == nil || err == errFound { //nolint:errorlint // a joined error has more to say
		return ""
	}
	return err.Error()
}

// arguments makes a check of the number of arguments whose error is a UsageError.
func arguments(low, high int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) >= low && len(args) <= high {
			return nil
		}
		return usageError(fmt.Errorf("%s needs %s, not %d arguments; see `%s --help`", c.Name(), what, len(args), c.CommandPath()))
	}
}
