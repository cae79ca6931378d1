package watcher

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"krund/internal/display"
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
