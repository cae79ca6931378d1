package exchange

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/experiment/results"
)

// WriteTrace writes records in the Trace Event Format (its JSON object form), which Perfetto,
// chrome://tracing and others open. A process of the trace is a process execution, whose time
// begins at 0. Its first track has its start and the iterations, the others its events by kind. The
// events of a track never overlap, which viewers require: where they do, a kind has several tracks,
// and what overlaps them all is an instant.
//
// The format is specified in "Trace Event Format" (Google, 2016). Times are microseconds, here with
// three decimals, so that they are exact.
func WriteTrace(w io.Writer, records iter.Seq[results.Record]) error {
	t := &traceWriter{out: bufio.NewWriter(w), separator: `{"displayTimeUnit":"ns","traceEvents":[`}
	for rec := range records {
		t.process++
		t.execution(&rec)
	}
	if t.process == 0 {
		t.text(t.separator)
	}
	t.text("\n]}\n")
	if t.err == nil {
		t.err = t.out.Flush()
	}
	return t.err
}

// traceWriter writes events one after the other.
type traceWriter struct {
	out       *bufio.Writer
	separator string // before the next event
	process   int    // number of the record, from 1
	err       error  // the first one
}

// traceEvent is an event of the format. Time and Duration are in microseconds.
type traceEvent struct {
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Phase    string         `json:"ph"`
	Scope    string         `json:"s,omitempty"`
	Time     json.Number    `json:"ts,omitempty"`
	Duration json.Number    `json:"dur,omitempty"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	Args     map[string]any `json:"args,omitempty"`
}

// Phases of the format.
const (
	phaseComplete = "X" // has a duration
	phaseInstant  = "i"
	phaseMetadata = "M" // names a process or a thread
)

func (t *traceWriter) text(s string) {
	if t.err == nil {
		_, t.err = t.out.WriteString(s)
	}
}

func (t *traceWriter) event(e traceEvent) {
	e.Process = t.process
	text, err := json.Marshal(e)
	if t.err == nil {
		t.err = err
	}
	t.text(t.separator + "\n" + string(text))
	t.separator = ","
}

// metadata names the process, or with thread > 0 a thread.
func (t *traceWriter) metadata(what string, thread int, argument string, value any) {
	t.event(traceEvent{Name: what, Category: "__metadata", Phase: phaseMetadata, Thread: thread,
		Args: map[string]any{argument: value}})
}

// thread names a track and places it.
func (t *traceWriter) thread(id int, name string) {
	t.metadata("thread_name", id, "name", name)
	t.metadata("thread_sort_index", id, "sort_index", id)
}

// iterationsThread is the id of the track of the iterations; those of events follow.
const iterationsThread = 1

// execution writes one record.
func (t *traceWriter) execution(r *results.Record) {
	t.metadata("process_name", 0, "name", fmt.Sprintf("%s, execution %d (slot %d)", r.Key, r.Pexec, r.Slot))
	t.metadata("process_sort_index", 0, "sort_index", t.process)
	if labels := traceLabels(r); labels != "" {
		t.metadata("process_labels", 0, "labels", labels)
	}
	clock := traceClock(beginOf(r))
	t.thread(iterationsThread, "iterations")
	t.startUp(r, clock)
	for i := range min(len(r.StartNS), len(r.WallNS)) {
		t.complete(iterationsThread, fmt.Sprintf("iteration %d", i), "iteration", clock, r.StartNS[i],
			r.WallNS[i], iterationArgs(r, i))
	}
	t.switches(r.Switches, clock)
	t.events(r.Events, clock)
}

// switches writes the summary of the context switches as an instant at the beginning, and when the
// memory for them was full, from when on events of kind switch are missing.
func (t *traceWriter) switches(s *results.Switches, c traceClock) {
	if s == nil {
		return
	}
	e := traceEvent{Name: "switches", Category: "switch", Phase: phaseInstant, Scope: "p",
		Thread: iterationsThread, Time: c.at(int64(c)),
		Args: map[string]any{"cpus": s.CPUs, "reason": s.Reason, "tasks": s.Tasks}}
	t.event(e)
	if s.FullNS != nil && *s.FullNS >= int64(c) {
		e.Name, e.Time, e.Args = "no switches from here on", c.at(*s.FullNS), nil
		t.event(e)
	}
}

// traceLabels describes what is special about a record.
func traceLabels(r *results.Record) string {
	var labels []string
	if r.Outcome != results.Completed {
		labels = append(labels, string(r.Outcome))
	}
	if r.Instrument != "" {
		labels = append(labels, dataset.InstrumentText(r.Instrument))
	}
	if r.EventsLost > 0 {
		labels = append(labels, fmt.Sprintf("%d events lost", r.EventsLost))
	}
	return strings.Join(labels, ", ")
}

// beginOf returns the earliest stamp of a record.
func beginOf(r *results.Record) int64 {
	var stamps []int64
	for _, s := range []*int64{r.Startup.ExecNS, r.Startup.InitNS, r.Startup.FirstNS} {
		if s != nil {
			stamps = append(stamps, *s)
		}
	}
	if len(r.StartNS) > 0 {
		stamps = append(stamps, r.StartNS[0])
	}
	for _, e := range r.Events {
		stamps = append(stamps, e.TimeNS)
	}
	if len(stamps) == 0 {
		return 0
	}
	return slices.Min(stamps)
}

// traceClock is the stamp at which the time of the trace is 0.
type traceClock int64

// at returns the time of a stamp that is not before the clock's.
func (c traceClock) at(ns int64) json.Number { return microseconds(uint64(ns) - uint64(c)) }

// microseconds writes nanoseconds as microseconds, exactly.
func microseconds(ns uint64) json.Number {
	return json.Number(fmt.Sprintf("%d.%03d", ns/1000, ns%1000))
}

func (t *traceWriter) complete(thread int, name, category string, c traceClock, start, duration int64,
	args map[string]any) {
	if start < int64(c) || duration < 0 {
		return // a damaged record
	}
	t.event(traceEvent{Name: name, Category: category, Phase: phaseComplete, Thread: thread,
		Time: c.at(start), Duration: microseconds(uint64(duration)), Args: args})
}

// startUp writes the time until the runner began, and that until the first iteration. Both end a
// nanosecond before the next event begins: viewers add times in floating point, where an end that
// is equal to a beginning may lie behind it.
func (t *traceWriter) startUp(r *results.Record, c traceClock) {
	s := r.Startup
	if s.ExecNS != nil && s.InitNS != nil {
		t.complete(iterationsThread, "start of the VM", "start", c, *s.ExecNS, *s.InitNS-*s.ExecNS-1, nil)
	}
	if s.InitNS != nil && s.FirstNS != nil {
		t.complete(iterationsThread, "load the benchmark", "start", c, *s.InitNS, *s.FirstNS-*s.InitNS-1, nil)
	}
}

// iterationArgs returns the values of an iteration that are not per core.
func iterationArgs(r *results.Record, i int) map[string]any {
	args := map[string]any{}
	for _, c := range r.Columns {
		if text := c.Text(i); c.Core == nil && text != "" {
			args[c.Name] = json.Number(text)
		}
	}
	return args
}

// traceLanes is the maximum number of tracks of a kind.
const traceLanes = 16

// events writes the events by kind.
func (t *traceWriter) events(events []results.Event, c traceClock) {
	kinds := map[string][]results.Event{}
	var order []string
	for _, e := range events {
		if kinds[e.Kind] == nil {
			order = append(order, e.Kind)
		}
		kinds[e.Kind] = append(kinds[e.Kind], e)
	}
	slices.Sort(order)
	for k, kind := range order {
		first := iterationsThread + 1 + k*traceLanes
		list := kinds[kind]
		slices.SortStableFunc(list, func(a, b results.Event) int { return cmp.Compare(a.TimeNS, b.TimeNS) })
		var ends []int64 // of the last event in each lane
		for _, e := range list {
			lane, overlaps := 0, false // instants overlap nothing
			if e.DurationNS > 0 {
				lane, overlaps = freeLane(ends, e)
			}
			if lane == len(ends) {
				ends = append(ends, math.MinInt64)
				name := kind
				if lane > 0 {
					name = fmt.Sprintf("%s %d", kind, lane+1)
				}
				t.thread(first+lane, name)
			}
			if e.DurationNS > 0 && !overlaps {
				ends[lane] = e.TimeNS + e.DurationNS
			}
			t.vmEvent(first+lane, e, c, overlaps)
		}
	}
}

// freeLane returns the first lane in which an event begins after the end of all others; len(ends)
// for a new one. If there are as many as possible, it overlaps another event in the last one.
func freeLane(ends []int64, e results.Event) (lane int, overlaps bool) {
	i := slices.IndexFunc(ends, func(end int64) bool { return end < e.TimeNS })
	switch {
	case i >= 0:
		return i, false
	case len(ends) < traceLanes:
		return len(ends), false
	}
	return traceLanes - 1, true
}

// vmEvent writes one event: complete, or an instant, which has its duration as an argument if it is
// one because it overlaps another event.
func (t *traceWriter) vmEvent(thread int, e results.Event, c traceClock, overlaps bool) {
	args := map[string]any{}
	if e.Argument != nil {
		args["argument"] = *e.Argument
	}
	name := cmp.Or(e.Name, e.Kind)
	if overlaps {
		args["duration_ns"] = e.DurationNS
	} else if e.DurationNS != 0 {
		t.complete(thread, name, e.Kind, c, e.TimeNS, e.DurationNS, args)
		return
	}
	t.event(traceEvent{Name: name, Category: e.Kind, Phase: phaseInstant, Scope: "t", Thread: thread,
		Time: c.at(e.TimeNS), Args: args})
}
