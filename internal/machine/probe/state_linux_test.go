package probe

import (
	"testing"

	"krund/rig/must"
)

// TestTSC: the refined calibration, of a log as Linux 6.12 prints it.
func TestTSC(t *testing.T) {
	const detected = "<6>[    0.000000] tsc: Detected 2596.140 MHz processor\n"
	must.Equal(t, tscKHz(""), 0)
	must.Equal(t, tscKHz(detected), 2596140)
	const refined = "<6>[    1.4] tsc: Refined TSC clocksource calibration: 2595.124 MHz\n"
	must.Equal(t, tscKHz(detected+refined), 2595124)
}

// TestAskKernel: as root, or not at all.
func TestAskKernel(t *testing.T) {
	state := Fingerprint{}
	askKernel(state)
	for name, value := range state {
		must.Be(t, value != "", name)
	}
	t.Log(state, TSCKHz())
}
