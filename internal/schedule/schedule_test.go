package schedule_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"krund/internal/durable"
	"krund/internal/durable/crashfs"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig/must"
)

var (
	seed   = flag.Uint64("seed", 1, "of the random tests")
	update = flag.Bool("update", false, "write the golden files of this version")
)

const path = "/x/schedule"

func keys(n int) []key.Key {
	list := make([]key.Key, n)
	for i := range list {
		list[i] = key.Key{Benchmark: fmt.Sprintf("b%d", i), VM: "C", Variant: "default-c"}
	}
	return list
}

func header() schedule.Header {
	return schedule.Header{
		ConfigHash: "c0ffee", Created: "2026-11-21T09:00:00Z", Order: schedule.RoundRobin,
		Seed: 1, Sensors: 2,
	}
}

// create creates a schedule of n slots with two alternating keys.
func create(t testing.TB, fsys durable.FS, path string, n int) {
	t.Helper()
	must.Do(t, schedule.Create(fsys, path, header(), n, plan(n)))
}

// plan returns n slots; n is even.
func plan(n int) func(func(schedule.Slot) bool) {
	return schedule.Plan(keys(2), schedule.Each(n/2), schedule.RoundRobin, 1)
}

func simulated(t testing.TB, n int) *crashfs.FS {
	t.Helper()
	fsys := crashfs.New("/x")
	create(t, fsys, path, n)
	return fsys.Reboot(crashfs.Nothing)
}

func open(t testing.TB, fsys durable.FS, write bool) *schedule.Schedule {
	t.Helper()
	return must.Get(schedule.Open(fsys, path, write))(t)
}

// flags returns the flag of every slot, '?' for damaged ones.
func flags(t testing.TB, s *schedule.Schedule) string {
	t.Helper()
	var text strings.Builder
	for slot, err := range s.Slots() {
		var damaged *schedule.DamagedSlot
		switch {
		case errors.As(err, &damaged) && damaged.Index == slot.Index:
			text.WriteByte('?')
		case err != nil:
			t.Fatal(err)
		default:
			text.WriteByte(byte(slot.Flag))
		}
	}
	return text.String()
}

func TestAttemptsEnd(t *testing.T) {
	fsys := simulated(t, 2)
	s := open(t, fsys, true)
	for range schedule.MaxAttempts {
		must.Get(s.Begin())(t)
	}
	must.Refused(s.Begin())(t, "1000 attempts")
}

func TestFinishRefused(t *testing.T) {
	s := open(t, simulated(t, 4), true)
	slot := must.Get(s.Begin())(t)
	other := slot
	other.Key = keys(2)[1]
	late := slot
	late.Index = 4
	pexec := slot
	pexec.Pexec = 2
	tests := map[string]error{
		"a slot cannot end as running":                s.Finish(slot, schedule.Running),
		`a slot cannot end as flag '\x00'`:            s.Finish(slot, 0),
		"has b0:C:default-c number 1 there, not b1":   s.Finish(other, schedule.Completed),
		"number 1 there, not b0:C:default-c number 2": s.Finish(pexec, schedule.Completed),
		"there is no slot 4; the schedule has 4":      s.Finish(late, schedule.Completed),
		"finish slot 0":                               s.Finish(other, schedule.Completed),
	}
	for want, err := range tests {
		must.Refuse(t, err, want)
	}
	must.Equal(t, flags(t, s), "ROOO", "changed to")
}

func TestReadOnly(t *testing.T) {
	fsys := simulated(t, 2)
	s := open(t, fsys, false)
	slot := must.Get(s.Current())(t)
	_, beginErr := s.Begin()
	for _, err := range []error{beginErr, s.Finish(slot, schedule.Error),
		s.UpdateHeader(func(*schedule.Header) {})} {
		must.Fail(t, err, schedule.ErrReadOnly)
	}
	_, err := s.Summarize()
	must.Be(t, err == nil && fsys.Ops() == 0, err, fsys.Ops(), "changes")
}

func TestUpdateHeader(t *testing.T) {
	fsys := simulated(t, 2)
	base := []results.Temperature{{Sensor: "a b", MilliC: 40500}, {Sensor: "c", MilliC: 0}}
	s := open(t, fsys, true)
	before := s.Header()
	for range 5 {
		must.Do(t, s.UpdateHeader(func(h *schedule.Header) {
			h.Reboots++
			h.Mails = 2
			h.BaseTemperatures = base
			h.Boot = "boot-1"
			h.Slots, h.Next, h.ConfigHash = 99, 2, "not to be changed"
		}))
	}
	s.Header().BaseTemperatures[0].Sensor = "the caller's own"
	must.Do(t, s.Close())
	want := before
	want.Reboots, want.Mails, want.BaseTemperatures, want.Generation = 5, 2, base, 6
	want.Boot = "boot-1"
	got := open(t, fsys, false).Header()
	must.Be(t, reflect.DeepEqual(got, want), "got", got, "want", want)
	s = open(t, fsys, true)
	err := s.UpdateHeader(func(h *schedule.Header) { h.BaseTemperatures = slices.Repeat(base, 50) })
	must.Be(t, errors.Is(err, schedule.ErrRoom) && reflect.DeepEqual(s.Header(), want), err, s.Header())
}

func TestCreateRefused(t *testing.T) {
	fsys := simulated(t, 2)
	must.Fail(t, schedule.Create(fsys, path, header(), 2, plan(2)), fs.ErrExist, "over another")
	swapped := func(yield func(schedule.Slot) bool) {
		_ = yield(schedule.Slot{Index: 1, Flag: schedule.Outstanding, Pexec: 1, Key: keys(1)[0]})
	}
	order := header()
	order.Order = "?"
	tests := map[string]error{
		"there are 2 slots instead of 3": schedule.Create(fsys, "/x/a", header(), 3, plan(2)),
		"got slot 1 in place of slot 0":  schedule.Create(fsys, "/x/b", header(), 1, swapped),
		"0 slots; a schedule has 1 to":   schedule.Create(fsys, "/x/c", header(), 0, plan(0)),
		`unknown order "?"`:              schedule.Create(fsys, "/x/d", order, 2, plan(2)),
	}
	for want, err := range tests {
		must.Refuse(t, err, want)
	}
	files := fsys.Files()
	must.Equal(t, len(files), 1, "left over", "files")
}

// TestGolden: the schedules of all versions remain readable, and this version writes its own byte
// for byte.
func TestGolden(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "schedule")
	h := header()
	h.Sensors = 4
	h.Order, h.Seed = schedule.Interleaved, 42
	slots := schedule.Plan(keys(3), schedule.Each(2), schedule.Interleaved, 42)
	must.Do(t, schedule.Create(durable.OS(), name, h, 6, slots))
	s := must.Get(schedule.Open(durable.OS(), name, true))(t)
	must.Do(t, s.UpdateHeader(func(h *schedule.Header) {
		h.Reboots = 1
		h.BaseTemperatures = []results.Temperature{{Sensor: "coretemp/Package id 0", MilliC: 45000}}
	}))
	slot := must.Get(s.Begin())(t)
	must.Do(t, s.Finish(slot, schedule.Completed))
	must.Get(s.Begin())(t)
	want := s.Header()
	must.Do(t, s.Close())

	golden := filepath.Join("testdata", fmt.Sprintf("v%d", schedule.Version), "searched")
	written := must.Get(os.ReadFile(name))(t)
	if *update {
		must.Do(t, os.WriteFile(golden, written, 0o644))
	}
	stored := must.Get(os.ReadFile(golden))(t)
	must.Equal(t, string(written), string(stored), "this version writes", "and the golden file")
	// In the file of an earlier version Finish had written a hint.
	for _, earlier := range []string{golden, filepath.Join("testdata", "v1", "schedule")} {
		s = must.Get(schedule.Open(durable.OS(), earlier, false))(t)
		got := s.Header()
		got.Next, got.Generation = want.Next, want.Generation
		must.Be(t, reflect.DeepEqual(got, want) && flags(t, s) == "CROOOO", earlier, got, flags(t, s), "want",
			want)
		checkNext(t, earlier, s, 1)
		must.Do(t, s.Close())
	}
}

func TestSummarize(t *testing.T) {
	fsys := simulated(t, 8)
	s := open(t, fsys, true)
	for _, end := range []schedule.Flag{schedule.Completed, schedule.Error, schedule.Timeout,
		schedule.Skipped} {
		slot := must.Get(s.Begin())(t)
		must.Do(t, s.Finish(slot, end))
	}
	must.Get(s.Begin())(t)
	must.Do(t, s.Close())
	fsys = corrupt(fsys, func(data []byte) []byte { data[1024*s.Header().Sectors+7*128] ^= 1; return data })
	got := must.Get(open(t, fsys, false).Summarize())(t)
	want := schedule.Summary{
		Counts: schedule.Counts{Outstanding: 2, Running: 1, Completed: 1, Error: 1, Timeout: 1, Skipped: 1,
			Damaged: 1, Attempts: 5},
		Keys: []schedule.KeyCounts{
			{Key: keys(2)[0], Counts: schedule.Counts{Outstanding: 1, Running: 1, Completed: 1,
				Timeout: 1, Attempts: 3}},
			{Key: keys(2)[1], Counts: schedule.Counts{Outstanding: 1, Error: 1, Skipped: 1, Attempts: 2}},
		},
		Next: 4,
	}
	must.Be(t, reflect.DeepEqual(got, want) && got.Total() == 8 && got.Final() == 4, got, want)
}

// TestLeft counts unfinished slots, whatever surrounds them.
func TestLeft(t *testing.T) {
	fsys := simulated(t, 8)
	s := open(t, fsys, true)
	check := func(want int) {
		t.Helper()
		got, err := s.Left()
		must.Be(t, err == nil && got == want, got, "left, error", err, "want", want)
	}
	check(8)
	for range 5 {
		slot := must.Get(s.Begin())(t)
		must.Do(t, s.Finish(slot, schedule.Completed))
	}
	check(3)
	slot := must.Get(s.Slot(2))(t)
	must.Do(t, s.Finish(slot, schedule.Outstanding))
	check(4)
	must.Get(s.Begin())(t)
	check(4)
	must.Do(t, s.Close())
	fsys = corrupt(fsys, func(data []byte) []byte { data[1024*s.Header().Sectors+7*128] ^= 1; return data })
	s = open(t, fsys, false)
	check(4) // including the damaged one
}

// corrupt changes the bytes of the schedule.
func corrupt(fsys *crashfs.FS, change func([]byte) []byte) *crashfs.FS {
	changed := crashfs.New("/x")
	for name, data := range fsys.Files() {
		if name == path {
			data = change(data)
		}
		changed.Put(name, data)
	}
	return changed
}

func TestFlagOf(t *testing.T) {
	for outcome, want := range map[results.Outcome]schedule.Flag{
		results.Completed: schedule.Completed, results.Error: schedule.Error,
		results.Timeout: schedule.Timeout,
		results.Rerun:   schedule.Outstanding, "of a later version": schedule.Outstanding,
	} {
		must.Equal(t, schedule.FlagOf(outcome), want)
	}
}

func TestWithdraw(t *testing.T) {
	s := open(t, simulated(t, 4), true)
	for range 3 { // a withdrawn attempt is never counted
		slot := must.Get(s.Begin())(t)
		must.Need(t, slot.Index == 0 && slot.Attempts == 1, "began", slot, "want the first attempt at slot 0")
		must.Do(t, s.Withdraw(slot))
		must.Do(t, s.Withdraw(slot)) // a second time changes nothing
	}
	got := must.Get(s.Slot(0))(t)
	must.Be(t, got.Flag == schedule.Outstanding && got.Attempts == 0, "slot", got,
		"want outstanding and not attempted")
	slot := must.Get(s.Begin())(t)
	must.Do(t, s.Finish(slot, schedule.Completed))
	must.Do(t, s.Withdraw(slot)) // a finished slot stays so
	must.Equal(t, flags(t, s), "COOO")
}

// TestForget: attempts with lost records are removed, and the slot is the next one.
func TestForget(t *testing.T) {
	s := open(t, simulated(t, 2), true)
	for range 3 {
		slot := must.Get(s.Begin())(t)
		must.Do(t, s.Finish(slot, schedule.Outstanding))
	}
	slot := must.Get(s.Begin())(t)
	must.Do(t, s.Finish(slot, schedule.Error))
	must.Do(t, s.Forget(slot, 3))
	again := must.Get(s.Begin())(t)
	must.Be(t, again.Index == 0 && again.Attempts == 2, "began", again, "want the second attempt at slot 0")
	must.Do(t, s.Forget(slot, 99))
	got := must.Get(s.Slot(0))(t)
	must.Be(t, got.Flag == schedule.Outstanding && got.Attempts == 0, "slot", got)
}

// TestSummaryCost: memory use does not grow with the number of slots.
func TestSummaryCost(t *testing.T) {
	cost := func(n int) uint64 {
		name := filepath.Join(t.TempDir(), "schedule")
		create(t, durable.OS(), name, n)
		s := must.Get(schedule.Open(durable.OS(), name, false))(t)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		sum := must.Get(s.Summarize())(t)
		runtime.ReadMemStats(&after)
		must.Equal(t, sum.Outstanding, n, "outstanding")
		must.Do(t, s.Close())
		return after.TotalAlloc - before.TotalAlloc
	}
	few, many := cost(2_000), cost(20_000)
	must.Be(t, many <= few+10_000, "2,000 slots allocate", few, "bytes, 20,000 allocate", many)
}

func checkNext(t *testing.T, what string, s *schedule.Schedule, want int) {
	t.Helper()
	slot, err := s.Current()
	switch {
	case want < 0 && !errors.Is(err, schedule.ErrDone):
		t.Errorf("%s: got %+v, %v; want ErrDone", what, slot, err)
	case want >= 0 && (err != nil || slot.Index != want):
		t.Errorf("%s: got %+v, %v; want slot %d", what, slot, err, want)
	}
}

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
