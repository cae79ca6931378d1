package console

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/dataset"
	"krund/internal/display"
	"krund/internal/execution/verdict"
	"krund/internal/experiment/config/setting"
	"krund/internal/experiment/results"
	"krund/internal/machine/host"
)

// Record writes a record for people.
func (out *Console) Record(r results.Record) {
	out.Line("record", "slot %d, attempt %d: %s, process execution %d", r.Slot, r.Attempt, r.Key, r.Pexec)
	out.Line("outcome", "%s", r.Outcome)
	for _, reason := range r.Reasons {
		out.Line("", "%s", reason)
	}
	out.Line("experiment", "%s on %s, by krund %s", r.Experiment, r.Host, r.Krund)
	out.Line("started", "%s, reboot %s, boot %s", r.Started.Format(time.RFC3339Nano), r.Reboot, r.BootID)
	out.Line("iterations", "%d of %d, parameter %d", len(r.WallNS), r.Iterations, r.Parameter)
	if w := r.Watcher; w != nil {
		out.Line("watcher", "on CPU %d%s", w.CPU, inBrackets(w.Problem))
		if w.Stop != nil {
			out.list([]string{warmupText(*w.Stop)})
		}
	}
	if text := wallText(r.WallNS); text != "" {
		out.Line("wall", "%s", text)
	}
	out.Line("clock", "%s, counters %s%s", r.Clock, r.CounterSource, inBrackets(r.CounterReason))
	if text := startupText(r.Startup); text != "" {
		out.Line("start-up", "%s", text)
	}
	for _, c := range r.Columns {
		empty := ""
		if c.Empty != nil && *c.Empty > 0 {
			empty = fmt.Sprintf(", %d without work", *c.Empty)
		}
		out.Line("column", "%s, %s, %d values%s%s", c.Label(), c.Kind, c.Len(), empty, inBrackets(c.Unit))
	}
	if r.Instrument != "" || len(r.Events) > 0 {
		out.Line("events", "%d, %d lost; %s", len(r.Events), r.EventsLost,
			dataset.InstrumentText(r.Instrument))
	}
	for _, t := range r.Totals {
		out.Line("total", "%s %s%s", results.Column{Name: t.Name, Core: t.Core}.Label(),
			known(t.Value, func(n uint64) string { return strconv.FormatUint(n, 10) }, "unknown"),
			inBrackets(t.Unit))
	}
	for _, e := range r.Energy {
		used := "unknown: " + e.Reason
		if e.UJ != nil {
			used = fmt.Sprintf("%.6f J", float64(*e.UJ)/1e6)
		}
		out.Line("energy", "%s (%s) %s", e.Name, e.Zone, used)
	}
	for _, f := range r.Frequencies {
		out.Line("frequency", "%s", frequencyText(f))
	}
	out.printSwitches(r.Switches)
	if r.Library != nil {
		out.Line("libkrun", "%s%s", r.Library.State, inBrackets(r.Library.Error))
		out.list(r.Library.Findings)
	}
	out.print("\n")
	out.printProcess(r.Process, r.Layout)
	out.print("\n")
	out.printMachine(r.Machine)
	out.printDaemon(r.Daemon)
	if err := r.Check(); err != nil {
		out.Line("inconsistent", "%v", err)
	}
}

// printSwitches prints who else ran on the benchmark's processors.
func (out *Console) printSwitches(s *results.Switches) {
	if s == nil {
		return
	}
	if s.Reason != "" {
		out.Line("switches", "%s", s.Reason)
	}
	for _, t := range s.Tasks {
		out.Line("switches", "%s (process %d): %d runs, %s", cmp.Or(t.Name, "-"), t.PID, t.Runs,
			display.Nanoseconds(float64(t.CPUNS)))
	}
	if s.FullNS != nil {
		out.Line("", "the memory for them was full before the end: later ones are missing")
	}
}

func (out *Console) printDaemon(d results.Daemon) {
	wakes := ""
	if d.WakeUps != nil {
		wakes = fmt.Sprintf(", %d wake-ups", *d.WakeUps)
	}
	if d.CPUs != nil {
		wakes += fmt.Sprintf(", confined to CPU %s", host.CPUs(d.CPUs))
	}
	out.Line("daemon", "cpu %s, %d switches%s, resident %s", display.Nanoseconds(float64(d.CPUNS)),
		d.VoluntarySwitches+d.InvoluntarySwitches, wakes, display.Bytes(d.RSSBytes))
	k := d.KernelThreads
	if k == nil {
		return
	}
	out.Line("kernel", "its threads: cpu %s in %d runs, on the benchmark's processors %s in %d",
		display.Nanoseconds(float64(k.All.CPUNS)), k.All.Runs,
		display.Nanoseconds(float64(k.Benchmark.CPUNS)), k.Benchmark.Runs)
	for _, t := range k.Busiest[:min(len(k.Busiest), 3)] {
		out.Line("", "%s on CPU %d: %s in %d", t.Name, t.CPU, display.Nanoseconds(float64(t.CPUNS)), t.Runs)
	}
}

func (out *Console) printProcess(p results.Process, layout *results.Layout) {
	out.Line("command", "%s", display.ShellJoin(p.Argv))
	out.Line("directory", "%s", p.Dir)
	out.Line("environment", "%d variables, %d bytes", len(p.Env), p.EnvBytes)
	if layout != nil {
		out.Line("layout", "%s: environment and stack moved by %d bytes", layout.Mode, layout.OffsetBytes)
		if r := layout.Relink; r != nil {
			out.Line("relinked", "with seed %d: SHA-256 %s", r.Seed, cmp.Or(r.SHA256, "-"))
		}
	}
	fresh := ""
	if p.FreshHome {
		fresh = ", made for this attempt"
	}
	out.Line("account", "%s (%d:%d)%s, nice %d", cmp.Or(p.Account, "-"), p.UID, p.GID, fresh, p.Nice)
	out.Line("cgroup", "%s%s", cmp.Or(p.Cgroup, "-"), inBrackets(p.CgroupReason))
	l := p.Limits
	out.Line("limits", "heap %s, stack %s, time %s, processes %s",
		known(l.HeapBytes, display.Bytes, "none"), known(l.StackBytes, display.Bytes, "none"),
		known(l.TimeoutNS, duration, "none"), known(l.Processes, decimal, "none"))
	out.Line("ended", "%s", endText(p))
	out.Line("used", "wall %s, user %s, system %s, at most %s of memory",
		display.Nanoseconds(float64(p.WallNS)), display.Nanoseconds(float64(p.UTimeNS)),
		display.Nanoseconds(float64(p.STimeNS)), display.Bytes(p.MaxRSSBytes))
	out.Line("switches", "%d voluntary, %d involuntary; faults %d minor, %d major", p.VoluntarySwitches,
		p.InvoluntarySwitches, p.MinorFaults, p.MajorFaults)
	if p.Strays+p.OOMKills > 0 {
		out.Line("left behind", "%d stray processes, %d killed because memory ran out", p.Strays, p.OOMKills)
	}
	out.list(p.Findings)
	out.printOutput("stdout", p.Stdout)
	out.printOutput("stderr", p.Stderr)
}

// mostLines is the maximum number of lines of a process's output that are printed.
const mostLines = 40

func (out *Console) printOutput(name string, o results.Output) {
	if o.Bytes == 0 {
		return
	}
	kept := ""
	if o.Truncated {
		kept = ", only the beginning was kept"
	}
	out.Line(name, "%s%s", display.Bytes(o.Bytes), kept)
	lines := strings.Split(strings.TrimSuffix(o.Text, "\n"), "\n")
	for i, l := range lines {
		if i == mostLines {
			out.Line("", "(%d more lines; --json has them)", len(lines)-i)
			break
		}
		out.print("    | %s\n", display.Terminal(l))
	}
}

func (out *Console) printMachine(m results.MachineState) {
	out.printControls(m.Controls)
	for _, t := range m.Temperatures.After {
		out.Line("temperature", "%s: base %s, before %s, after %s", t.Sensor,
			celsius(m.Temperatures.Base, t.Sensor), celsius(m.Temperatures.Before, t.Sensor),
			celsius(m.Temperatures.After, t.Sensor))
	}
	for _, c := range verdict.Changes(m.Throttle) {
		out.Line(string(c.Kind), "%s: %d before, %d after", c.Name, c.Before, c.After)
	}
	for _, l := range m.PowerLimits {
		out.Line("power limit", "%s (%s) %s: %g W over %g s", l.Name, l.Zone, l.Limit, float64(l.UW)/1e6,
			float64(l.WindowUS)/1e6)
	}
	if m.Load != nil {
		for _, i := range m.Load.Interrupts[:min(len(m.Load.Interrupts), 3)] {
			out.Line(display.Terminal(i.Kind), "%s: %d on the benchmark's processors", i.Name, i.Count)
		}
		for _, c := range m.Load.Counts {
			out.Line("counted", "%s: %d", c.Name, c.Count)
		}
	}
	switch {
	case m.KernelLog.Lines == nil:
		out.Line("kernel log", "not read")
	case len(m.KernelLog.Lines)+int(min(m.KernelLog.Lost, 1)) == 0:
		out.Line("kernel log", "nothing unexpected")
	default:
		out.Line("kernel log", "%d unexpected lines, %d lost", len(m.KernelLog.Lines), m.KernelLog.Lost)
		out.list(m.KernelLog.Lines)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Fingerprint)) {
		out.Line("machine", "%s: %s", name, m.Fingerprint[name])
	}
}

// printControls says what krund set, with the values before and during the execution, then what was
// not as wanted, what was, and what it left alone.
func (out *Console) printControls(controls []results.Control) {
	named := map[setting.Status][]string{}
	for _, c := range controls {
		status, text := setting.Status(c.Status), fmt.Sprintf("%s %s", c.Name, cmp.Or(c.Found, "-"))
		if status == setting.StatusSet {
			text = fmt.Sprintf("%s (%s → %s)", c.Name, cmp.Or(c.Found, "-"), cmp.Or(c.After, c.Wanted, "-"))
		}
		named[status] = append(named[status], text)
	}
	if len(controls) > 0 {
		out.Line("set", "%s", cmp.Or(strings.Join(named[setting.StatusSet], ", "), "nothing"))
	}
	for _, c := range controls {
		if !setting.Status(c.Status).Fit() {
			out.Line("not wanted", "%s (%s): %s, wanted %s, found %s%s", c.Name, c.Policy, c.Status,
				cmp.Or(c.Wanted, "-"), cmp.Or(c.Found, "-"), inBrackets(c.Detail))
		}
	}
	for _, rest := range []struct {
		name   string
		status setting.Status
	}{{"as wanted", setting.StatusOK}, {"left alone", setting.StatusOff}} {
		if list := named[rest.status]; len(list) > 0 {
			out.Line(rest.name, "%s", strings.Join(list, ", "))
		}
	}
}

// frequencyText describes what the counters of a core should have shown.
func frequencyText(f results.Frequency) string {
	whose := "the benchmark's threads"
	if f.Core != nil {
		whose = fmt.Sprintf("core %d", *f.Core)
	}
	if f.Expected == nil {
		return whose + ": APERF/MPERF not judged, the cores' frequencies differ"
	}
	text := fmt.Sprintf("%s: APERF/MPERF of %.3f expected", whose, *f.Expected)
	if f.HeldKHz != nil {
		text += fmt.Sprintf(", held at %.0f MHz", float64(*f.HeldKHz)/1e3)
	}
	if f.MPERFHz != nil {
		text += fmt.Sprintf(", MPERF counts at %.0f MHz (%s)", *f.MPERFHz/1e6, f.Source)
	}
	if f.MeasuredHz != nil {
		text += fmt.Sprintf(", ran at %.0f MHz before the run", *f.MeasuredHz/1e6)
	}
	return text
}

func wallText(wall []int64) string {
	n := len(wall)
	if n == 0 {
		return ""
	}
	sorted := make([]float64, 0, n)
	sum := 0.0
	for _, ns := range wall {
		sorted = append(sorted, float64(ns))
		sum += float64(ns)
	}
	first := sorted[0]
	slices.Sort(sorted)
	return fmt.Sprintf("min %s, median %s, mean %s, p95 %s, max %s, first %s",
		display.Nanoseconds(sorted[0]), display.Nanoseconds(arith.Median(sorted)),
		display.Nanoseconds(sum/float64(n)), display.Nanoseconds(arith.Percentile(sorted, 95)),
		display.Nanoseconds(sorted[n-1]), display.Nanoseconds(first))
}

func startupText(s results.Startup) string {
	if s.ExecNS == nil {
		return ""
	}
	var parts []string
	for _, p := range []struct {
		name string
		at   *int64
	}{{"the runner's first call", s.InitNS}, {"the first iteration", s.FirstNS}, {"the end", s.DoneNS}} {
		if p.at != nil {
			parts = append(parts,
				fmt.Sprintf("%s to %s", display.Nanoseconds(float64(*p.at-*s.ExecNS)), p.name))
		}
	}
	return strings.Join(parts, ", ")
}

func endText(p results.Process) string {
	var parts []string
	switch {
	case p.NotStarted != nil:
		parts = append(parts, fmt.Sprintf("not started: %s: %s%s", p.NotStarted.Step, p.NotStarted.Text,
			inBrackets(p.NotStarted.Errno)))
	case p.Signal != "":
		parts = append(parts, "by signal "+p.Signal)
	case p.Exit != nil:
		parts = append(parts, fmt.Sprintf("exit status %d", *p.Exit))
	default:
		parts = append(parts, "unknown")
	}
	if p.TimedOut {
		parts = append(parts, "killed at the time limit")
	}
	if p.Interrupted {
		parts = append(parts, "killed because krund was stopped")
	}
	return strings.Join(parts, ", ")
}

func celsius(list []results.Temperature, sensor string) string {
	for _, t := range list {
		if t.Sensor == sensor {
			return fmt.Sprintf("%.1f C", float64(t.MilliC)/1000)
		}
	}
	return "-"
}

// known returns the text of a value, or another one if there is none.
func known[T any](value *T, text func(T) string, otherwise string) string {
	if value == nil {
		return otherwise
	}
	return text(*value)
}

func decimal(n int64) string      { return strconv.FormatInt(n, 10) }
func duration(ns int64) string    { return display.Duration(time.Duration(ns)) }
func nanoseconds(ns int64) string { return display.Nanoseconds(float64(ns)) }

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// warmupText describes what a watcher found.
func warmupText(s results.WatcherStop) string {
	if s.Warmup == nil {
		return fmt.Sprintf("the execution ended before warm-up did, by %s", s.Criterion)
	}
	text := fmt.Sprintf("warm-up ended with iteration %d", *s.Warmup)
	if s.Value != nil {
		text += fmt.Sprintf(" (%s %.4g)", s.Criterion, *s.Value)
	}
	if !s.Stable {
		text += ", because it may be no longer"
	}
	if s.StopAt != nil {
		text += fmt.Sprintf("; the measurement was complete with %d", *s.StopAt)
	}
	if s.AskedAt != nil {
		text += fmt.Sprintf("; asked to stop at %d", *s.AskedAt)
	}
	return text
}
