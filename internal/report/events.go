package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/arith"
	"krund/internal/execution/verdict"
	"krund/internal/experiment/results"
)

// EventKind is the kind of an event.
type EventKind string

// The kinds of events.
const (
	KernelEvent      EventKind = "kernel"      // a message of the kernel's log
	ThrottleEvent    EventKind = "throttle"    // the processor counted throttling
	TemperatureEvent EventKind = "temperature" // readings before and after the run
	WatcherEvent     EventKind = "watcher"     // the watcher found the end of warm-up, or stopped the run
	OtherEvent       EventKind = "other"       // other findings of krund about the process
)

// MachineEvent is an event during an execution, with its position on the axis of iterations.
//
// Kernel messages have stamps of the kernel's own clock, which counts from boot as the benchmark's
// does, but is adjusted differently: they drift apart by about ten milliseconds in hours. So the
// iteration of an event is accurate only for iterations longer than that. What krund reads only
// before and after the run lies outside the first and the last iteration; throttling, which is
// counted then, may have occurred at any time between.
type MachineEvent struct {
	// index of the iteration in or after which it happened; -0.5 before the first, n-0.5 after the
	// last of n; NaN if unknown
	At   float64
	Kind EventKind
	Text string
	// Label stands beside the sign in plots: for temperatures the hottest sensor's, "45.0 °C".
	Label string
}

// Placed reports whether the event has a position on the axis.
func (e MachineEvent) Placed() bool { return !math.IsNaN(e.At) }

// Where describes at which of n iterations it happened; "" if unknown.
func (e MachineEvent) Where(n int) string {
	switch {
	case !e.Placed():
		return ""
	case e.Kind == ThrottleEvent:
		return "at some time during the run"
	case e.At < 0:
		return "before the first iteration"
	case e.At > float64(n)-1:
		return "after the last iteration"
	}
	return fmt.Sprintf("iteration %d", int(e.At)+1)
}

// Title is the event with its place among n iterations.
func (e MachineEvent) Title(n int) string {
	if where := e.Where(n); where != "" && e.Kind != TemperatureEvent {
		return where + ": " + e.Text
	}
	return e.Text
}

// eventsOf lists the events in a record in the order of the axis; those without a position come
// last.
func eventsOf(r *results.Record) []MachineEvent {
	end := float64(len(r.WallNS)) - 0.5
	var list []MachineEvent
	for _, t := range []struct {
		when     string
		at       float64
		readings []results.Temperature
	}{{"before", -0.5, r.Machine.Temperatures.Before}, {"after", end, r.Machine.Temperatures.After}} {
		if label, ok := hottest(t.readings); ok {
			list = append(list, MachineEvent{t.at, TemperatureEvent, t.when +
				" the run: " + temperatureText(t.readings), label})
		}
	}
	for _, line := range r.Machine.KernelLog.Lines {
		list = append(list, MachineEvent{At: iterationOf(r, line), Kind: KernelEvent,
			Text: "kernel: " + line})
	}
	for _, c := range verdict.Changes(r.Machine.Throttle) {
		how := fmt.Sprintf("rose by %d", c.After-c.Before)
		if c.After == c.Before {
			how = "was set before and after the run"
		}
		list = append(list, MachineEvent{At: float64(len(r.WallNS)-1) / 2, Kind: ThrottleEvent,
			Text: fmt.Sprintf("%s: %s %s", c.Kind, c.Name, how)})
	}
	list = append(list, watcherEvents(r.Watcher)...)
	if n := r.Machine.KernelLog.Lost; n > 0 {
		list = append(list, MachineEvent{At: math.NaN(), Kind: KernelEvent,
			Text: fmt.Sprintf("%d kernel messages were lost", n)})
	}
	for _, text := range r.Process.Findings {
		list = append(list, MachineEvent{At: math.NaN(), Kind: OtherEvent, Text: text})
	}
	slices.SortStableFunc(list, func(a, b MachineEvent) int { // a NaN is the lowest number of all
		return cmp.Or(arith.One(b.Placed())-arith.One(a.Placed()), cmp.Compare(a.At, b.At))
	})
	return list
}

// watcherEvents are what the watcher found while the benchmark ran.
func watcherEvents(w *results.Watcher) []MachineEvent {
	if w == nil || w.Stop == nil {
		return nil
	}
	var list []MachineEvent
	s := w.Stop
	if s.Warmup != nil {
		text := fmt.Sprintf("the watcher saw the end of warm-up (%s)", s.Criterion)
		if !s.Stable {
			text = "the longest warm-up that the watcher permits ended"
		}
		list = append(list, MachineEvent{At: float64(*s.Warmup) - 0.5, Kind: WatcherEvent, Text: text})
	}
	if s.StopAt != nil {
		text := "the watcher stopped the run"
		if s.DryRun {
			text = "the watcher would have stopped the run"
		}
		list = append(list, MachineEvent{At: float64(*s.StopAt) - 0.5, Kind: WatcherEvent,
			Text: text + ": the measurement was complete"})
	}
	return list
}

// placed returns the events that a plot can show.
func placed(events []MachineEvent) []MachineEvent {
	return slices.DeleteFunc(slices.Clone(events), func(e MachineEvent) bool { return !e.Placed() })
}

// temperatureText lists readings: "coretemp/1 45.0 °C, acpitz/1 38.0 °C".
func temperatureText(readings []results.Temperature) string {
	var parts []string
	for _, t := range readings {
		parts = append(parts, t.Sensor+" "+celsius(t.MilliC))
	}
	return strings.Join(parts, ", ")
}

// hottest returns the highest reading; ok is false when there is none.
func hottest(readings []results.Temperature) (text string, ok bool) {
	if len(readings) == 0 {
		return "", false
	}
	return celsius(slices.MaxFunc(readings,
		func(a, b results.Temperature) int { return a.MilliC - b.MilliC }).MilliC), true
}

func celsius(milli int) string { return fmt.Sprintf("%.1f °C", float64(milli)/1000) }

// iterationOf returns the iteration during which the kernel logged a line: the last one that began
// before it. NaN if the stamps of line or record are missing or not comparable.
func iterationOf(r *results.Record, line string) float64 {
	stamp, ok := kernelStamp(line)
	n := len(r.StartNS)
	if !ok || n == 0 || n != len(r.WallNS) || !strings.HasPrefix(r.Clock, "CLOCK_MONOTONIC") {
		return math.NaN()
	}
	after, _ := slices.BinarySearch(r.StartNS, stamp+1) // the first that began later
	switch last := n - 1; {
	case after == 0:
		return -0.5
	case after == n && stamp >= r.StartNS[last]+r.WallNS[last]:
		return float64(last) + 0.5
	}
	return float64(after - 1)
}

// kernelStamp parses the stamp of a line of the kernel's log in the format of dmesg(1), in
// nanoseconds since boot: "[   12.345678] mce: ...".
func kernelStamp(line string) (ns int64, ok bool) {
	rest, ok := strings.CutPrefix(line, "[")
	text, _, closed := strings.Cut(rest, "]")
	if !ok || !closed {
		return 0, false
	}
	whole, fraction, dot := strings.Cut(strings.TrimLeft(text, " "), ".")
	const digits = 6 // microseconds
	seconds, err1 := strconv.ParseUint(whole, 10, 32)
	micros, err2 := strconv.ParseUint(fraction, 10, 32)
	if !dot || len(fraction) != digits || err1 != nil || err2 != nil {
		return 0, false
	}
	return int64(seconds)*1e9 + int64(micros)*1e3, true
}
