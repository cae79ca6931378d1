package summary_test

import (
	"testing"

	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/reading/summary"
	"krund/rig/must"
)

var nbody = key.Key{Benchmark: "nbody", VM: "C", Variant: "v"}

func stamp(ns int64) *int64 { return &ns }

func record(o results.Outcome, exec, init, first int64, wall ...int64) results.Record {
	return results.Record{
		Key: nbody, Outcome: o, WallNS: wall,
		Startup: results.Startup{ExecNS: stamp(exec), InitNS: stamp(init), FirstNS: stamp(first)},
		Process: results.Process{WallNS: 1000 * int64(len(wall))}, Daemon: results.Daemon{CPUNS: exec},
	}
}

func TestRow(t *testing.T) {
	var c summary.Collector
	c.Plan(nbody, 5)
	c.Add(record(results.Completed, 10, 15, 20, 4, 2, 3, 1), true)
	c.Add(record(results.Completed, 20, 35, 50, 5), true)
	c.Add(record(results.Completed, 99, 100, 101, 999), false) // a second one of a slot
	c.Add(record(results.Error, 99, 100, 101, 999), false)
	c.Add(record(results.Timeout, 99, 100, 101, 999), false)
	c.Add(record(results.Rerun, 99, 100, 101, 999), false)
	rows := c.Rows()
	must.Need(t, len(rows) == 1, len(rows), "rows")
	r := rows[0]
	must.Equal(t, r.Outcomes, (summary.Outcomes{Completed: 3, Error: 1, Timeout: 1, Rerun: 1}), "outcomes")
	must.Be(t, r.Key == nbody && r.Planned == 5 && r.Executions == 2 && r.Iterations == 5 &&
		r.IterationsLow == 1 && r.IterationsHigh == 4, "row", r)
	want := (summary.Spread{Min: 1, Median: 3, Mean: 3, P95: 4.8, Max: 5})
	must.Equal(t, *r.Wall, want, "wall")
	want = (summary.Spread{Min: 5, Median: 10, Mean: 10, P95: 14.5, Max: 15})
	must.Equal(t, *r.Init, want, "init")
	must.Be(t, r.First.Min == 10 && r.First.Max == 30 && r.Process.Min == 1000 && r.Process.Max == 4000 &&
		*r.DaemonCPU == 20, "first", r.First, r.Process, *r.DaemonCPU)
}

func TestNothingIsNotZero(t *testing.T) {
	var c summary.Collector
	c.Plan(nbody, 3)
	if r := c.Rows()[0]; r.Wall != nil || r.Init != nil || r.First != nil || r.Process != nil ||
		r.DaemonCPU != nil || r.Executions != 0 {
		t.Errorf("row %+v", r)
	}
	c.Add(results.Record{Key: nbody, Outcome: results.Completed}, true)
	if r := c.Rows()[0]; r.Wall != nil || r.Init != nil || r.Process == nil || r.Executions != 1 {
		t.Errorf("a run without iterations: row %+v", r)
	}
}

// TestWorst: of the executions that count, each figure's own worst; a record that does not know it
// says nothing.
func TestWorst(t *testing.T) {
	var c summary.Collector
	for i, d := range []results.Daemon{
		{CPUNS: 5},
		{CPUNS: 3, WakeUps: stamp(7), KernelThreads: &results.KernelThreads{All: results.Activity{CPUNS: 99},
			Benchmark: results.Activity{CPUNS: 4}}},
		{CPUNS: 4, WakeUps: stamp(6),
			KernelThreads: &results.KernelThreads{Benchmark: results.Activity{CPUNS: 8}}},
		{CPUNS: 100, WakeUps: stamp(100)},
	} {
		c.Add(results.Record{Key: nbody, Outcome: results.Completed, Daemon: d}, i < 3)
	}
	if r := c.Rows()[0]; *r.DaemonCPU != 5 || *r.WakeUps != 7 || *r.KernelCPU != 8 {
		t.Errorf("cpu %d, wake-ups %d, kernel %d; want 5, 7, 8", *r.DaemonCPU, *r.WakeUps, *r.KernelCPU)
	}
	var unknown summary.Collector
	unknown.Add(results.Record{Key: nbody}, true)
	r := unknown.Rows()[0]
	must.Be(t, r.WakeUps == nil && r.KernelCPU == nil, "row", r)
}
