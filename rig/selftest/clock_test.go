package selftest

import (
	"fmt"
	"testing"
	"time"

	"krund/rig"
	"krund/rig/must"
)

// TestClock: on a busy host the clock of a booting machine must not run faster than the host's, or
// timeouts in the guest would expire too early.
func TestClock(t *testing.T) {
	rig.Long(t, "half a minute")
	for range 4 {
		go func() {
			for t.Context().Err() == nil {
			}
		}()
	}
	m := rig.New(t, rig.Options{})
	m.PowerOn()
	m.WaitUp()
	uptime := func() (seconds float64) {
		must.Get(fmt.Sscan(m.Sh("cat /proc/uptime"), &seconds))(t)
		return seconds
	}
	begin, from := time.Now(), uptime()
	m.Sh("sleep 5")
	to, took := uptime(), time.Since(begin).Seconds()
	must.Be(t, to-from <= took, to-from, "s inside", took, "s outside")
	t.Logf("%.2f s inside, %.2f s outside; %s", to-from, took, m.Sh("dmesg | grep -i 'tsc:' | head -3"))
}

// TestPace measures this host before the suites run, to scale their limits. It uses one start.
func TestPace(t *testing.T) { rig.Calibrate(t) }
