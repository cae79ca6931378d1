package rig

import (
	"testing"
	"time"

	"krund/rig/must"
)

// TestHostTSC: the frequency agrees with a second measurement over a different period.
func TestHostTSC(t *testing.T) {
	khz := hostTSC()
	must.Need(t, khz >= 100_000 && khz <= 10_000_000, khz, "kHz")
	from, begin := tscNow()
	for time.Since(begin) < 20*time.Millisecond {
	}
	to, end := tscNow()
	again := (to - from) * uint64(time.Millisecond) / uint64(end.Sub(begin))
	diff := max(khz, again) - min(khz, again)
	must.Be(t, diff <= khz/100, khz, "kHz, then", again)
}
