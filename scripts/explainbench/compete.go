//go:build linux

package main

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"krund/internal/analysis/dataset"
)

// window is a time in which the competitor had the processor, on libkrun's clock.
type window struct{ From, To int64 }

const (
	restNS = 60e6 // between two times in which it wants the processor
	busyNS = 6e6
	// lostNS between two readings of the clock, which take less than a microsecond, is time in
	// which something else had the processor.
	lostNS = 20e3
)

// compete keeps processor 0 busy again and again, and stores when it had it. stop ends it and may
// be called twice.
func compete(windows *[]window) (stop func()) {
	var end atomic.Bool
	var done sync.WaitGroup
	done.Go(func() {
		runtime.LockOSThread() // and never unlocked: the thread keeps the affinity
		var set unix.CPUSet
		set.Set(0)
		_ = unix.SchedSetaffinity(0, &set) // without it the windows hit nothing, and nothing is found
		for !end.Load() {
			rest := unix.NsecToTimespec(restNS)
			_ = unix.Nanosleep(&rest, nil)
			w := window{From: now()}
			w.To = w.From
			for stop := w.From + busyNS; w.To < stop; {
				if t := now(); t < w.To+lostNS {
					w.To = t
				} else {
					*windows = append(*windows, w)
					w = window{From: t, To: t}
				}
			}
			*windows = append(*windows, w)
		}
	})
	return func() {
		end.Store(true)
		done.Wait()
	}
}

func now() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &t) // always works on Linux
	return t.Nano()
}

// during returns the iterations of an execution of which the competitor took as much as half of a
// usual one.
func during(windows []window, e *dataset.Execution) []int {
	wall, ok := e.Column(dataset.Wall, dataset.NoCore)
	if !ok || len(wall.Ints) == 0 {
		return nil
	}
	least := slices.Sorted(slices.Values(wall.Ints))[len(wall.Ints)/2] / 2
	var at []int
	next := 0
	for i, start := range e.Starts {
		for next < len(windows) && windows[next].To < start {
			next++
		}
		end, taken := start+wall.Ints[i], int64(0)
		for k := next; k < len(windows) && windows[k].From < end; k++ {
			taken += min(windows[k].To, end) - max(windows[k].From, start)
		}
		if taken >= least {
			at = append(at, i)
		}
	}
	return at
}
