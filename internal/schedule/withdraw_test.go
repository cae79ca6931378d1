package schedule_test

import (
	"testing"

	"krund/internal/durable/crashfs"
	"krund/internal/schedule"
)

func TestWithdraw(t *testing.T) {
	s := open(t, simulated(t, 4), true)
	for range 3 { // a withdrawn attempt is never counted
		slot, err := s.Begin()
		must(t, err)
		if slot.Index != 0 || slot.Attempts != 1 {
			t.Fatalf("began %+v, want the first attempt at slot 0", slot)
		}
		must(t, s.Withdraw(slot))
		must(t, s.Withdraw(slot)) // a second time changes nothing
	}
	got, err := s.Slot(0)
	must(t, err)
	if got.Flag != schedule.Outstanding || got.Attempts != 0 {
		t.Errorf("slot is %+v, want outstanding and not attempted", got)
	}
}

func TestWithdrawLeavesFinishedSlotsAlone(t *testing.T) {
	s := open(t, simulated(t, 2), true)
	slot, err := s.Begin()
	must(t, err)
	must(t, s.Finish(slot, schedule.Completed))
	must(t, s.Withdraw(slot))
	if got, _ := s.Slot(0); got.Flag != schedule.Completed || got.Attempts != 1 {
		t.Errorf("slot is %+v, want completed", got)
	}
}

func TestBootIsRemembered(t *testing.T) {
	fsys := simulated(t, 2)
	s := open(t, fsys, true)
	const boot = "d2f1b6ae-0c7e-4a53-a6f0-2d9b1c0e5f11"
	must(t, s.UpdateHeader(func(h *schedule.Header) { h.Boot = boot }))
	if got := open(t, fsys.Reboot(crashfs.Nothing), false).Header().Boot; got != boot {
		t.Errorf("boot %q, want %q", got, boot)
	}
}

// TestForget: attempts with lost records are removed, and the slot is the next one.
func TestForget(t *testing.T) {
	s := open(t, simulated(t, 2), true)
	for range 3 {
		slot, err := s.Begin()
		must(t, err)
		must(t, s.Finish(slot, schedule.Outstanding))
	}
	slot, err := s.Begin()
	must(t, err)
	must(t, s.Finish(slot, schedule.Error))
	must(t, s.Forget(slot, 3))
	if got, err := s.Begin(); err != nil || got.Index != 0 || got.Attempts != 2 {
		t.Errorf("began %+v, %v; want the second attempt at slot 0", got, err)
	}
	must(t, s.Forget(slot, 99))
	if got, _ := s.Slot(0); got.Flag != schedule.Outstanding || got.Attempts != 0 {
		t.Errorf("slot is %+v, want outstanding and not attempted", got)
	}
}
