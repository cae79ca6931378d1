package boot

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"krund/internal/control"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/probe"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// TestSuspended: readings whose intervals overlap prove nothing, however far apart in time.
func TestSuspended(t *testing.T) {
	us := time.Microsecond
	for name, test := range map[string]struct {
		before, after ClockOffset
		want          time.Duration
	}{
		"never":               {ClockOffset{-1 * us, 2 * us}, ClockOffset{-3 * us, 1 * us}, 0},
		"earlier":             {ClockOffset{time.Hour, time.Hour}, ClockOffset{time.Hour, time.Hour + us}, 0},
		"a preempted reading": {ClockOffset{0, us}, ClockOffset{-time.Second, time.Second}, 0},
		"for 20 seconds": {ClockOffset{0, us}, ClockOffset{20 * time.Second, 20 * time.Second},
			20*time.Second - us},
		"a clock that turns back": {ClockOffset{time.Hour, time.Hour}, ClockOffset{0, us}, 0},
	} {
		must.Equal(t, suspended(test.before, test.after), test.want, name)
	}
}

// TestASuspensionIsRepeated: the run is refused, whatever verdict.policy says, and the record has
// the time.
func TestASuspensionIsRepeated(t *testing.T) {
	root, _ := kernel(t)
	for slept, refused := range map[time.Duration]int{0: 0, 20 * time.Second: 1} {
		offset := ClockOffset{time.Hour, time.Hour}
		m := &LabMachine{
			Control: control.NewMachine(t.Context(), root), Log: slog.New(slog.DiscardHandler),
			Clock: sysroot.RealClock{},
			Probes: probe.Request{Temperature: setting.Off, KernelLog: setting.Off, Fingerprint: setting.Off,
				Throttle: setting.Off},
			Offset: func() (ClockOffset, error) { return offset, nil },
		}
		after := must.Get(m.Watch(t.Context(), Applied{}, nil))(t)
		offset = ClockOffset{time.Hour + slept, time.Hour + slept}
		seen := after(t.Context())
		if len(seen.Refused) != refused || *seen.Machine.SuspendedNS != slept.Nanoseconds() ||
			refused > 0 && !strings.Contains(seen.Refused[0], "suspended for 20s") {
			t.Errorf("%s: refused %q, %d ns", slept, seen.Refused, *seen.Machine.SuspendedNS)
		}
	}
}
