package probe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
)

// Spin performs n steps of a calculation in which each step depends on the previous one, and
// returns its result so that no compiler removes it. A step is a 64-bit multiplication and
// addition.
//
//go:noinline
func Spin(n int) uint64 {
	x := uint64(n)
	for range n {
		x = x*6364136223846793005 + 1442695040888963407 // Knuth's MMIX generator
	}
	return x
}

// stepCycles returns the number of processor cycles of a step of Spin, or 0 if unknown. On x86 a
// multiplication takes 3 cycles and an addition 1, on every Intel processor since Nehalem and every
// AMD processor since Zen (Agner Fog, instruction tables), whatever else the processor executes at
// the same time. Other processors fuse the two, or differ.
func stepCycles() float64 {
	if runtime.GOARCH == "amd64" {
		return 4
	}
	return 0
}

// A Speed is the speed of a CPU under load, from many short chunks of work.
type Speed struct {
	CPU    int
	Source string // "cycles": the processor's own counter; "loop": duration of a loop of known length
	// chunks are in Hz; otherwise in loop steps per second, which only show whether the speed
	// varies
	Absolute bool
	Chunks   []float64 // in chronological order
}

// Median returns the median of the chunks, or NaN if there are none.
func (s Speed) Median() float64 { return s.quantile(0.5) }

// Spread returns the variation of the speed: the distance between the 5th and the 95th percentile
// of the chunks relative to the median. The outermost chunks are excluded because an interrupt
// slows a single one down. It returns NaN if there are no chunks.
func (s Speed) Spread() float64 { return (s.quantile(0.95) - s.quantile(0.05)) / s.Median() }

// quantile returns the q-quantile of the chunks.
func (s Speed) quantile(q float64) float64 {
	if len(s.Chunks) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s.Chunks))
	return sorted[int(math.Round(q*float64(len(sorted)-1)))]
}

// steadySpread is the maximum spread of a steady speed. Adjacent P-states of the study's machines
// differ by 5 % or more (section 7 there), and the study considered 3 % in either direction safe.
const steadySpread = 0.03

// Steady reports whether the speed was constant.
func (s Speed) Steady() bool { return s.Spread() <= steadySpread }

// heldSpread is the difference between the quartiles of a clock that the hardware holds.
const heldSpread = 0.005

// Held reports whether the clock was constant but for interruptions.
func (s Speed) Held() bool {
	return len(s.Chunks) > 0 && s.quantile(0.75)-s.quantile(0.25) <= heldSpread*s.Median()
}

func (s Speed) String() string {
	if len(s.Chunks) == 0 {
		return "not measured"
	}
	unit := "MHz"
	if !s.Absolute {
		unit = "million steps/s"
	}
	return fmt.Sprintf("%.0f %s, varies by %.1f %%", s.Median()/1e6, unit, 100*s.Spread())
}

// chunkSteps is the work of a chunk: about 4 milliseconds at 3 GHz, which is long compared with
// reading the clock and short compared with the time in which a processor changes its frequency.
const chunkSteps = 3_000_000

// A cycleCounter counts the cycles of the calling thread.
type cycleCounter interface {
	Cycles() (uint64, error)
	Close() error
}

// MeasureSpeed keeps a CPU busy for d and measures its speed. It binds the calling thread to the
// CPU for that time; a CPU of -1 means any CPU. It uses the processor's cycle counter if the kernel
// allows reading it.
func MeasureSpeed(ctx context.Context, clock sysroot.Clock, cpu int, d time.Duration) (Speed, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := Speed{CPU: cpu, Source: "loop", Absolute: stepCycles() > 0}
	if cpu >= 0 {
		unbind, err := host.BindThread(cpu)
		if err != nil {
			return s, fmt.Errorf("measure speed of CPU %d: %w", cpu, err)
		}
		defer unbind()
	}
	counter, err := openCycles()
	if err == nil {
		s.Source, s.Absolute = "cycles", true
		defer func() { _ = counter.Close() }() // read-only
	}
	end := clock.Now().Add(d)
	for ctx.Err() == nil && clock.Now().Before(end) {
		chunk, err := measureChunk(clock, counter)
		if err != nil {
			return s, fmt.Errorf("measure speed of CPU %d: %w", cpu, err)
		}
		s.Chunks = append(s.Chunks, chunk)
	}
	return s, ctx.Err()
}

// measureChunk returns the speed of one chunk: in Hz, or in steps per second if the cycles per step
// are unknown.
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
		return 0, errors.New("the clock does not advance")
	}
	switch {
	case counter != nil:
		return float64(after-before) / elapsed, nil
	case stepCycles() > 0:
		return chunkSteps * stepCycles() / elapsed, nil
	}
	return chunkSteps / elapsed, nil
}

// Heat keeps every CPU that this process may use busy for d of the given clock, or until ctx ends,
// and then returns its error.
func Heat(ctx context.Context, clock sysroot.Clock, d time.Duration) error {
	end := clock.Now().Add(d)
	var all sync.WaitGroup
	for range runtime.NumCPU() {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for ctx.Err() == nil && clock.Now().Before(end) {
				runtime.KeepAlive(Spin(1 << 20))
			}
		})
	}
	all.Wait()
	return ctx.Err()
}
