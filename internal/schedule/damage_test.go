package schedule_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"krund/internal/durable/crashfs"
	"krund/internal/schedule"
	"krund/rig/must"
)

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
