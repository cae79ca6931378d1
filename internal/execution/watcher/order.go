package watcher

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"krund/internal/experiment/results"
)

// Order is what the watcher does. Stop has the rules; its results are empty.
type Order struct {
	Stop   *results.WatcherStop `json:"stop"`   // nil: no end of warm-up is looked for
	Number int                  `json:"number"` // of the execution among those of its key, from 1
	Line   *Line                `json:"line"`   // nil: nothing is shown
}

// Line is the line on the terminal in which the number of iterations is shown.
type Line struct {
	Before string `json:"before"` // text before the number
	After  string `json:"after"`
	Width  int    `json:"width"` // of the terminal, in columns
	Dim    bool   `json:"dim"`
}

// Report is what the watcher found so far. A later one replaces it.
type Report struct {
	Threshold float64  `json:"threshold"` // that applies
	Warmup    *int     `json:"warmup"`    // see results.WatcherStop
	Stable    bool     `json:"stable"`
	Value     *float64 `json:"value"`
	StopAt    *int     `json:"stop_at"`
	AskedAt   *int     `json:"asked_at"`
	Problem   string   `json:"problem"` // why it found no more; "" for none
	Final     bool     `json:"final"`   // the watcher ended in order
}

// maxOrder and maxReports bound the bytes of an order, and of all reports.
const (
	maxOrder   = 64 << 10
	maxReports = 64 << 10
)

// ParseOrder parses the argument of the command.
func ParseOrder(text string) (Order, error) {
	var o Order
	if len(text) > maxOrder {
		return o, fmt.Errorf("an order of %d bytes", len(text))
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return o, fmt.Errorf("order: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return o, errors.New("order: text after it")
	}
	return o, nil
}

// lastReport returns the last complete report in text, of an execution with that many iterations
// planned.
func lastReport(text []byte, planned int) (r Report, ok bool) {
	for line := range bytes.Lines(text) {
		var next Report
		if bytes.HasSuffix(line, []byte("\n")) && json.Unmarshal(line, &next) == nil && next.valid(planned) {
			r, ok = next, true
		}
	}
	return r, ok
}

// valid reports whether the numbers are those of an execution.
func (r Report) valid(planned int) bool {
	last := 1
	for _, n := range []*int{r.Warmup, r.StopAt, r.AskedAt} { // each is at least the one before
		if n == nil {
			last = planned + 1 // and the later ones are unknown, too
			continue
		}
		if *n < last || *n > planned {
			return false
		}
		last = *n
	}
	return r.Threshold >= 0 && !math.IsInf(r.Threshold, 0)
}

// Record returns what the record says about the watcher. The result is for an execution that
// completed done iterations.
func (r Report) Record(o Order, cpu, uid, done int) *results.Watcher {
	w := &results.Watcher{CPU: cpu, UID: uid, Shows: o.Line != nil, Problem: r.Problem}
	if o.Stop == nil {
		return w
	}
	stop := *o.Stop
	stop.Threshold = r.Threshold
	stop.Warmup, stop.Stable, stop.Value, stop.StopAt, stop.AskedAt = r.Warmup, r.Stable, r.Value, r.StopAt,
		r.AskedAt
	if r.Warmup != nil {
		stop.Measured = max(done-*r.Warmup, 0)
	}
	w.Stop = &stop
	return w
}
