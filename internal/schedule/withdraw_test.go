package schedule_test

import (
	"testing"

	"krund/internal/durable/crashfs"
	"krund/internal/schedule"
	"krund/rig/must"
)

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
}

func TestWithdrawLeavesFinishedSlotsAlone(t *testing.T) {
	s := open(t, simulated(t, 2), true)
	slot := must.Get(s.Begin())(t)
	must.Do(t, s.Finish(slot, schedule.Completed))
	must.Do(t, s.Withdraw(slot))
	got, _ := s.Slot(0)
	must.Be(t, got.Flag == schedule.Completed && got.Attempts == 1, "slot is", got, "want completed")
}

func TestBootIsRemembered(t *testing.T) {
	fsys := simulated(t, 2)
	s := open(t, fsys, true)
	const boot = "d2f1b6ae-0c7e-4a53-a6f0-2d9b1c0e5f11"
	must.Do(t, s.UpdateHeader(func(h *schedule.Header) { h.Boot = boot }))
	must.Equal(t, open(t, fsys.Reboot(crashfs.Nothing), false).Header().Boot, boot, "boot")
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
	if got, err := s.Begin(); err != nil || got.Index != 0 || got.Attempts != 2 {
		t.Errorf("began %+v, %v; want the second attempt at slot 0", got, err)
	}
	must.Do(t, s.Forget(slot, 99))
	if got, _ := s.Slot(0); got.Flag != schedule.Outstanding || got.Attempts != 0 {
		t.Errorf("slot is %+v, want outstanding and not attempted", got)
	}
}
