package execution

import (
	"cmp"
	"slices"

	libkrun "krund/cgo"
	"krund/internal/execution/child"
	"krund/internal/execution/switches"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/internal/msr"
)

// kindSwitch is the kind of the events of other tasks: enum krun_event_kind in krun.h.
const kindSwitch = "switch"

// mostSwitches is how many of these events a record has, mostTasks how many tasks it names.
const (
	mostSwitches = 1 << 16
	mostTasks    = 10
)

// recording is the recording of context switches of one execution; zero if it is not wanted.
type recording struct {
	watch  *switches.Watch
	reason string // why there is none, though it is wanted
}

// record begins to record who runs on the processors of the job.
func (e Executor) record(j Job) recording {
	if !slices.Contains(j.Counters.Kernel, config.KernelSwitches) {
		return recording{}
	}
	watch, err := switches.Open(e.Root, j.CPUs)
	if err != nil {
		return recording{reason: msr.Remedy(e.Root, err)}
	}
	return recording{watch: watch}
}

// wanted reports whether the record says something about it.
func (r recording) wanted() bool { return r != recording{} }

// stop ends the recording. It must be called once.
func (r recording) stop() (switches.Log, string) {
	if r.watch == nil {
		return switches.Log{}, r.reason
	}
	log, err := r.watch.Stop()
	if err != nil { // what there is, is right
		return log, "incomplete: " + err.Error()
	}
	return log, ""
}

// takeSwitches stores who took a processor from the benchmark from the exec until the runner was
// done.
func (m *Measured) takeSwitches(log switches.Log, reason string, s libkrun.Series, run child.Run) {
	s.DoneNS = cmp.Or(s.DoneNS, libkrun.Now())
	others, more := log.Others([]int{run.PID, s.Pid}, s.ExecNS, s.DoneNS, mostSwitches)
	m.Switches = &results.Switches{Reason: reason, CPUs: log.CPUs, FullNS: stamp(log.Full),
		Tasks: []results.SwitchTask{}}
	m.EventsLost += more
	for _, o := range others {
		pid := int64(o.PID)
		m.Events = append(m.Events, results.Event{Kind: kindSwitch, TimeNS: o.Start, DurationNS: o.Duration,
			Argument: &pid, Name: o.Name})
	}
	slices.SortStableFunc(m.Events, func(a, b results.Event) int { return cmp.Compare(a.TimeNS, b.TimeNS) })
	tasks := switches.Sum(others)
	for _, t := range tasks[:min(len(tasks), mostTasks)] {
		m.Switches.Tasks = append(m.Switches.Tasks, results.SwitchTask{Name: t.Name, PID: t.PID,
			Activity: results.Activity{CPUNS: t.NS, Runs: t.Runs}})
	}
}
