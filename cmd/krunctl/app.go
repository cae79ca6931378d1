package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/control"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/exchange"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/internal/hub/submit"
	"krund/internal/machine/host"
	"krund/internal/machine/probe"
	"krund/internal/machine/sysroot"
	"krund/internal/msr"
	"krund/internal/reading/experiment"
	"krund/internal/report/console"
)

// app is the environment of the commands; tests have their own.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer // for data, and for messages
	terminal       io.Writer // what stdout writes to in the end
	now            func() time.Time
	host           string // name of this machine
	fsys           durable.FS
	uid            int                                             // of the caller
	systemctl      func(ctx context.Context, args ...string) error // runs systemctl
	machine        func(context.Context) *control.Machine          // this machine; simulated in tests
	hubURL         string                                          // of --hub; "": KRUNHUB_URL
	hubFile        string                                          // see joined.File
	state          string                                          // directory of what must survive a crash
	runtime        []string                                        // see directory.LockMachine

	env     func(string) string // os.Getenv
	running func() []int        // see directory.Measuring; nil: not asked
	// asks on the terminal, and returns the line that was typed; false: there is no terminal
	ask func(question string) (answer string, asked bool)

	leftOut map[[2]string]bool // source and reason of each record that was left out
	said    map[string]int     // how often each message would have been printed
	empty   []string           // sources without anything to analyze, and why

	counters func(context.Context, sysroot.Root, msr.Want) []msr.SourceFinding // looks for counters
	measure  func(context.Context, host.Host, host.CPUs, time.Duration) (probe.Proof, error)
	krund    func(args []string, wait bool) error // starts krund; see startKrund
}

// Bounds of one message.
const (
	talkLines    = 200
	talkBytes    = 64 << 10
	messageBytes = 2 << 10 // of a part that others have written
)

// talk prints a message on standard error, once; end says how often it came.
func (a *app) talk(format string, args ...any) {
	if a.said == nil {
		a.said = make(map[string]int)
	}
	text := fmt.Sprintf(format, args...)
	if a.said[text]++; a.said[text] == 1 {
		a.tell("%s", text)
	}
}

// tell prints a message on standard error. It is bounded and fit for a terminal.
func (a *app) tell(format string, args ...any) {
	var lines []string
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		lines = append(lines, display.Terminal(strings.TrimSuffix(line, "\n")))
	}
	text := strings.Join(display.ClipLines(lines, talkLines, talkBytes), "\n")
	_, _ = fmt.Fprintln(a.stderr, text) // an error here cannot be reported anywhere
}

// print writes data to standard output. The buffer behind it keeps write errors, which runIn
// reports at the end.
func (a *app) print(format string, args ...any) {
	_, _ = fmt.Fprintf(a.stdout, format, args...)
}

// console writes text for people to standard output.
func (a *app) console() *console.Console { return console.New(a.stdout, a.terminal) }

// confirm asks whether to go on. Without a terminal the answer is yes, as scripts expect.
func (a *app) confirm(question string) (bool, error) {
	if out, ok := a.stdout.(*bufio.Writer); ok { // what the question is about
		if err := out.Flush(); err != nil {
			return false, fmt.Errorf("write the output: %w", err)
		}
	}
	answer, asked := a.ask(question + " [y/N] ")
	return !asked || slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))), nil
}

// asker returns app.ask for these files.
func asker(stdin io.Reader, stdout, stderr io.Writer) func(string) (string, bool) {
	return func(question string) (string, bool) {
		for _, end := range []any{stdin, stdout} {
			if f, ok := end.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
				return "", false
			}
		}
		fmt.Fprint(stderr, question)
		answer, _ := bufio.NewReader(stdin).ReadString('\n') // its end is no
		return answer, true
	}
}

// printJSON writes one document.
func (a *app) printJSON(document any) error {
	return display.WriteJSON(a.stdout, document)
}

// Exit codes.
const (
	exitOK    = 0
	exitError = 1 // something could not be done, or problems were found
	exitUsage = 2 // wrong usage or configuration

	exitLeftOut = 3 // success, but records were left out, or nothing could be judged
	exitWaiting = 4 // an experiment of a hub has not ended
)

// records reads the records of an experiment.
func (a *app) records(f experiment.Experiment, pattern *key.Pattern) (*experiment.Records, error) {
	m, err := f.Records(pattern, a.host, func(err error) { a.leaveOut(f.Dir(), err.Error()) })
	if err == nil && m.Programs != "" {
		a.talk("%s: %s", f.Dir(), m.Programs)
	}
	return m, err
}

// opened opens the experiment that arg names, and reads its records of the keys that match --key.
func (a *app) opened(arg, key string) (f experiment.Experiment, m *experiment.Records, err error) {
	pattern, err := experiment.ParsePattern(key)
	if err == nil {
		f, err = experiment.Open(a.fsys, arg)
	}
	if err == nil {
		m, err = a.records(f, pattern)
	}
	return f, m, err
}

// answer prints a document as JSON, or as text.
func (a *app) answer(format string, document any, text func()) error {
	if format == "json" {
		return a.printJSON(document)
	}
	text()
	return nil
}

// reader reads experiments and files of results. workers is the number of goroutines of an
// analysis.
func (a *app) reader(workers int) experiment.Reader {
	return experiment.Reader{
		FS: a.fsys, LeaveOut: a.leaveOut, Message: a.talk, Workers: workers,
		Empty: func(source, why string) {
			a.empty = append(a.empty, fmt.Sprintf("nothing of %s could be analyzed: %s", source,
				display.Clip(why, messageBytes)))
		},
		Progress: func(source string) (func(warmup.Progress), func()) {
			bar := console.NewProgress(a.stderr, a.now, source)
			return bar.Show, bar.Clear
		},
	}
}

// usageError marks a mistake in the command line.
func usageError(err error) error { return experiment.UsageError{Err: err} }

// errFound ends a command that did its work and found problems, which its output names.
var errFound = errors.New("problems were found")

// errUnjudged ends a comparison that cannot be judged.
var errUnjudged = experiment.ErrUnjudged

// leaveOut reports, once, that a record of source could not be read, and why. The command continues
// without it, and ends with exitLeftOut unless there is an error.
func (a *app) leaveOut(source, why string) {
	const most = 3 // records that are named
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

// end prints the error of a command, and returns its exit code.
func (a *app) end(err error) int {
	if n := len(a.leftOut); n > 0 {
		a.talk("krunctl: left out %s in all; `krunctl check` of its directory shows how to fix that",
			display.Count(n, "record"))
		if err == nil && len(a.empty) == 0 {
			return exitLeftOut
		}
	}
	if err == nil && len(a.empty) > 0 {
		err = errors.New(strings.Join(a.empty, "\nkrunctl: "))
	}
	for _, text := range slices.Sorted(maps.Keys(a.said)) {
		if n := a.said[text]; n > 1 {
			a.tell("krunctl: %d times: %.60s", n, text)
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
	var krund krundError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &krund):
		return int(krund)
	case errors.As(err, &usage), errors.As(err, &wrong), errors.Is(err, exchange.ErrUnknown):
		return exitUsage
	case errors.Is(err, errUnjudged), errors.Is(err, errStep):
		return exitLeftOut
	case errors.Is(err, submit.ErrWaiting):
		return exitWaiting
	}
	return exitError
}

// message returns the text to print for err; "" for none.
func message(err error) string {
	if err == nil || err == errFound || err == errStep { //nolint:errorlint // a joined error has more to say
		return ""
	}
	return err.Error()
}

// arguments returns a check of the number of arguments. Its error is a UsageError.
func arguments(low, high int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) >= low && len(args) <= high {
			return nil
		}
		return usageError(fmt.Errorf("%s needs %s, not %d arguments; see `%s --help`", c.Name(), what,
			len(args), c.CommandPath()))
	}
}

// toOutput calls write with the file that -o names, or with standard output.
func (a *app) toOutput(file string, write func(io.Writer) error) error {
	if file == "" || isStdout(file) {
		return write(a.stdout)
	}
	return durable.WriteUserFile(file, write)
}

// canWrite returns the error that toOutput would give, before the work is done that it is for. It
// changes nothing.
func canWrite(file string) error {
	info, err := os.Stat(file)
	if file == "" || isStdout(file) || durable.IsDescriptor(file) ||
		err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return nil
	}
	tried := errors.New("nothing to write yet")
	if err := durable.WriteUserFile(file, func(io.Writer) error { return tried }); !errors.Is(err, tried) {
		return err
	}
	return nil
}

// toText writes a text to the file that -o names, or to standard output.
func (a *app) toText(file string, text []byte) error {
	return a.toOutput(file, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// isStdout reports whether -o names standard output. A command then prints nothing else there.
func isStdout(output string) bool {
	return slices.Contains([]string{"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}, output)
}

// needsDirectory returns an error if -o names standard output or another open file.
func needsDirectory(output string) error {
	if isStdout(output) || durable.IsDescriptor(output) {
		return usageError(fmt.Errorf("%s: the output is a directory with several files; name one", output))
	}
	return nil
}

// printing is how a command prints documents.
type printing[D any] struct {
	json, csv bool
	table     func(D)
	rows      func(D) [][]string // of the CSV; the first is the header
}

// print prints document i of a command, from 0.
func (p printing[D]) print(a *app, i int, doc D) error {
	switch {
	case p.json:
		return a.printJSON(doc)
	case p.csv:
		rows := p.rows(doc)
		if i > 0 { // the header is written once
			rows = rows[1:]
		}
		return display.NewCSV(a.stdout).WriteAll(rows)
	}
	if i > 0 {
		a.print("\n")
	}
	p.table(doc)
	return nil
}

// lookAtEach reads the arguments of a command, makes a document of each with look, and prints it.
// judged returns the number of keys of a document that could be judged; if there are none in any,
// the error is errUnjudged.
func lookAtEach[D any](
	a *app,
	args []string,
	input experiment.Selection,
	look func(*dataset.Dataset) (D, error),
	p printing[D],
	judged func(D) int,
) error {
	input.Clean = true
	keys := 0
	for i, arg := range args {
		in, err := a.reader(1).Read(arg, input)
		if err != nil {
			return err
		}
		doc, err := look(in.Data)
		if err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
		keys += judged(doc)
		if err := p.print(a, i, doc); err != nil {
			return err
		}
	}
	if keys == 0 && len(a.empty) == 0 { // else that is the error
		return fmt.Errorf("%w: no key has executions that can be used; the output says why", errUnjudged)
	}
	return nil
}

// count returns how many elements of a list are of a kind.
func count[T any](list []T, is func(T) bool) int {
	n := 0
	for _, v := range list {
		if is(v) {
			n++
		}
	}
	return n
}
