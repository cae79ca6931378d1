package rig

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// figures are the costs of a machine.
type figures struct {
	boots, cuts int
	cpu         time.Duration
	started     time.Time
	longest     time.Duration // longest of all waits
	longestFor  string
	noTime      bool // the run was over before the test
}

func (f *figures) begin(testing.TB) { f.started = now() }

// waited records a finished wait.
func (f *figures) waited(what string, d time.Duration) {
	if d > f.longest {
		f.longest, f.longestFor = d, shorten(what)
	}
}

// summaryRow is a line of the summary file.
type summaryRow struct {
	name, result string // the result is ok, FAILED, skipped, or "no time"
	seed         uint64
	figures      figures
	wall         time.Duration
}

// String returns the row with its line end: test, result, seed, boots, cuts, wall seconds,
// processor seconds, seconds of the longest wait and its purpose; separated by tabs.
func (r summaryRow) String() string {
	f := r.figures
	return fmt.Sprintf("%s\t%s\t%d\t%d\t%d\t%.1f\t%.1f\t%.1f\t%s\n", r.name, r.result, r.seed, f.boots,
		f.cuts,
		r.wall.Seconds(), f.cpu.Seconds(), f.longest.Seconds(), f.longestFor)
}

// end reports the figures in the test's log and in the summary file, if there is one.
func (f *figures) end(tb testing.TB) {
	row := summaryRow{name: tb.Name(), result: "ok", seed: Seed(tb), figures: *f, wall: now().Sub(f.started)}
	switch {
	case tb.Failed():
		row.result = "FAILED"
	case f.noTime:
		row.result = "no time"
	case tb.Skipped():
		row.result = "skipped"
	}
	tb.Logf("rig: %d starts, %d power cuts, %.1f s, %.1f s of processor time; longest wait %.1f s, for %s",
		f.boots, f.cuts, row.wall.Seconds(), f.cpu.Seconds(), f.longest.Seconds(), f.longestFor)
	summarize(tb, row)
}

// summarize adds a row to the summary file, if there is one.
func summarize(tb testing.TB, row summaryRow) {
	name := os.Getenv(envSummary)
	if name == "" {
		return
	}
	out, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		tb.Errorf("write the summary: %v", err)
		return
	}
	_, err = out.WriteString(row.String())
	if err2 := out.Close(); err != nil || err2 != nil {
		tb.Errorf("write the summary: %v %v", err, err2)
	}
}
