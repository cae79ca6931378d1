package probe

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"krund/internal/experiment/config/setting"
	"krund/rig/must"
)

func TestThrottle(t *testing.T) {
	m, dir := machine(t, "intel-acpi-cpufreq")
	for name, count := range map[string]string{"mc0/ce_count": "1\n", "mc0/ue_count": "0\n",
		"mc0/ce_noinfo_count": "9\n"} { // a part of ce_count
		put(t, dir, "sys/devices/system/edac/mc/"+name, count)
	}
	before := ReadThrottle(m.Root)
	must.Need(t, len(before.Remarks) == 0 && len(before.Counts) == 4*2+3+2 &&
		before.Counts["edac/mc0/ce_count"] == 1, before)
	again := ReadThrottle(m.Root)
	must.Be(t, maps.Equal(again.Counts, before.Counts), "nothing happened, yet", again.Counts)
	put(t, dir, "sys/devices/system/cpu/cpu2/thermal_throttle/core_throttle_count", "3\n")
	text := must.Get(m.Root.Read("/proc/interrupts"))(t)
	put(t, dir, "proc/interrupts", strings.Replace(text, "TRM:          0", "TRM:          5", 1))
	want := maps.Clone(before.Counts)
	want["cpu2/core_throttle_count"], want["interrupts/TRM"] = 3, 5
	got := ReadThrottle(m.Root).Counts
	must.Be(t, maps.Equal(got, want), got, "want", want)
}

// TestThrottleCountersThatCannotBeRead: they are summarized in one remark, however many CPUs there
// are. Counters of a CPU that went offline are not included.
func TestThrottleCountersThatCannotBeRead(t *testing.T) {
	m, dir := machine(t, "intel-acpi-cpufreq")
	before := ReadThrottle(m.Root)
	for _, cpu := range []string{"cpu1", "cpu2"} {
		put(t, dir, "sys/devices/system/cpu/"+cpu+"/thermal_throttle/core_throttle_count", "-1\n")
	}
	after := ReadThrottle(m.Root)
	must.Be(t, len(after.Remarks) == 1 && strings.HasPrefix(after.Remarks[0],
		"2 of 8 counters cannot be read, "+"the first: read /sys/devices/system/cpu/cpu1/"), "remarks",
		after.Remarks)
	must.Equal(t, strings.Join(before.Missing(after), " "),
		"cpu1/core_throttle_count "+"cpu2/core_throttle_count", "missing")
	got := after.Missing(before)
	must.Equal(t, len(got), 0, "missing before", got)
	must.Do(t, os.RemoveAll(filepath.Join(dir, "sys/devices/system/cpu/cpu3/thermal_throttle")))
	again := ReadThrottle(m.Root)
	must.Be(t, len(again.Remarks) == 1 && strings.HasPrefix(again.Remarks[0], "2 of 6 "),
		"with a CPU offline: remarks", again.Remarks)
}

func TestThrottleRegisters(t *testing.T) {
	m, dir := machine(t, "intel-hybrid")
	set := func(register int64, value byte) {
		path := filepath.Join(dir, "dev/cpu/1/msr")
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		f := must.Get(os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600))(t)
		must.Get(f.WriteAt([]byte{value, 0x08, 0, 0, 0, 0, 0, 0}, register))(t)
		must.Do(t, f.Close())
	}
	set(thermStatus, 0)
	set(packageThermStatus, 0)
	set(limitReasons, 0)
	before := ReadThrottle(m.Root)
	must.Be(t, before.Counts["cpu1/core power limit (log)"] == 1 &&
		before.Counts["cpu1/package PROCHOT (now)"] == 0 &&
		before.Counts["cpu1/clipped by power limit 2 (now)"] == 1, before.Counts)
	set(packageThermStatus, 0b1100)
	set(limitReasons, 1)
	want := maps.Clone(before.Counts)
	want["cpu1/package PROCHOT (log)"], want["cpu1/package PROCHOT (now)"] = 1, 1
	want["cpu1/clipped by PROCHOT (now)"] = 1
	got := ReadThrottle(m.Root).Counts
	must.Be(t, maps.Equal(got, want), got, "want", want)
}

func TestThrottleWithoutCounters(t *testing.T) {
	m, dir := machine(t, "amd-acpi-cpufreq")
	got := ReadThrottle(m.Root)
	must.Be(t, len(got.Remarks) == 1 && len(got.Counts) == 3, got)
	put(t, dir, "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "rubbish\n")
	got = ReadThrottle(m.Root)
	must.Be(t, len(got.Remarks) == 1 && strings.Contains(got.Remarks[0], "cannot be read"), got)
}

const interruptsText = `            CPU0       CPU2
   0:         12          0   IO-APIC    2-edge      timer
  24:        100        200   PCI-MSI 512000-edge      ahci[0000:00:17.0]
 NMI:          1          2   Non-maskable interrupts
 LOC:    1000000    2000000   Local timer interrupts
 ERR:          7
`

// TestTicksOfArm: elsewhere than on x86 the timer of each processor is a numbered row, and so are
// interrupts that only the processor itself raises.
func TestTicksOfArm(t *testing.T) {
	table := func(n int) InterruptTable {
		return ParseInterrupts(fmt.Sprintf("      CPU0 CPU1\n 11: 5 %d GICv3  27 Level     arch_timer\n"+
			" 12: 5 %[1]d GICv3  23 Level     arm-pmu\n 24: 5 %[2]d ITS-MSI 524288 Edge      ahci\n"+
			"  5: 1 %[2]d RISC-V INTC   5 Edge      riscv-timer\n"+
			"  9: 1 %[2]d CPUINTC  11  timer\nCLK: 1 %[2]d Clock Comparator\n"+
			"IPI0: 1 1 Rescheduling interrupts\n", 1000*n, 3*n))
	}
	c := InterruptsBetween(table(1), table(2), time.Second).CPUs[1]
	must.Be(t, c.CPU == 1 && c.Ticks == 1009 && c.Devices == 3 && c.Others["12"] == 1000, c)
	for _, f := range (Proof{Speeds: []Speed{{CPU: 1}}, Interrupts: InterruptsBetween(table(1), table(2),
		time.Second)}).Findings() {
		must.Be(t, !strings.HasPrefix(f.Name, "ticks") || f.Status == setting.StatusDiffers, f)
	}
}

func TestParseInterrupts(t *testing.T) {
	table := ParseInterrupts(interruptsText)
	must.Need(t, len(table.CPUs) == 2 && table.CPUs[1] == 2 && len(table.Rows) == 5, table)
	loc, there := table.Row("LOC")
	must.Be(t, there && loc.Total() == 3000000 && !loc.Device() && loc.About == "Local timer interrupts", loc)
	ahci, _ := table.Row("24")
	must.Be(t, ahci.Device() && ahci.Counts[1] == 200, ahci)
	_, there = table.Row("25")
	must.Be(t, !there, "found a row that is not there")
}

func TestInterruptsBetween(t *testing.T) {
	before := ParseInterrupts(interruptsText)
	// CPU 1 has come online meanwhile, so the columns move; interrupt 25 is new; NMI went
	// backwards, which no counter should do.
	after := ParseInterrupts(`            CPU0       CPU1       CPU2
  24:        110         50        200   ahci
  25:          5          5          5   nvme
 NMI:          0          0          2   Non-maskable interrupts
 LOC:    1000500          9    2000001   Local timer interrupts
 RES:          9          9          9   Rescheduling interrupts
`)
	got := InterruptsBetween(before, after, 2*time.Second)
	must.Be(t, len(got.CPUs) == 2 && got.CPUs[0].Ticks == 500 && got.CPUs[0].Devices == 10 &&
		got.CPUs[1].CPU == 2 && got.CPUs[1].Ticks == 1 && got.CPUs[1].Devices == 0, got)
	if got.PerSecond(got.CPUs[0].Ticks) != 250 || (Interrupts{}).PerSecond(5) != 0 {
		t.Errorf("%v per second", got.PerSecond(got.CPUs[0].Ticks))
	}
}

func FuzzParseInterrupts(f *testing.F) {
	f.Add(interruptsText, interruptsText)
	f.Add("CPU0", ":\n 1:x")
	f.Fuzz(func(t *testing.T, before, after string) {
		a, b := ParseInterrupts(before), ParseInterrupts(after)
		for _, row := range b.Rows {
			must.Be(t, len(row.Counts) <= len(b.CPUs), len(row.Counts), "counts for", len(b.CPUs), "CPUs")
		}
		InterruptsBetween(a, b, time.Second)
	})
}
