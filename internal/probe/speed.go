package probe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"krund/internal/sysroot"
)

// Spin does n steps of a calculation in which each step needs the one before it, and returns its
// result so that no compiler leaves it out. A step is a multiplication and an addition of 64 bits.
//
//go:noinline
func Spin(n int) uint64 {
	x := uint64(n)
	for range n {
		x = x*6364136223846793005 + 1442695040888963407 // Knuth's MMIX generator
	}
	return x
}

// stepCycles is how many processor cycles a step of Spin takes, 0 when unknown. On x86 a
// multiplication takes 3 cycles and an addition 1, on every Intel processor since Nehalem and every
// AMD one since Zen (Agner Fog, instruction tables), whatever else the processor could do at the
// same time. Other processors fuse the two, or differ.
func stepCycles() float64 {
	if runtime.GOARCH == "amd64" {
		return 4
	}
	return 0
}

// A Speed is how fast a CPU ran under load, from many short chunks of work.
type Speed struct {
	CPU    int
	Source string // "cycles": the processor's own counter; "loop": time of a loop of known length
	// chunks are in Hz; otherwise in steps of the loop per second, which only tell whether the
	// speed moves
	Absolute bool
	Chunks   []float64 // in the order of time
	// times the thread was put aside by the kernel (involuntary context switches); -1 unknown
	Switches int64
}

// Median returns the middle of the chunks, NaN without any.
func (s Speed) Median() float64 { return s.quantile(0.5) }

// Spread returns how far the speed moved: the distance between the 5th and the 95th percentile of
// the chunks in parts of the median. The outermost chunks are left out because an interrupt makes a
// single one slow. NaN without chunks.
func (s Speed) Spread() float64 { return (s.quantile(0.95) - s.quantile(0.05)) / s.Median() }

// quantile returns the chunk below which the share q of them lies.
func (s Speed) quantile(q float64) float64 {
	if len(s.Chunks) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s.Chunks))
	return sorted[int(math.Round(q*float64(len(sorted)-1)))]
}

// steadySpread is the spread up to which a speed counts as one speed. Neighbouring P-states of the
// study's machines are 5 % apart or more (section 7 there), and it took 3 % to either side as safe.
const steadySpread = 0.03

// Steady reports whether the speed stayed the same.
func (s Speed) Steady() bool { return s.Spread() <= steadySpread }

func (s Speed) String() string {
	if len(s.Chunks) == 0 {
		return "not measured"
	}
	unit, scale := "MHz", 1e6
	if !s.Absolute {
		unit, scale = "million steps/s", 1e6
	}
	return fmt.Sprintf("%.0f %s, moves by %.1f %%", s.Median()/scale, unit, 100*s.Spread())
}

// chunkSteps is the work of a chunk: some 4 milliseconds at 3 GHz, long against the reading of the
// clock and short against the time in which a processor changes its frequency.
const chunkSteps = 3_000_000

// A cycleCounter counts the cycles of the calling thread.
type cycleCounter interface {
	Cycles() (uint64, error)
	Close() error
}

// MeasureSpeed keeps a CPU busy for d and measures how fast it runs. It binds the calling thread to
// the CPU while it does; a CPU of -1 is whichever the kernel chooses. The processor's cycle counter
// is used where the kernel lets it be read.
func MeasureSpeed(ctx context.Context, clock sysroot.Clock, cpu int, d time.Duration) (Speed, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := Speed{CPU: cpu, Source: "loop", Absolute: stepCycles() > 0, Switches: -1}
	if cpu >= 0 {
		unbind, err := bindThread(cpu)
		if err != nil {
			return s, fmt.Errorf("measure speed of CPU %d: %w", cpu, err)
		}
		defer unbind()
	}
	counter, err := openCycles()
	if err == nil {
		s.Source, s.Absolute = "cycles", true
		defer func() { _ = counter.Close() }() // nothing is written through it
	}
	before := threadSwitches()
	end := clock.Now().Add(d)
	for ctx.Err() == nil && clock.Now().Before(end) {
		chunk, err := measureChunk(clock, counter)
		if err != nil {
			return s, fmt.Errorf("measure speed of CPU %d: %w", cpu, err)
		}
		s.Chunks = append(s.Chunks, chunk)
	}
	if after := threadSwitches(); before >= 0 && after >= 0 {
		s.Switches = after - before
	}
	return s, ctx.Err()
}

// measureChunk returns the speed of one chunk: in Hz, or in steps per second when nobody knows how
// many cycles a step takes.
func measureChunk(clock sysroot.Clock, counter cycleCounter) (float64, error) {
	var before, after uint64
	var err error
	if counter != nil {
		if before, err = counter.Cycles(); err != nil {
			return 0, err
		}
	}
	start := clock.Now()
	runtime.KeepAlive(Spin(chunkSteps))
	elapsed := clock.Now().Sub(start).Seconds()
	if counter != nil {
		if after, err = counter.Cycles(); err != nil {
			return 0, err
		}
	}
	if elapsed <= 0 {
		return 0, errors.New("the clock stands still")
	}
	switch {
	case counter != nil:
		return float64(after-before) / elapsed, nil
	case stepCycles() > 0:
		return chunkSteps * stepCycles() / elapsed, nil
	}
	return chunkSteps / elapsed, nil
}
