package pilot

import (
	"math"
	"testing"
	"time"

	"krund/internal/analysis/enough"
	"krund/internal/experiment/results"
	"krund/internal/reading/summary"
	"krund/rig/must"
)

// slots returns the timing of executions of 10 s, each of which began so many seconds after the one
// before it had ended, with the kind of restart and the boot.
func slots(list ...measured) []*measured {
	var all []*measured
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, m := range list {
		at = at.Add(m.Inside)
		m.Sample = summary.Sample{Slot: i, Started: at, Wall: 10 * time.Second}
		at = at.Add(m.Wall)
		all = append(all, &m)
	}
	return all
}

func after(seconds int, kind, boot string) measured {
	return measured{Sample: summary.Sample{Inside: time.Duration(seconds) * time.Second}, reboot: kind,
		boot: boot}
}

// TestTimes: what a boot takes, and what lies between executions of a boot, for each way in which
// executions are separated.
func TestTimes(t *testing.T) {
	const hard, fast, none = results.RebootHardware, results.RebootKexec, results.RebootNone
	for name, c := range map[string]struct {
		order         []*measured
		flag          time.Duration
		boot, between float64
		shared        float64 // what a key with half of the executions pays for a boot
		each          bool
	}{
		"a restart before each": {slots(after(0, hard, "a"), after(90, hard, "b"), after(95, hard, "c")),
			0, 90, 0, 90, true},
		"none, one boot": {slots(after(0, none, "a"), after(2, none, "a"), after(3, none, "a")), 0,
			math.NaN(), 2, 0, false},
		"none, boots by a person": {slots(after(0, none, "a"), after(2, none, "a"), after(3000, none, "b"),
			after(2, none, "b")), 0, math.NaN(), 2, math.NaN(), false},
		"none, boots by a person, told": {slots(after(0, none, "a"), after(2, none, "a"),
			after(3000, none, "b"), after(2, none, "b")), 2 * time.Minute, 120, 2, 60, false},
		"faster restarts between": {slots(after(0, hard, "a"), after(20, fast, "b"), after(100, hard, "c"),
			after(20, fast, "d")), 0, 80, 20, 40, false},
	} {
		got := timesOf(c.order, c.flag)
		same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
		shared := got.of([]enough.Costs{{Start: 1, Iteration: 1}}, len(c.order)/2)
		must.Be(t, same(got.boot, c.boot) && got.between == c.between && got.each == c.each &&
			same(float64(shared.Boot), c.shared), name, got, shared)
	}
	order := slots(after(0, hard, "a"), after(20, fast, "b"), after(100, hard, "c"), after(20, fast, "d"))
	timesOf(order, 0)
	must.Be(t, order[1].boot == "a" && order[3].boot == "c", "boots of the hardware name the faster ones")
}
