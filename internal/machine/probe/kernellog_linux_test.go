package probe

import (
	"os"
	"strings"
	"testing"

	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// TestLineInTheKernelLog writes to the real log: the line is in the report of the running watch,
// but not in a later one.
func TestLineInTheKernelLog(t *testing.T) {
	device, err := os.OpenFile("/dev/kmsg", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("the kernel log cannot be written here: %v", err)
	}
	t.Cleanup(func() { _ = device.Close() })
	m := host.Host{Root: sysroot.New("/")}
	log, err := WatchKernelLog(t.Context(), m)
	if err != nil {
		t.Skipf("the kernel log cannot be read here: %v", err)
	}
	const text = "krund-test: a line of the kernel log"
	if _, err := device.WriteString("<5>" + text + "\n"); err != nil {
		t.Skipf("the kernel log cannot be written here: %v", err)
	}
	mine := func(r KernelReport) int {
		n := 0
		for _, l := range r.Unexpected {
			if strings.Contains(l.Text, text) {
				n++
				must.Be(t, l.Facility == facilityUser && l.Level == 5 && l.Seq != 0, l)
			}
		}
		return n
	}
	for round, want := range []int{1, 0} {
		r, err := After(t.Context(), log, sysroot.RealClock{}, DefaultAllow())
		must.Be(t, err == nil && mine(r) == want, "look", round, r, err, "want the line", want, "times")
	}
	must.Do(t, log.Close())
}

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
