package schedule_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"krund/internal/durable"
	"krund/internal/schedule"
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
// next slot, finish it, count the reboot. It makes four in-place updates, each synced to the disk.
func BenchmarkOpenNextUpdate(b *testing.B) {
	for _, n := range []int{100, 10_000, million} {
		b.Run(fmt.Sprintf("slots=%d", n), func(b *testing.B) {
			name := benchSchedule(b, n)
			for b.Loop() {
				s, err := schedule.Open(durable.OS(), name, true)
				must(b, err)
				slot, err := s.Begin()
				if errors.Is(err, schedule.ErrDone) { // a small schedule: start again from the beginning
					must(b, s.Close())
					must(b, os.Remove(name))
					create(b, durable.OS(), name, n)
					continue
				}
				must(b, err)
				must(b, s.Finish(slot, schedule.Completed))
				must(b, s.UpdateHeader(func(h *schedule.Header) { h.Reboots++ }))
				must(b, s.Close())
			}
		})
	}
}

// BenchmarkOpenCurrent is the reading part of that, in the middle of the schedule, where slots
// before the hint have to be read.
func BenchmarkOpenCurrent(b *testing.B) {
	for _, n := range []int{100, 10_000, million} {
		b.Run(fmt.Sprintf("slots=%d", n), func(b *testing.B) {
			name := halfDone(b, n)
			b.ReportAllocs()
			for b.Loop() {
				s, err := schedule.Open(durable.OS(), name, false)
				must(b, err)
				slot, err := s.Current()
				must(b, err)
				if slot.Index != n/2 {
					b.Fatalf("slot %d", slot.Index)
				}
				must(b, s.Close())
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
	must(b, schedule.Create(durable.OS(), name, header(), n, slots))
	s, err := schedule.Open(durable.OS(), name, true)
	must(b, err)
	must(b, s.SetHint(n/2))
	must(b, s.Close())
	return name
}

// BenchmarkSummarize is `krunctl status` on a million slots.
func BenchmarkSummarize(b *testing.B) {
	name := benchSchedule(b, million)
	for b.Loop() {
		s, err := schedule.Open(durable.OS(), name, false)
		must(b, err)
		_, err = s.Summarize()
		must(b, err)
		must(b, s.Close())
	}
}

// BenchmarkCreate is the work of the first boot.
func BenchmarkCreate(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		name := filepath.Join(dir, "schedule")
		create(b, durable.OS(), name, million)
		must(b, os.Remove(name))
	}
}
