//go:build linux

package main

import (
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"krund/internal/analysis/dataset"
)

// window is a time in which the competitor wanted the processor, on libkrun's clock.
type window struct{ From, To int64 }

const (
	restNS = 60e6 // between two windows
	busyNS = 6e6
)

// compete keeps processor 0 busy again and again, and stores when. stop ends it and may be called
// twice.
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
			for w.To = now(); w.To < w.From+busyNS; w.To = now() {
				continue
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

// during returns the iterations of an execution that overlap a window.
func during(windows []window, e *dataset.Execution) []int {
	wall, ok := e.Column(dataset.Wall, dataset.NoCore)
	if !ok {
		return nil
	}
	var at []int
	next := 0
	for i, start := range e.Starts {
		for next < len(windows) && windows[next].To < start {
			next++
		}
		if next < len(windows) && windows[next].From < start+wall.Ints[i] {
			at = append(at, i)
		}
	}
	return at
}
