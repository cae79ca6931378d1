package schedule_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"krund/internal/durable"
	"krund/internal/schedule"
	"krund/rig/must"
)

// million is the size of the schedule that the figures are about. It is created once per size.
const million = 1_000_000

func benchSchedule(b *testing.B, n int) string {
	b.Helper()
	name := filepath.Join(b.TempDir(), "schedule")
	create(b, durable.OS(), name, n)
	return name
}

// BenchmarkOpenNextUpdate is the work of one boot on a half-finished schedule: open it, begin the
// next slot, finish it, count the reboot. It makes three in-place updates, each synced to the disk.
func BenchmarkOpenNextUpdate(b *testing.B) {
	for _, n := range []int{100, 10_000, million} {
		b.Run(fmt.Sprintf("slots=%d", n), func(b *testing.B) {
			name := benchSchedule(b, n)
			for b.Loop() {
				s := must.Get(schedule.Open(durable.OS(), name, true))(b)
				slot, err := s.Begin()
				if errors.Is(err, schedule.ErrDone) { // a small schedule: start again from the beginning
					must.Do(b, s.Close())
					must.Do(b, os.Remove(name))
					create(b, durable.OS(), name, n)
					continue
				}
				must.Do(b, err)
				must.Do(b, s.Finish(slot, schedule.Completed))
				must.Do(b, s.UpdateHeader(func(h *schedule.Header) { h.Reboots++ }))
				must.Do(b, s.Close())
			}
		})
	}
}

// BenchmarkOpenCurrent is the reading part of that, in the middle of the schedule: all slots
// before it are read.
func BenchmarkOpenCurrent(b *testing.B) {
	for _, n := range []int{100, 10_000, million} {
		b.Run(fmt.Sprintf("slots=%d", n), func(b *testing.B) {
			name := halfDone(b, n)
			b.ReportAllocs()
			for b.Loop() {
				s := must.Get(schedule.Open(durable.OS(), name, false))(b)
				slot := must.Get(s.Current())(b)
				must.Need(b, slot.Index == n/2, "slot", slot.Index)
				must.Do(b, s.Close())
			}
		})
	}
}

func halfDone(b *testing.B, n int) string {
	b.Helper()
	name := filepath.Join(b.TempDir(), "schedule")
	slots := func(yield func(schedule.Slot) bool) {
		for s := range plan(n) {
			if s.Index < n/2 {
				s.Flag = schedule.Completed
			}
			if !yield(s) {
				return
			}
		}
	}
	must.Do(b, schedule.Create(durable.OS(), name, header(), n, slots))
	return name
}

// BenchmarkSummarize is `krunctl status` on a million slots.
func BenchmarkSummarize(b *testing.B) {
	name := benchSchedule(b, million)
	for b.Loop() {
		s := must.Get(schedule.Open(durable.OS(), name, false))(b)
		must.Get(s.Summarize())(b)
		must.Do(b, s.Close())
	}
}

// BenchmarkCreate is the work of the first boot.
func BenchmarkCreate(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		name := filepath.Join(dir, "schedule")
		create(b, durable.OS(), name, million)
		must.Do(b, os.Remove(name))
	}
}
