// Package watcher is a process that reads the shared buffer of a process execution while the
// benchmark runs. It runs on a processor that the benchmark does not use. It shows the number of
// iterations on a terminal, finds the end of warm-up, and sets the buffer's stop flag when the
// measurement after it is complete; all runners honor that flag.
//
// krund starts the process (Start) before the benchmark and ends it afterwards (Process.End). The
// process is `krunctl watch-iterations`, whose loop is Watch.Run: krund never analyzes. The two
// exchange an Order, the command's argument, and Reports, lines of JSON on its standard output.
// Standard input is a pipe whose end is the order to end: krund's own end is enough. On Linux the
// kernel also kills the watcher with krund.
//
// The watcher makes no system call between its sleeps except to redraw the line and to report. If
// krund is root, it runs as an unprivileged user: the buffer is untrusted input. Start reading at
// Watch.Run.
package watcher

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"time"
	"unicode/utf8"

	"krund/internal/display"
	"krund/internal/durable/trust"
	"krund/internal/experiment/results"
	"krund/internal/machine/sysroot"
)

// Buffer is the shared buffer; *libkrun.View implements it.
type Buffer interface {
	Iterations() int  // planned
	Done() int        // complete
	Wall(i int) int64 // duration of a complete iteration, in nanoseconds; may be any number
	Stop()            // asks the process to end
}

// Decision is a stability.Decision.
type Decision struct {
	Warmup int
	Stable bool
	Value  float64
	StopAt int
}

// Watch is what a watcher does until its context ends.
type Watch struct {
	Buffer Buffer
	Clock  sysroot.Clock
	Say    func(Report) error // sends a report
	Show   func(text string)  // draws a line; nil: nothing is shown
	Line   Line

	// Decide adds the duration of the next iteration, in seconds, and returns the decision so far;
	// nil: nothing is decided.
	Decide    func(seconds float64) (Decision, error)
	Threshold float64
	DryRun    bool // the stop flag is not set

	next   int // the first iteration that Decide has not seen
	report Report
	shown  int // number of iterations on the screen
}

// The intervals between two looks. A look pulls a cache line from the benchmark's processor, which
// costs the benchmark about 100 ns.
const (
	stopInterval = 50 * time.Millisecond
	showInterval = 500 * time.Millisecond
)

// Run looks at the buffer until ctx ends, and then once more. The first report says that it has
// begun. An error is one of Say: krund has ended.
func (w *Watch) Run(ctx context.Context) error {
	w.report.Threshold = w.Threshold
	w.shown = -1
	if err := w.Say(w.report); err != nil {
		return err
	}
	interval := showInterval
	if w.Decide != nil {
		interval = stopInterval
	}
	var last time.Time // when the line was drawn
	for w.Clock.Sleep(ctx, interval) == nil {
		if err := w.decide(true); err != nil {
			return err
		}
		if now := w.Clock.Now(); now.Sub(last) >= showInterval {
			w.show()
			last = now
		}
	}
	if err := w.decide(false); err != nil {
		return err
	}
	w.report.Final = true
	return w.Say(w.report)
}

// decide looks at the iterations that are new. While the benchmark runs, it is asked to stop when
// its measurement is complete.
func (w *Watch) decide(runs bool) error {
	if w.Decide == nil || w.report.StopAt != nil || w.report.Problem != "" {
		return nil
	}
	for done := w.Buffer.Done(); w.next < done && w.report.StopAt == nil; w.next++ {
		d, err := w.Decide(float64(w.Buffer.Wall(w.next)) / 1e9)
		if err != nil {
			w.report.Problem = err.Error()
			return w.Say(w.report)
		}
		if d.Warmup > 0 && w.report.Warmup == nil {
			w.report.Warmup, w.report.Stable = &d.Warmup, d.Stable
			if !math.IsNaN(d.Value) && !math.IsInf(d.Value, 0) {
				w.report.Value = &d.Value
			}
		}
		if d.StopAt > 0 {
			w.report.StopAt = &d.StopAt
		}
	}
	if w.report.StopAt == nil {
		return nil
	}
	asked := max(w.Buffer.Done(), w.next) // the process may have set its number back
	if !runs || w.DryRun || asked == w.Buffer.Iterations() {
		return nil
	}
	w.report.AskedAt = &asked
	if err := w.Say(w.report); err != nil { // before the flag: without this the execution looks incomplete
		return err
	}
	w.Buffer.Stop()
	return nil
}

// show draws the line with the present number of iterations.
func (w *Watch) show() {
	done := w.Buffer.Done()
	if w.Show == nil || done == w.shown {
		return
	}
	w.shown = done
	text := w.Line.text(done, w.Buffer.Iterations())
	if w.Line.Dim {
		text = "\x1b[2m" + text + "\x1b[0m"
	}
	w.Show("\r\x1b[K" + text)
}

// CountWidth is the largest number of columns that the number of iterations takes.
func CountWidth(planned int) int { return len(countText(planned, planned)) }

func countText(done, planned int) string {
	return fmt.Sprintf(" %s of %s", thousands(done), thousands(planned))
}

// text returns the line, cut to the width of the terminal.
func (l Line) text(done, planned int) string {
	text := display.PlainLine(l.Before + countText(done, planned) + l.After)
	if most := max(l.Width-1, 0); utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most])
	}
	return text
}

// thousands separates groups of three digits.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

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

// Command is the name of krunctl's command that Start runs.
const Command = "watch-iterations"

// The descriptors that the command gets beside the standard ones.
const (
	BufferFD   = 3
	TerminalFD = 4 // /dev/null if nothing is shown
)

// Options are the parameters of Start.
type Options struct {
	Program    string                    // absolute path of krunctl
	Trust      func(trust.Verdict) error // judges that path if krund is root; nil accepts everything
	CPU        int                       // the processor that the watcher is bound to
	Buffer     *os.File                  // the shared buffer
	Iterations int                       // planned
	Terminal   *os.File                  // nil if Order.Line is
	Order      Order
}

// ErrUnsupported is the error of Start where processes cannot be bound to a processor.
var ErrUnsupported = errors.New("this system cannot bind a process to a processor")

const (
	startTime = 10 * time.Second // until the watcher has mapped the buffer; it takes milliseconds
	endTime   = 10 * time.Second // for its last report: it evaluates what it has not seen yet
)

// unprivileged is the user and the group that the watcher of root runs as: the kernel's overflow
// UID, which owns nothing.
const unprivileged = 65534
