package dataset

import (
	"math"
	"testing"

	"krund/rig/must"
)

// loop is n iterations of wall nanoseconds with gaps between them.
func loop(n int, wall int64, perCore int, gap func(i int) int64) *Loop {
	starts, walls := make([]int64, n), make([]int64, n)
	at := int64(1_000_000)
	for i := range n {
		starts[i], walls[i] = at, wall
		at += wall + gap(i)
	}
	return LoopOf(starts, walls, perCore)
}

// TestLoop: what libkrun, a runner, a garbage collector or the scheduler needs between iterations
// is not the benchmark's. The figures of honest ones are the largest of seven VMs on a busy
// machine.
func TestLoop(t *testing.T) {
	always := func(ns int64) func(int) int64 { return func(int) int64 { return ns } }
	once := func(at int, ns int64) func(int) int64 {
		return func(i int) int64 {
			if i == at {
				return ns
			}
			return 3_400
		}
	}
	tenth := func(i int) int64 { return int64(i%10/9) * 10_000_000 }
	for name, c := range map[string]struct {
		loop      *Loop
		uncovered bool
	}{
		"nbody in C":                           {loop(300, 200, 0, always(2_200)), false},
		"CPython":                              {loop(300, 8_000, 0, always(3_400)), false},
		"counters of 64 processors":            {loop(300, 1_000, 192, always(1_500_000)), false},
		"the same without counters":            {loop(300, 1_000, 0, always(1_500_000)), true},
		"a collection of HotSpot":              {loop(300, 49_500, 0, once(7, 4_755_000)), false},
		"all work between two iterations":      {loop(300, 1_000, 0, once(0, 325_000_000)), true},
		"0.2 ms of 325 ms":                     {loop(100, 2_000, 0, always(3_250_000)), true},
		"work in each tenth gap":               {loop(300, 1_000, 0, tenth), true},
		"a wait of a tenth of the iteration":   {loop(300, 10_000_000, 0, always(900_000)), false},
		"a wait as long as the iteration":      {loop(300, 10_000_000, 0, always(10_000_000)), true},
		"stamps that go back":                  {loop(300, 1_000_000, 0, always(-500_000)), false},
		"two iterations, and the system's gap": {loop(2, 1_000_000, 0, always(9_000_000)), false},
		"one iteration":                        {loop(1, 1_000, 0, always(0)), false},
		"durations only":                       {LoopOf(nil, []int64{1, 2}, 0), false},
	} {
		e := Execution{Loop: c.loop}
		must.Equal(t, e.Uncovered(), c.uncovered, name, "uncovered", c.loop)
		e.Suite = true
		must.Be(t, !e.Uncovered(), name, "uncovered, of a suite")
		e.Suite = false
		if e.Instrument = "events"; e.Uncovered() {
			t.Errorf("%s, instrumented", name)
		}
	}
	moved := loop(101, 2_000, 0, always(3_250_000))
	must.Be(t, math.Abs(moved.Measured-2e-6) <= 1e-12 && math.Abs(moved.Outside-0.95*3.2e-3*100/101) <= 1e-9,
		moved)
}

// TestDisturbed: time in which the process had no processor is not work between two iterations, and
// the start of a VM is not what a benchmark does before them.
func TestDisturbed(t *testing.T) {
	const ms = int64(1e6)
	starts, walls := []int64{100 * ms, 132 * ms, 164 * ms}, []int64{2 * ms, 2 * ms, 2 * ms}
	e := Execution{Loop: LoopOf(starts, walls, 0)}
	must.Be(t, e.Uncovered(), e.Loop)
	life := Life{Ready: 90 * ms, Lifetime: 170 * ms, Processor: 165 * ms, Processors: 2}
	e.Loop.Within(starts, walls, life)
	must.Be(t, e.Uncovered() && math.Abs(e.Loop.Around-0.01) < 1e-9, e.Loop)
	must.Be(t, math.Abs(e.Loop.Apart-0.063) < 1e-9, e.Loop)
	life.Processor = 120 * ms
	e.Loop = LoopOf(starts, walls, 0)
	e.Loop.Within(starts, walls, life)
	must.Be(t, !e.Uncovered(), e.Loop)
}

// TestDoubt: iterations after which the process goes on, and those that do nothing any more.
func TestDoubt(t *testing.T) {
	const second, ms = int64(1e9), int64(1e6)
	for name, c := range map[string]struct {
		first, wall, after int64
		doubtful           bool
	}{
		"honest":                          {50 * ms, 50 * ms, 10 * ms, false},
		"a JIT compiler":                  {50 * ms, ms / 10, 10 * ms, false},
		"a page fault in C":               {20_000, 200, ms, false},
		"classes are loaded":              {8 * ms, 2_000, 10 * ms, false},
		"a kept result":                   {50 * ms, 500, 10 * ms, true},
		"deferred to the end":             {ms, ms, 2 * second, true},
		"a slow end of a long run":        {second, second, second, false},
		"clean-up after short iterations": {ms, ms, 300 * ms, false},
	} {
		starts := []int64{0, 2 * second, 4 * second, 6 * second}
		walls := []int64{c.first, c.wall, c.wall, c.wall}
		e := Execution{Loop: LoopOf(starts, walls, 0)}
		end := starts[3] + walls[3] + c.after
		e.Loop.Within(starts, walls, Life{Lifetime: end, Processor: end, Processors: 1})
		must.Equal(t, e.Doubt() != "", c.doubtful, name, e.Doubt())
		e.Loop.Within(starts, walls, Life{Lifetime: end + 9*second, Processor: end - c.after, Processors: 1})
		must.Equal(t, e.Loop.Late(), false, name, "on a busy machine")
		e.Instrument = "columns"
		must.Equal(t, e.Doubt(), "", name)
	}
}
