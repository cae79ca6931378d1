package rig

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// figures are what a machine has cost.
type figures struct {
	boots, cuts int
	cpu         time.Duration
	started     time.Time
}

func (f *figures) begin(testing.TB) { f.started = now() }

// summaryLine is one line of the summary file: test, result, seed, boots, cuts, wall seconds, processor seconds; separated by tabs.
func (f *figures) summaryLine(name, result string, seed uint64, wall time.Duration) string {
	return fmt.Sprintf("%s\t%s\t%d\t%d\t%d\t%.1f\t%.1f\n", name, result, seed, f.boots, f.cuts, wall.Seconds(), f.cpu.Seconds())
}

// end reports the figures in the test's log, and in the summary file when there is one.
func (f *figures) end(tb testing.TB) {
	wall := now().Sub(f.started)
	tb.Logf("rig: %d starts, %d power cuts, %.1f s, %.1f s of processor time", f.boots, f.cuts, wall.Seconds(), f.cpu.Seconds())
	name := os.Getenv(envSummary)
	if name == "" {
		return
	}
	result := "ok"
	switch {
	case tb.Failed():
		result = "FAILED"
	case tb.Skipped():
		result = "skipped"
	}
	out, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		tb.Errorf("write the summary: %v", err)
		return
	}
	_, err = out.WriteString(f.summaryLine(tb.Name(), result, Seed(tb), wall))
	if err2 := out.Close(); err != nil || err2 != nil {
		tb.Errorf("write the summary: %v %v", err, err2)
	}
}
