package schedule_test

import (
	"errors"
	"fmt"

	"krund/internal/durable/crashfs"
	"krund/internal/experiment/key"
	"krund/internal/schedule"
)

// Example is a miniature experiment: two keys, two rounds, and a power cut during the second
// execution.
func Example() {
	fsys := crashfs.New("/nbody.krun")
	const path = "/nbody.krun/schedule"
	keys := []key.Key{
		{Benchmark: "nbody", VM: "C", Variant: "default-c"},
		{Benchmark: "nbody", VM: "PyPy", Variant: "default-python"},
	}
	header := schedule.Header{Order: schedule.RoundRobin, ConfigHash: "9f86d0",
		Created: "2026-11-21T09:00:00Z"}
	slots := schedule.Plan(keys, schedule.Each(2), schedule.RoundRobin, 1)
	if err := schedule.Create(fsys, path, header, 4, slots); err != nil {
		fmt.Println(err)
	}
	for boot := 1; ; boot++ {
		done, err := oneBoot(fsys, path, boot)
		switch {
		case errors.Is(err, crashfs.ErrPowerCut):
			fmt.Println("  the power fails")
			fsys = fsys.Reboot(crashfs.Nothing)
		case err != nil:
			fmt.Println(err)
			return
		case done:
			return
		}
	}
	// Output:
	// boot 1: slot 0, nbody:C:default-c, number 1, attempt 1
	// boot 2: slot 1, nbody:PyPy:default-python, number 1, attempt 1
	//   the power fails
	// boot 3: slot 1, nbody:PyPy:default-python, number 1, attempt 2
	// boot 4: slot 2, nbody:C:default-c, number 2, attempt 1
	// boot 5: slot 3, nbody:PyPy:default-python, number 2, attempt 1
	// boot 6: finished, 4 reboots
}

// oneBoot runs one slot.
func oneBoot(fsys *crashfs.FS, path string, boot int) (done bool, err error) {
	s, err := schedule.Open(fsys, path, true)
	if err != nil {
		return false, err
	}
	slot, err := s.Begin()
	if errors.Is(err, schedule.ErrDone) {
		fmt.Printf("boot %d: finished, %d reboots\n", boot, s.Header().Reboots)
		return true, s.Close()
	}
	if err != nil {
		return false, err
	}
	fmt.Printf("boot %d: slot %d, %s, number %d, attempt %d\n", boot, slot.Index, slot.Key,
		slot.Pexec, slot.Attempts)
	if boot == 2 {
		fsys.CrashAt(fsys.Ops() + 1)
	}
	// Here the benchmark runs and its record is stored.
	if err := s.Finish(slot, schedule.Completed); err != nil {
		return false, err
	}
	if err := s.UpdateHeader(func(h *schedule.Header) { h.Reboots++ }); err != nil {
		return false, err
	}
	return false, s.Close()
}
