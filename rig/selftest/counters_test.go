package selftest

import (
	"fmt"
	"strconv"
	"testing"

	"krund/rig"
	"krund/rig/must"
)

// TestMovingCounters uses one start of a machine with the rigmsr module.
func TestMovingCounters(t *testing.T) {
	m := rig.Boot(t, rig.Options{MSR: true, Kernel: rig.Tickless})
	m.WaitRunning()
	m.Sh("for p in /sys/devices/system/cpu/cpufreq/policy*; do echo performance >$p/scaling_governor; done")
	const mperf, aperf = 0xe7, 0xe8
	ratio := aperfRatio(t, m)
	must.Be(t, ratio >= 0.99 && ratio <= 1.05, "APERF/MPERF at full speed is", ratio, "want about 1")
	m.Sh("for p in /sys/devices/system/cpu/cpufreq/policy*; do echo powersave >$p/scaling_governor; done")
	msr(t, m, aperf) // up to here at the old frequency
	ratio = aperfRatio(t, m)
	must.Be(t, ratio >= 0.2 && ratio <= 0.35, "APERF/MPERF at 800 of 3000 MHz is", ratio, "want about 0.27")
	m.SetClockRatio(90)
	msr(t, m, aperf)
	ratio = aperfRatio(t, m)
	must.Be(t, ratio >= 0.85 && ratio <= 0.95, "APERF/MPERF at 90 % is", ratio)
	m.SetMSRFaults(rig.FaultStuck)
	msr(t, m, aperf)
	a, b := msr(t, m, aperf), msr(t, m, aperf)
	must.Equal(t, a, b, "a stuck counter moved from", "to")
	m.SetMSRFaults(rig.FaultUnreadable)
	out, status := m.Try(readMSR(mperf))
	must.Be(t, status != 0, "an unreadable counter reads", out)
	m.SetMSRFaults(0)
	out, status = m.Try(readMSR(0xdeadbeef))
	must.Be(t, status != 0, "an MSR that does not exist reads", out)
}

func readMSR(reg uint32) string {
	return fmt.Sprintf(
		`python3 -c 'import os; print(int.from_bytes(os.pread(os.open("/dev/cpu/1/msr", os.O_RDONLY), 8, %d), "little"))'`, reg)
}

// msr reads a register of CPU 1.
func msr(t *testing.T, m *rig.Machine, reg uint32) uint64 {
	t.Helper()
	v := must.Get(strconv.ParseUint(m.Sh(readMSR(reg)), 10, 64))(t)
	return v
}

// aperfRatio returns the increase of APERF per increase of MPERF: the median of five measurements.
// The two registers are read one after the other, so a measurement is wrong if the host preempts
// the emulator in between.
func aperfRatio(t *testing.T, m *rig.Machine) float64 {
	t.Helper()
	const script = `python3 -c '
import os, time
f = os.open("/dev/cpu/1/msr", os.O_RDONLY)
read = lambda: [int.from_bytes(os.pread(f, 8, r), "little") for r in (0xe8, 0xe7)]
def ratio():
    a = read(); time.sleep(0.3); b = read()
    return (b[0] - a[0]) / (b[1] - a[1])
print(sorted(ratio() for _ in range(5))[2])'`
	ratio := must.Get(strconv.ParseFloat(m.Sh(script), 64))(t)
	return ratio
}
