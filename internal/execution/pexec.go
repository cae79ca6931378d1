package execution

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	libkrun "krund/cgo"
	"krund/internal/durable/trust"
	"krund/internal/execution/child"
	"krund/internal/execution/verdict"
	"krund/internal/execution/watcher"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/internal/machine/sysroot"
	"krund/runners"
	"krund/runners/external"
)

// Measured is the result of one process execution, and the input of the verdict.
type Measured struct {
	// The parts of the record that follow from the process: from Clock to Daemon, but for Machine.
	results.Record

	Interrupted bool             // the context ended and the benchmark was killed; the result does not count
	Execution   verdict.Evidence // Disturbed has the counters' findings; the caller adds those of the probes
}

// Runner runs a process; *child.Runner implements it.
type Runner interface {
	Run(ctx context.Context, c child.Command) (child.Run, error)
}

// Executor performs jobs.
type Executor struct {
	Runner    Runner
	Installed Installed
	Root      sysroot.Root // for the devices and settings of the counters
	Terminal  *os.File     // where the number of iterations is shown; nil: nowhere
	// returns the line around the number of iterations; called just before the benchmark starts
	Line func(iterations int) watcher.Line

	// Trust judges the paths of what runs as root: the program and the benchmark of a job under the
	// caller's account. nil accepts everything.
	Trust func(trust.Verdict) error

	cores []int // cores whose counters are read; nil means all
}

// distrusted returns why root must not run the job, or "" if it may or if the benchmark has its own
// account.
func (e Executor) distrusted(j Job) string {
	if e.Trust == nil || !j.Root || !j.Account.IsCaller() {
		return ""
	}
	for _, path := range []string{j.Program, j.Entry} {
		if path == "" {
			continue // the installed runner, or a suite without a file
		}
		verdict, err := trust.Look(path)
		switch {
		case err == nil:
			err = e.Trust(verdict)
		case errors.Is(err, fs.ErrNotExist): // it could exist by the time of the run
			err = errors.Join(e.Trust(verdict), verdict.Absent())
		}
		if err != nil {
			return "it would run as root: " + err.Error()
		}
	}
	return ""
}

// Execute runs j once. The effects of the benchmark are in Measured; the error is for what krund
// itself could not do, and ErrNoCounters.
func (e Executor) Execute(ctx context.Context, j Job) (Measured, error) {
	if j.Missing == "" {
		j.Missing = e.distrusted(j)
	}
	if j.Missing != "" {
		m := fromRun(j, child.Run{Process: results.Process{NotStarted: &results.StartFailure{Step: "find",
			Errno: "ENOENT", Text: j.Missing}}}, e.Installed)
		m.Clock, m.CounterSource, m.CounterReason = libkrun.ClockName(), "none", "nothing was started"
		return m, nil
	}
	if j.External() {
		return e.executeExternal(ctx, j)
	}
	// The counters of a task include the children of the thread that opened them.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	counters, reason, err := e.open(ctx, j)
	if err != nil {
		return Measured{}, err
	}
	spec, err := counters.Apply(j.spec(), bufferFD+1)
	if err != nil {
		return Measured{}, errors.Join(fmt.Errorf("plan the counters: %w", err), counters.Close())
	}
	m, err := e.measure(ctx, j, spec, counters)
	if counted, known := counters.Counted(); known && err == nil {
		used := time.Duration(m.Process.UTimeNS + m.Process.STimeNS)
		m.Execution.Unsound = append(m.Execution.Unsound, verdict.JudgeCounted(counted, used)...)
	}
	closeErr := counters.Close()
	if err != nil {
		return Measured{}, errors.Join(err, closeErr)
	}
	if closeErr != nil { // the measurement is still valid
		m.Process.Findings = append(m.Process.Findings, closeErr.Error())
	}
	m.CounterSource, m.CounterReason = counters.Source(), reason
	m.judgeCounters(j)
	return m, nil
}

// command returns the command of a job on this machine.
func (e Executor) command(j Job) child.Command {
	c := j.command(e.Installed)
	c.DaemonCPUs = housekeeping(e.Root, j.CPUs)
	return c
}

// measure runs the process with its own buffer.
func (e Executor) measure(ctx context.Context, j Job, spec libkrun.Spec, counters counterSet) (Measured,
	error) {
	buffer, err := libkrun.Create(spec)
	if err != nil {
		return Measured{}, fmt.Errorf("create the measurement buffer for %d iterations: %w", j.Iterations,
			err)
	}
	w := e.placeWatcher(&j)
	c := e.command(j)
	c.Files = []*os.File{buffer.File()}
	handOver(&c, counters)
	c.Stamp, c.StampOffset = buffer.File(), buffer.ExecOffset()
	w.start(e, j, buffer)
	used := energy(e.Root, sysroot.RealClock{}.Now)
	recording := e.record(j)
	run, err := e.Runner.Run(ctx, c)
	log, reason := recording.stop()
	spent := used()
	report, watched := w.end()
	if err != nil {
		return Measured{}, errors.Join(err, buffer.Close())
	}
	series, err := buffer.Read()
	if err = errors.Join(err, buffer.Close()); err != nil {
		return Measured{}, fmt.Errorf("read the measurement buffer: %w", err)
	}
	m := fromRun(j, run, e.Installed)
	m.Clock, m.Energy = libkrun.ClockName(), spent
	m.takeSeries(series, run)
	if recording.wanted() {
		m.takeSwitches(log, reason, series, run)
	}
	if watched {
		m.takeReport(w, report)
	}
	m.Execution.Series = append(m.Execution.Series, faults(series, run)...)
	m.Execution.Unsound = append(m.Execution.Unsound, doubts(series)...)
	return m, nil
}

// takeSeries stores what libkrun measured in the parts of the record.
func (m *Measured) takeSeries(s libkrun.Series, run child.Run) {
	m.Startup = results.Startup{ExecNS: stamp(s.ExecNS), InitNS: stamp(s.InitNS), FirstNS: stamp(s.FirstNS),
		DoneNS: stamp(s.DoneNS)}
	if run.NotStarted == nil {
		m.StartNS, m.WallNS, m.Columns, m.Totals = s.StartNS, s.WallNS, columns(s.Columns), totals(s.Totals)
		m.Events, m.EventsLost = events(s.Events), s.EventsLost
	}
	m.Library = &results.Library{State: stateName(s.State), BegunNS: stamp(s.BegunNS),
		Findings: append([]string{}, s.Findings...)}
	if s.Error != libkrun.OK {
		m.Library.Error = s.Error.Error()
	}
	m.Execution.Done, m.Execution.WallNS = s.Done, m.WallNS
}

// doubts returns reasons why a series is impossible although the runner and the process behaved
// correctly.
func doubts(s libkrun.Series) []string {
	d := slices.Clone(s.Findings)
	if unreadable(s.Error) {
		d = append(d, "libkrun reported: "+s.Error.Error())
	}
	return d
}

// unreadable reports whether an error of libkrun means that the machine did not provide the
// counters. All other errors are those of the runner or the benchmark.
func unreadable(e libkrun.Error) bool { return e == libkrun.EREAD || e == libkrun.EPART }

// faults returns reasons why a series is not the requested one, even if the process succeeded.
func faults(s libkrun.Series, run child.Run) []string {
	var d []string
	if s.Error != libkrun.OK && !unreadable(s.Error) {
		d = append(d, "libkrun reported to the runner: "+s.Error.Error())
	}
	if run.Exit == nil || *run.Exit != 0 {
		return d // how it ended is more informative than what follows
	}
	switch {
	case s.State == libkrun.StateNew:
		d = append(d, "the process ended without using libkrun; is the VM's runner correct?")
	case s.State == libkrun.StateReady:
		d = append(d, "the process ended before the runner said that it was done")
	case s.Pid > 0 && s.Pid != run.PID:
		d = append(d, fmt.Sprintf("measured by process %d, a child of the one that was started (%d)",
			s.Pid, run.PID))
	}
	return d
}

func (e Executor) executeExternal(ctx context.Context, j Job) (Measured, error) {
	used := energy(e.Root, sysroot.RealClock{}.Now)
	c, suite := e.command(j), external.NewReader(j.Iterations)
	c.Stdout = suite
	run, err := e.Runner.Run(ctx, c)
	r, wrong := suite.Result()
	if err != nil {
		return Measured{}, err
	}
	m := fromRun(j, run, e.Installed)
	m.Energy = used()
	m.Clock, m.CounterSource = "external", "external"
	if run.NotStarted != nil || run.Exit == nil || *run.Exit != 0 {
		return m, nil
	}
	if wrong != nil {
		m.Execution.Series = []string{"the suite's output: " + wrong.Error()}
		return m, nil
	}
	m.WallNS, m.Columns = r.WallNS, externalColumns(r)
	m.Execution.Done, m.Execution.WallNS = len(r.WallNS), r.WallNS
	return m, nil
}

// fromRun converts the result of running the process.
func fromRun(j Job, run child.Run, in Installed) Measured {
	c := j.command(in)
	layout, env := j.Layout.record(c)
	env, inherited := j.disclosed(env, in)
	p := run.Process
	p.Argv, p.Dir, p.Env, p.EnvInherited = c.Args, c.Dir, env, inherited
	p.Account, p.FreshHome = cmp.Or(j.Account.Name, in.CallerName), j.Account.Own
	p.Limits, p.Findings = limits(c.Limits, run.Processes), append([]string{}, run.Findings...)
	e := verdict.Evidence{
		Planned: j.Iterations, Exit: run.Exit, Signal: run.Signal, TimedOut: run.TimedOut,
		Timeout: j.Limits.Timeout, TimeoutBy: j.Limits.By,
		OOMKills: run.OOMKills, LastWords: lastWords(run), Lifetime: time.Duration(run.WallNS),
		External: j.External(),
		Said:     said(run.Stderr.Text) + "\n" + said(run.Stdout.Text), Bounds: bounds(j, run),
	}
	if run.Exit != nil && !j.External() {
		e.ExitText = runners.Explain(*run.Exit)
		said, failed := runners.CommandFailure(*run.Exit, e.LastWords)
		if failed && j.VM.Runner == config.RunnerCommand {
			e.Failed, e.LastWords = said, ""
		}
	}
	if f := run.NotStarted; f != nil {
		e.NotStarted = f.Text
	}
	return Measured{Record: results.Record{Layout: layout, Process: p, Daemon: run.Daemon}, Execution: e,
		Interrupted: run.Interrupted}
}

// said returns the end of an output, where a program says why it ends.
func said(text string) string {
	const most = 16 << 10
	return text[max(0, len(text)-most):]
}

// bounds returns the limits that were in effect, for the verdict.
func bounds(j Job, run child.Run) verdict.Bounds {
	size := func(n int64) string {
		if n == 0 {
			return ""
		}
		return config.FormatSize(n)
	}
	b := verdict.Bounds{Heap: size(j.Limits.Heap), Stack: size(j.Limits.Stack),
		HeapBytes: j.Limits.Heap, MaxRSSBytes: run.MaxRSSBytes}
	if run.Processes > 0 {
		b.Processes = strconv.FormatInt(run.Processes, 10)
	}
	if j.Account.Own {
		b.Home = size(j.Limits.Home)
	}
	return b
}

// lastWords returns the last non-blank line of stderr, or else of stdout, shortened to fit a
// reason.
func lastWords(run child.Run) string {
	const most = 300
	for _, text := range []string{run.Stderr.Text, run.Stdout.Text} {
		text = strings.TrimSpace(text)
		line := strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
		if len(line) > most {
			line = strings.ToValidUTF8(line[:most], "") + "..."
		}
		if line != "" {
			return line
		}
	}
	return ""
}
