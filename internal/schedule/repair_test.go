package schedule_test

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"krund/internal/durable/crashfs"
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
