package execution

import (
	"errors"
	"fmt"
	"slices"

	libkrun "krund/cgo"
	"krund/internal/execution/child"
	"krund/internal/execution/watcher"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
)

// place is where a watcher runs.
type place struct {
	cpu       int
	benchmark []int // the benchmark's processors; nil: any that krund may use
}

// watcherPlace returns the processor for the watcher: one that is online and that the benchmark may
// not use, preferably not a tickless one. benchmark are the processors set apart for the benchmark;
// nil: it may use own, those of krund. With narrow the benchmark gives up one if there is no other.
func watcherPlace(root sysroot.Root, benchmark, own []int, narrow bool) (place, bool) {
	online, tickless := cpuList(root, "online"), cpuList(root, "nohz_full")
	used := benchmark
	if used == nil {
		used = own
	}
	var spare host.CPUs
	for _, cpu := range online {
		if !slices.Contains(used, cpu) {
			spare = append(spare, cpu)
		}
	}
	first := func(cpus []int) int { // the first one serves most interrupts anyway
		ticks := func(cpu int) bool { return !slices.Contains(tickless, cpu) }
		return cpus[max(slices.IndexFunc(cpus, ticks), 0)]
	}
	switch {
	case used == nil:
		return place{}, false
	case len(spare) > 0:
		return place{cpu: first(spare), benchmark: benchmark}, true
	case !narrow || len(used) < 2:
		return place{}, false
	}
	cpu := first(used)
	rest := slices.DeleteFunc(slices.Clone(used), func(c int) bool { return c == cpu })
	return place{cpu: cpu, benchmark: rest}, true
}

// watching is the watcher of one execution.
type watching struct {
	order   watcher.Order
	cpu     int
	process *watcher.Process
	failed  error // to start
}

// placeWatcher decides whether and where a watcher runs, and what it does. It may change the job's
// processors. It returns nil without a watcher.
func (e Executor) placeWatcher(j *Job) *watching {
	stops := j.Stop.On()
	if !stops && e.Terminal == nil {
		return nil
	}
	at, ok := watcherPlace(e.Root, j.CPUs, child.Affinity(), stops)
	if !ok {
		if stops {
			return &watching{order: e.order(*j), cpu: -1, failed: errNoCPU}
		}
		return nil
	}
	j.CPUs = at.benchmark
	return &watching{order: e.order(*j), cpu: at.cpu}
}

// errNoCPU is the reason why there is no watcher.
var errNoCPU = errors.New(
	"[stop.iterations] needs a CPU that the benchmark does not use, and there is none")

// order returns what the watcher of a job does.
func (e Executor) order(j Job) watcher.Order {
	o := watcher.Order{Number: j.Number}
	if s := j.Stop; s.On() {
		o.Stop = &results.WatcherStop{
			Criterion: s.Criterion, Profile: s.Profile, Threshold: s.Threshold, Step: s.Step,
			WarmupMin: s.WarmupMin, WarmupMax: s.WarmupMax, Measure: s.Measure, Seed: j.Seed,
			DryRun: s.DryRun,
		}
	}
	if e.Terminal != nil {
		line := e.Line(j.Iterations)
		o.Line = &line
	}
	return o
}

// start starts the watcher. Without it the execution has all its iterations.
func (w *watching) start(e Executor, j Job, buffer *libkrun.Buffer) {
	if w == nil || w.failed != nil {
		return
	}
	w.process, w.failed = watcher.Start(watcher.Options{
		Program: e.Installed.Krunctl, Trust: e.Trust, CPU: w.cpu, Buffer: buffer.File(),
		Iterations: j.Iterations, Terminal: e.Terminal, Order: w.order,
	})
}

// end ends the watcher and returns what it found. Without a watcher, or if only the line on the
// terminal is missing, ok is false.
func (w *watching) end() (r watcher.Report, ok bool) {
	switch {
	case w == nil || w.failed != nil && w.order.Stop == nil:
		return r, false
	case w.failed != nil:
		return watcher.Report{Problem: w.failed.Error()}, true
	}
	return w.process.End(), true
}

// takeReport stores what the watcher found. An execution that it stopped is complete with the
// iterations that its measurement needs.
func (m *Measured) takeReport(w *watching, r watcher.Report) {
	uid := 0
	if w.process != nil {
		uid = w.process.UID
	}
	m.Watcher = r.Record(w.order, w.cpu, uid, m.Execution.Done)
	if r.AskedAt != nil {
		m.Execution.Enough = *r.StopAt
	}
}

// CheckWatcher returns why executions with [stop.iterations] cannot be watched on this machine. It
// starts a watcher and ends it.
func (e Executor) CheckWatcher(cfg *config.Config) error {
	j := Job{Iterations: 1, Number: 1, Stop: cfg.Stop.Iterations}
	if !j.Stop.On() {
		return nil
	}
	e.Terminal = nil
	w := e.placeWatcher(&j)
	if w.failed != nil {
		return fmt.Errorf("%w: remove the section, or measure on a machine with two CPUs", w.failed)
	}
	buffer, err := libkrun.Create(libkrun.Spec{Iterations: 1})
	if err != nil {
		return err
	}
	defer buffer.Close() //nolint:errcheck // it is empty
	w.start(e, j, buffer)
	if w.failed != nil {
		return fmt.Errorf("[stop.iterations]: %w", w.failed)
	}
	w.process.End()
	return nil
}

// housekeeping returns the processors for krund itself during a run: those that are online, not
// tickless (nohz_full), and not reserved for the benchmark. It returns nil if the processors do not
// differ, or none is left: krund then runs wherever the system schedules it.
func housekeeping(root sysroot.Root, benchmark []int) []int {
	taken := append(cpuList(root, "nohz_full"), benchmark...)
	online := cpuList(root, "online")
	var rest host.CPUs
	for _, cpu := range online {
		if !slices.Contains(taken, cpu) {
			rest = append(rest, cpu)
		}
	}
	if len(rest) == len(online) {
		return nil
	}
	return rest
}

// cpuList reads a list of processors; nil if it is unknown or empty.
func cpuList(root sysroot.Root, name string) host.CPUs {
	text, err := root.Read("/sys/devices/system/cpu/" + name)
	if err != nil {
		return nil
	}
	set, err := host.ParseCPUList(text)
	if err != nil {
		return nil
	}
	return set
}
