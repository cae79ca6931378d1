package boot

import (
	"context"
	"errors"
	"slices"
	"testing"

	"krund/internal/durable/crashfs"
	"krund/rig/must"
)

// TestShip: each execution is followed by one shipment, on a restored machine; that the hub is dead
// changes nothing.
func TestShip(t *testing.T) {
	cfg := parse(t, experimentText("executions = 2\nreboot = \"none\""))
	s, disk := newSimulated(t), crashfs.New("/lab")
	sys := s.system(disk)
	shipped := 0
	sys.Ship = func(context.Context) error {
		shipped++
		last := len(s.events) - 1
		if run, restored := lastOf(s.events, "run"), lastOf(s.events, "restore"); restored < run {
			t.Errorf("shipment %d: the machine was not restored: %q", shipped, s.events[max(0, last-8):])
		}
		return errors.New("no route to the hub")
	}
	ending, err := Run(t.Context(), cfg, dir, "none", sys)
	must.Need(t, ending == Finished && err == nil, ending, err)
	must.Equal(t, shipped, cfg.Slots(), "shipments")
	must.Do(t, audit(disk, cfg, nil))
}

func lastOf(events []string, name string) int {
	for i, e := range slices.Backward(events) {
		if e == name {
			return i
		}
	}
	return -1
}
