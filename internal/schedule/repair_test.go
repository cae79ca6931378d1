package schedule_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"krund/internal/durable/crashfs"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig/must"
)

// source returns the source of a schedule of n slots without results.
func source(n int) schedule.Source {
	h := header()
	h.Reboots, h.Mails = 3, 2
	return schedule.Source{
		Header: h,
		Plan:   plan(n),
		State:  func(planned schedule.Slot) (schedule.Slot, error) { return planned, nil },
	}
}

// damagedAt creates a schedule of 20 slots, 5 of them completed in two attempts each, and damages
// it.
func damagedAt(t *testing.T, change func([]byte, schedule.Header) []byte) *crashfs.FS {
	t.Helper()
	const n = 20
	fsys := simulated(t, n)
	s := open(t, fsys, true)
	for i := range 10 {
		slot := must.Get(s.Begin())(t)
		must.Do(t, s.Finish(slot, []schedule.Flag{schedule.Outstanding, schedule.Completed}[i%2]))
	}
	must.Do(t, s.UpdateHeader(func(h *schedule.Header) { h.Reboots = 9 }))
	return corrupt(fsys, func(data []byte) []byte { return change(data, s.Header()) })
}

// TestRepair applies the damage as a function. Rebuilt slots become completed in their first
// attempt, so that they can be distinguished from salvaged slots.
func TestRepair(t *testing.T) {
	at := func(h schedule.Header, index int) int { return int(h.SlotOffset(index)) }
	all := slices.Collect(func(yield func(int) bool) {
		for i := range 20 {
			if !yield(i) {
				return
			}
		}
	})
	tests := []struct {
		name    string
		damage  func([]byte, schedule.Header) []byte
		headers int
		size    bool
		slots   []int
		reboots int
	}{
		{"nothing", func(d []byte, _ schedule.Header) []byte { return d }, 0, false, nil, 9},
		{"a slot",
			func(d []byte, h schedule.Header) []byte { d[at(h, 2)] = 'S'; return d }, 0, false, []int{2}, 9},
		{"a sector", func(d []byte, h schedule.Header) []byte { clear(d[at(h, 4):at(h, 8)]); return d }, 0,
			false, []int{4, 5, 6, 7}, 9},
		{"header A", func(d []byte, h schedule.Header) []byte { clear(d[:512]); return d }, 1, false, nil, 9},
		// A is from before the last update
		{"header B",
			func(d []byte, h schedule.Header) []byte { clear(d[512:1024]); return d }, 1, false, nil, 0},
		{"both headers",
			func(d []byte, h schedule.Header) []byte { clear(d[:at(h, 0)]); return d }, 2, false, all, 3},
		{"truncated",
			func(d []byte, h schedule.Header) []byte { return d[:at(h, 18)+5] }, 0, true, []int{18, 19}, 9},
		{"extended",
			func(d []byte, _ schedule.Header) []byte { return append(d, "rubbish"...) }, 0, true, nil, 9},
		{"empty", func([]byte, schedule.Header) []byte { return nil }, 2, false, all, 3},
		{"zeros", func(d []byte, _ schedule.Header) []byte { clear(d); return d }, 2, false, all, 3},
		{"another file", func([]byte, schedule.Header) []byte { return []byte("hello\n") }, 2, false, all, 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fsys := damagedAt(t, test.damage)
			broken := fsys.Files()[path]
			src := source(20)
			src.State = func(planned schedule.Slot) (schedule.Slot, error) {
				return schedule.Slot{Flag: schedule.Completed, Attempts: 1}, nil
			}
			report := must.Get(schedule.Repair(fsys, path, src))(t)
			must.Be(t, len(report.Headers) == test.headers && (report.Size != nil) == test.size &&
				slices.Equal(report.Slots, test.slots), "report", report)
			must.Be(t, report.Clean() == (test.name == "nothing") &&
				report.Clean() == (report.Backup == "") && report.Clean() == (fsys.Ops() == 0), "clean",
				report.Clean(), "backup", report.Backup, fsys.Ops(), "operations")
			must.Be(t, report.Clean() || bytes.Equal(fsys.Files()[report.Backup], broken), "the copy",
				report.Backup, "is not as the file was")
			checkRepaired(t, fsys.Survivor(crashfs.Nothing), test.slots, test.reboots)
			again, err := schedule.Repair(fsys, path, src)
			must.Be(t, err == nil && again.Clean(), "repairing again", again, err)
		})
	}
}

func checkRepaired(t *testing.T, fsys *crashfs.FS, rebuilt []int, reboots int) {
	t.Helper()
	s := open(t, fsys, true)
	m, damaged := stored(t, s)
	for i, slot := range m.slots {
		want := slices.Collect(plan(20))[i]
		switch {
		case slices.Contains(rebuilt, i):
			want.Flag, want.Attempts = schedule.Completed, 1
		case i < 5:
			want.Flag, want.Attempts = schedule.Completed, 2
		}
		must.Equal(t, slot, want)
	}
	must.Be(t, len(damaged) == 0 && m.reboots == reboots && s.Header().ConfigHash == header().ConfigHash,
		"damaged", damaged, "header", s.Header())
	checkNext(t, "repaired", s, m.next())
}

func TestRepairRefused(t *testing.T) {
	bad := func(d []byte, h schedule.Header) []byte { d[h.SlotOffset(2)] = 'S'; return d }
	stateFails := errors.New("the record cannot be read")
	tests := []struct {
		name   string
		damage func([]byte, schedule.Header) []byte
		change func(*schedule.Source)
		want   string
	}{
		{"another configuration", bad, func(s *schedule.Source) { s.Header.ConfigHash = "dead" },
			"another configuration (hash c0ffee, not dead)"},
		{"more slots", bad, func(s *schedule.Source) { s.Plan = plan(22) },
			"20 slots, but the configuration plans 22"},
		{"other keys", bad, func(s *schedule.Source) {
			s.Plan = schedule.Plan(keys(4), schedule.Each(5), schedule.RoundRobin, 1)
		},
			"slot 3 is b1:C:default-c number 2, but the configuration plans b3:C:default-c number 1"},
		{"no state", bad, func(s *schedule.Source) {
			s.State = func(schedule.Slot) (schedule.Slot, error) { return schedule.Slot{}, stateFails }
		}, "slot 2: the record cannot be read"},
		{"nonsense state", bad, func(s *schedule.Source) {
			s.State = func(schedule.Slot) (schedule.Slot, error) { return schedule.Slot{Flag: 'Q'}, nil }
		}, "unknown flag 'Q'"},
		{"newer", func(d []byte, _ schedule.Header) []byte {
			return bytes.ReplaceAll(d, []byte("krund-schedule=1"), []byte("krund-schedule=2"))
		}, func(*schedule.Source) {}, "newer format"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fsys := damagedAt(t, test.damage)
			before := fsys.Files()[path]
			src := source(20)
			test.change(&src)
			_, err := schedule.Repair(fsys, path, src)
			must.Be(t, err != nil && strings.Contains(err.Error(), test.want) &&
				strings.Contains(err.Error(), path), err, "want", test.want)
			must.Be(t, bytes.Equal(fsys.Files()[path], before), "the schedule was changed nevertheless")
		})
	}
	_, err := schedule.Repair(crashfs.New(), path, source(2))
	must.Fail(t, err, fs.ErrNotExist, "without a directory")
}

// TestRepairCut: an interrupted repair succeeds when it is repeated.
func TestRepairCut(t *testing.T) {
	build := func() *crashfs.FS {
		return damagedAt(t, func(d []byte, h schedule.Header) []byte {
			clear(d[h.SlotOffset(0):h.SlotOffset(2)])
			return d
		})
	}
	src := source(20)
	src.State = func(schedule.Slot) (schedule.Slot, error) {
		return schedule.Slot{Flag: schedule.Completed, Attempts: 1}, nil
	}
	program := func(fsys *crashfs.FS) error {
		_, err := schedule.Repair(fsys, path, src)
		return err
	}
	for cut, after := range crashfs.EveryCut(build, program, crashfs.Policies(*seed)...) {
		_, err := schedule.Open(after, path, false)
		must.Need(t, cut.Err != nil || err == nil, cut, err)
		must.Do(t, program(after))
		checkRepaired(t, after, []int{0, 1}, 9)
	}
}

// TestRepairKeepsBackups of previous repairs.
func TestRepairKeepsBackups(t *testing.T) {
	fsys := damagedAt(t, func(d []byte, h schedule.Header) []byte { d[h.SlotOffset(2)] = 'S'; return d })
	fsys.Put(path+".broken", []byte("precious"))
	report, err := schedule.Repair(fsys, path, source(20))
	must.Be(t, err == nil && report.Backup == path+".broken1" &&
		string(fsys.Files()[path+".broken"]) == "precious", report, err)
}

// TestRepairOnFullDisk changes nothing.
func TestRepairOnFullDisk(t *testing.T) {
	for op := 1; op <= 10; op++ {
		fsys := damagedAt(t, func(d []byte, h schedule.Header) []byte { d[h.SlotOffset(2)] = 'S'; return d })
		before := fsys.Files()[path]
		fsys.Inject(crashfs.Fault{Op: op, Err: syscall.ENOSPC, Permanent: true})
		_, err := schedule.Repair(fsys, path, source(20))
		if err == nil {
			must.Be(t, op >= 7, "full from operation", op, "on, and no error")
			continue
		}
		must.Be(t, errors.Is(err, syscall.ENOSPC) && bytes.Equal(fsys.Files()[path], before),
			"full from operation", op, "on", err)
	}
}

// zero overwrites part of the file with zeros.
func zero(from, to int) func([]byte) []byte {
	return func(data []byte) []byte {
		clear(data[from:min(to, len(data))])
		return data
	}
}

func TestDamagedFile(t *testing.T) {
	text := func(s string) func([]byte) []byte { return func([]byte) []byte { return []byte(s) } }
	newer := func(data []byte) []byte {
		return bytes.ReplaceAll(data, []byte("krund-schedule=1"), []byte("krund-schedule=2"))
	}
	tests := []struct {
		name   string
		change func([]byte) []byte
		is     error
		say    []string
	}{
		{"empty", text(""), schedule.ErrHeaders, []string{"krunctl repair", "the file is empty"}},
		{"zeros", zero(0, 1<<20), schedule.ErrHeaders, []string{"krunctl repair", "filled with zeros"}},
		{"another file", text("# hello\n"), schedule.ErrHeaders,
			[]string{"krunctl repair", "not a schedule"}},
		{"both headers", zero(100, 700), schedule.ErrHeaders, []string{"krunctl repair", "copy A", "copy B",
			"wrong checksum"}},
		{"newer", newer, schedule.ErrVersion, []string{"newer format", path}},
		{"newer and short", text("krund-schedule=7\n"), schedule.ErrVersion, []string{"newer format"}},
		{"cut in the slots",
			func(d []byte) []byte { return d[:len(d)-1] }, nil, []string{"truncated", "krunctl repair",
				"1535 bytes", "1536"}},
		{"cut after the headers",
			func(d []byte) []byte { return d[:1024] }, nil, []string{"truncated", "krunctl repair"}},
		{"cut in header A",
			func(d []byte) []byte { return d[:300] }, schedule.ErrHeaders, []string{"krunctl repair"}},
		{"longer",
			func(d []byte) []byte { return append(d, 'x') }, nil, []string{"extended", "krunctl repair",
				"1537 bytes", "1536"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fsys := corrupt(oneSector(t, 4), test.change)
			for _, write := range []bool{false, true} {
				_, err := schedule.Open(fsys, path, write)
				var size *schedule.SizeError
				must.Need(t, (test.is == nil || errors.Is(err, test.is)) && (test.is != nil ||
					errors.As(err, &size)), err, "want", test.is)
				for _, say := range test.say {
					must.Contain(t, err.Error(), say)
				}
			}
			must.Equal(t, fsys.Ops(), 0, "opening has changed something", fsys.Log())
		})
	}
}

// oneSector creates a schedule whose header copies have one sector each.
func oneSector(t *testing.T, n int) *crashfs.FS {
	t.Helper()
	fsys := crashfs.New("/x")
	h := header()
	h.Sensors = 0
	must.Do(t, schedule.Create(fsys, path, h, n, plan(n)))
	return fsys
}

// TestOneHeaderCopy: if either copy is damaged in any byte, the other one is used. The next update
// repairs the damage, and then either copy may be damaged again.
func TestOneHeaderCopy(t *testing.T) {
	fsys := oneSector(t, 4)
	s := open(t, fsys, true)
	must.Do(t, s.UpdateHeader(func(h *schedule.Header) { h.Mails = 1 })) // B has generation 2
	must.Do(t, s.Close())
	for at := range 1024 {
		damaged := corrupt(fsys, func(data []byte) []byte { data[at] ^= 0x20; return data })
		s := open(t, damaged, true)
		wantMails := 1
		if at >= 512 {
			wantMails = 0
		}
		if got := s.Header().Mails; got != wantMails || s.HeaderDamage() == nil {
			t.Fatalf("byte %d: %d mails, damage %v", at, got, s.HeaderDamage())
		}
		must.Do(t, s.UpdateHeader(func(h *schedule.Header) { h.Mails = 7 }))
		must.Do(t, s.Close())
		s = open(t, damaged, false)
		if got := s.Header().Mails; got != 7 || s.HeaderDamage() != nil {
			t.Fatalf("byte %d after an update: %d mails, damage %v", at, got, s.HeaderDamage())
		}
	}
}

// TestDamagedSlotIsSeen: a damaged slot that must be read stops the experiment, a damaged slot that
// finished long ago does not.
func TestDamagedSlotIsSeen(t *testing.T) {
	fsys := simulated(t, 6)
	s := open(t, fsys, true)
	at := func(index int) int { return int(s.Header().SlotOffset(index)) }
	for range 3 {
		slot := must.Get(s.Begin())(t)
		must.Do(t, s.Finish(slot, schedule.Completed))
	}
	for index := range 6 {
		damaged := corrupt(fsys, func(data []byte) []byte { data[at(index)+30] ^= 1; return data })
		s := open(t, damaged, true)
		_, err := s.Begin()
		var slot *schedule.DamagedSlot
		wantSeen := index <= 3
		seen := errors.As(err, &slot) && slot.Index == index
		must.Be(t, seen == wantSeen && (wantSeen || err == nil), "slot", index, "damaged", err)
		must.Be(t, !wantSeen || strings.Contains(err.Error(), "krunctl repair"), err,
			"does not name the cure")
		_, err = s.Slot(index)
		must.Be(t, errors.As(err, &slot), "slot", index, err)
		err = s.Finish(schedule.Slot{Index: index}, schedule.Error)
		must.Be(t, errors.As(err, &slot), "finishing it", err)
	}
}

// TestReadErrors are returned unchanged, not reported as damage.
func TestReadErrors(t *testing.T) {
	fsys := simulated(t, 4)
	s := open(t, fsys, true)
	fsys.FailReads(path, syscall.EIO)
	_, err := schedule.Open(fsys, path, false)
	must.Fail(t, err, syscall.EIO, "Open")
	_, beginErr := s.Begin()
	_, slotErr := s.Slot(1)
	_, sumErr := s.Summarize()
	for _, err := range []error{beginErr, slotErr, sumErr, s.Finish(schedule.Slot{}, schedule.Error)} {
		must.Fail(t, err, syscall.EIO)
	}
}

// TestWriteErrors: each write and sync of an execution fails once. The error is returned, and
// repeating the call succeeds durably.
func TestWriteErrors(t *testing.T) {
	const calls = 4 // Begin: write, sync; Finish: write, sync
	for op := 1; op <= calls; op++ {
		fsys := simulated(t, 4)
		fsys.Inject(crashfs.Fault{Op: op, Err: syscall.EIO})
		s := open(t, fsys, true)
		slot, err := s.Begin()
		if op <= 2 {
			must.Fail(t, err, syscall.EIO, "operation", op, "Begin")
			slot, err = s.Begin()
		}
		must.Do(t, err)
		err = s.Finish(slot, schedule.Completed)
		if op > 2 {
			must.Fail(t, err, syscall.EIO, "operation", op, "Finish")
			err = s.Finish(slot, schedule.Completed)
		}
		must.Do(t, err)
		checkNext(t, fmt.Sprintf("operation %d", op), s, 1)
		must.Equal(t, flags(t, open(t, fsys.Survivor(crashfs.Nothing), false)), "COOO", "operation", op,
			"is durable")
	}
}

// TestFullDisk has no effect once the schedule exists.
func TestFullDisk(t *testing.T) {
	fsys := simulated(t, 4)
	fsys.Inject(crashfs.Fault{Err: syscall.ENOSPC, Permanent: true})
	s := open(t, fsys, true)
	for range 4 {
		must.Do(t, s.UpdateHeader(func(h *schedule.Header) { h.Reboots++ }))
		slot := must.Get(s.Begin())(t)
		must.Do(t, s.Finish(slot, schedule.Completed))
	}
	checkNext(t, "at the end", s, -1)
}

var planned = schedule.Slot{Index: 3, Flag: schedule.Outstanding, Pexec: 2, Key: key.Key{Benchmark: "nbody",
	VM: "C", Variant: "v"}}

func TestState(t *testing.T) {
	brief := func(attempt int, o results.Outcome) schedule.Brief {
		return schedule.Brief{Name: results.Name{Slot: 3, Attempt: attempt}, Key: planned.Key.String(),
			Pexec: 2, Outcome: o}
	}
	other := brief(1, results.Completed)
	other.Pexec = 1
	for _, test := range []struct {
		name    string
		history schedule.History
		want    schedule.Flag
	}{
		{"no record", schedule.History{}, schedule.Outstanding},
		{"a rerun", schedule.History{Records: []schedule.Brief{brief(1, results.Rerun)}, Highest: 1},
			schedule.Outstanding},
		{"a rerun, then completed", schedule.History{Records: []schedule.Brief{brief(1, results.Rerun),
			brief(2, results.Completed)}, Highest: 2}, schedule.Completed},
		{"the completed one counts", schedule.History{Records: []schedule.Brief{brief(1, results.Completed),
			brief(2, results.Error)}, Highest: 2}, schedule.Completed},
		{"the last one else", schedule.History{Records: []schedule.Brief{brief(1, results.Error),
			brief(2, results.Timeout), brief(3, results.Rerun)}, Highest: 3}, schedule.Timeout},
		{"a damaged record", schedule.History{Highest: 1}, schedule.Outstanding},
		{"a record of something else", schedule.History{Records: []schedule.Brief{other}, Highest: 1},
			schedule.Outstanding},
	} {
		got := test.history.State(planned)
		want := planned
		want.Flag, want.Attempts = test.want, test.history.Highest
		must.Equal(t, got, want, test.name)
	}
}

func TestReadOneSlot(t *testing.T) {
	fsys := crashfs.New("/x")
	add := results.NewAppender(fsys, "/x")
	for _, attempt := range []int{1, 3} {
		must.Do(t, add.Append(results.Record{Key: planned.Key, Slot: 3, Attempt: attempt, Pexec: 2,
			Outcome: results.Rerun, Reasons: []string{}}))
	}
	h, err := schedule.ReadHistory(results.NewReader(fsys, "/x"), 3, config.MaxAttempts)
	must.Be(t, err == nil && h.Highest == 3 && len(h.Records) == 2 && h.Records[1].Name.Attempt == 3, h,
		"error", err)
	h, err = schedule.ReadHistory(results.NewReader(fsys, "/x"), 4, config.MaxAttempts)
	must.Be(t, err == nil && h.Highest == 0 && h.Records == nil, "of a slot without records", h, "error", err)
}

func TestHeader(t *testing.T) {
	const text = `[experiment]
reboot = %q
[notify]
max_mails = 7
[vms.C]
runner = "c"
variants = ["v"]
[variants.v]
entry = "bench.so"
[benchmarks]
nbody = { parameter = 1 }
`
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	facts := schedule.Facts{First: now.Add(-time.Hour), Attempts: 12,
		Base: []results.Temperature{{Sensor: "s", MilliC: 40000}}}
	for _, test := range []struct {
		reboot  string
		facts   schedule.Facts
		created string
		reboots int
		base    string
	}{
		{config.RebootHardware, facts, "2026-11-21T08:00:00Z", 12, "[{s 40000}]"},
		{config.RebootNone, facts, "2026-11-21T08:00:00Z", 0, "[{s 40000}]"},
		{config.RebootHardware, schedule.Facts{}, "2026-11-21T09:00:00Z", 0, "[]"},
	} {
		cfg := must.Get(config.Parse("/x/test.toml", fmt.Appendf(nil, text, test.reboot), "lab1", nil))(t)
		h := schedule.NewHeader(cfg, test.facts, now)
		must.Be(t, h.Created == test.created && h.Reboots == test.reboots && h.Mails == 7 &&
			h.ConfigHash == cfg.Hash && fmt.Sprint(h.BaseTemperatures) == test.base, test.reboot, h)
	}
}
