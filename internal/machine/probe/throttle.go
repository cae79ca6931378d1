package probe

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"krund/internal/display"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
)

// throttle declares the probe of this file. Under apply a run during which the processor throttled
// itself does not count.
var throttle = setting.Descriptor{
	Name: "throttle", Policy: setting.Apply,
	Brief: "a run counts only if the processor did not throttle itself",
	Why:   "a processor that slows itself down spoils the run",
	What: "`thermal_throttle/*_count` of every CPU; THR and MCE of `/proc/interrupts` and " +
		"`edac/mc/mc*/{ce,ue}_count`, which are hardware errors (a corrected one, THR or ce, only disturbs " +
		"a run unless the policy is `require`); IA32_THERM_STATUS and IA32_PACKAGE_THERM_STATUS, and " +
		"MSR_CORE_PERF_LIMIT_REASONS since Skylake, where `/dev/cpu/N/msr` is readable",
	Notes: "TRM of `/proc/interrupts` is recorded only: it also counts temperature thresholds and changed " +
		"performance levels. Power limits are in the registers only, and there only the first event since " +
		"the boot is seen (their log bits stay set), unless the kernel was booted with `int_pln_enable`. " +
		"The limits of current and of another domain are recorded only. AMD has no such counters: use " +
		"APERF/MPERF",
}

// Throttle is how often, so far, the processor has slowed itself down. Counters and register bits
// carry names such as "cpu0/core_throttle_count" and "cpu0/package thermal limit (log)"; a bit that
// is set is 1.
type Throttle struct {
	Counts  map[string]uint64 `json:"counts"`
	Remarks []string          `json:"remarks,omitempty"` // sources that are missing on this machine
}

// ReadThrottle reads every available source: the kernel's per-CPU counters of thermal events
// (Linux, drivers/thermal/intel/therm_throt.c); the rows TRM, THR and MCE of /proc/interrupts; the
// memory errors that the driver of each memory controller has counted (drivers/edac/edac_mc_sysfs.c
// of Linux 6.1:789, 6.12:788); and, if readable, the status registers of Intel processors, because
// without the boot option int_pln_enable the kernel does not count power limits.
func ReadThrottle(root sysroot.Root) Throttle {
	t := Throttle{Counts: map[string]uint64{}}
	files, err := root.Glob("/sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/*_count")
	if err != nil || len(files) == 0 {
		remark := "nothing on this machine counts throttling"
		if cpuinfo, err := root.Read("/proc/cpuinfo"); err == nil && host.CPUFlag(cpuinfo, "aperfmperf") {
			remark = "the kernel does not count throttling on this machine: rely on the APERF/MPERF ratio"
		}
		t.Remarks = append(t.Remarks, remark)
	}
	var unreadable []error
	for _, file := range files {
		n, err := readCount(root, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the CPU just went offline
		}
		if err != nil {
			unreadable = append(unreadable, err)
			continue
		}
		cpu := path.Base(path.Dir(path.Dir(file)))
		t.Counts[cpu+"/"+path.Base(file)] = n
	}
	if len(unreadable) > 0 {
		t.Remarks = append(t.Remarks, fmt.Sprintf("%d of %d counters cannot be read, the first: %v",
			len(unreadable), len(files), unreadable[0]))
	}
	if rows, err := ReadInterrupts(root, InterruptFile); err == nil {
		for _, name := range []string{"TRM", "THR", "MCE"} {
			if row, there := rows.Row(name); there {
				t.Counts["interrupts/"+name] = row.Total()
			}
		}
	}
	t.memoryErrors(root)
	t.registers(root)
	return t
}

// memoryErrors adds the corrected and uncorrected errors of every memory controller that has a
// driver.
func (t *Throttle) memoryErrors(root sysroot.Root) {
	files, err := root.Glob("/sys/devices/system/edac/mc/mc[0-9]*/[cu]e_count")
	if err != nil {
		return
	}
	for _, file := range files {
		if n, err := readCount(root, file); err == nil {
			t.Counts["edac/"+path.Base(path.Dir(file))+"/"+path.Base(file)] = n
		}
	}
}

// readCount reads a file that contains a monotonic count.
func readCount(root sysroot.Root, file string) (uint64, error) {
	text, err := root.Read(file)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read %s: %q is not a count", file, display.Head(text, excerpt))
	}
	return n, nil
}

// Status registers of Intel processors and their bits (Intel SDM volume 4, IA32_THERM_STATUS and
// IA32_PACKAGE_THERM_STATUS). A log bit stays set until it is cleared, so it only reports the first
// event. Bits 12 to 15 are reserved in the register of the package. MSR_CORE_PERF_LIMIT_REASONS, of
// processors since Skylake, says why the cores ran below what was asked for; its bits for the
// highest turbo levels are left out, because every processor has them set.
const (
	thermStatus        = 0x19c
	packageThermStatus = 0x1b1
	limitReasons       = 0x64f
	packageBits        = 8 // of thermBits
)

type statusBit struct {
	bit  uint
	name string
}

var limitBits = []statusBit{
	{0, "PROCHOT (now)"}, {16, "PROCHOT (log)"}, {1, "thermal (now)"}, {17, "thermal (log)"},
	{5, "mean temperature (now)"}, {21, "mean temperature (log)"},
	{6, "regulator temperature (now)"}, {22, "regulator temperature (log)"},
	{10, "power limit 1 (now)"}, {26, "power limit 1 (log)"},
	{11, "power limit 2 (now)"}, {27, "power limit 2 (log)"},
}

var thermBits = []statusBit{
	{0, "thermal limit (now)"}, {1, "thermal limit (log)"}, {2, "PROCHOT (now)"}, {3, "PROCHOT (log)"},
	{4, "critical temperature (now)"}, {5, "critical temperature (log)"}, {10, "power limit (now)"},
	{11, "power limit (log)"},
	{12, "current limit (now)"}, {13, "current limit (log)"}, {14, "cross-domain limit (now)"},
	{15, "cross-domain limit (log)"},
}

// registers adds the bits of every CPU with readable registers.
func (t *Throttle) registers(root sysroot.Root) {
	cpuinfo, err := root.Read("/proc/cpuinfo")
	if err != nil || !strings.Contains(cpuinfo, "GenuineIntel") {
		return
	}
	devices, err := root.Glob("/dev/cpu/[0-9]*/msr")
	if err != nil {
		return
	}
	for _, device := range devices {
		cpu := "cpu" + path.Base(path.Dir(device))
		for _, r := range []struct {
			at    int64
			level string
			bits  []statusBit
		}{{thermStatus, "core", thermBits}, {packageThermStatus, "package", thermBits[:packageBits]},
			{limitReasons, "clipped by", limitBits}} {
			value, err := root.ReadWord(device, r.at)
			if err != nil {
				continue // the processor has no such register, or the kernel denies access
			}
			for _, b := range r.bits {
				t.Counts[fmt.Sprintf("%s/%s %s", cpu, r.level, b.name)] = value >> b.bit & 1
			}
		}
	}
}

// Missing returns the counts of t that are not in after, sorted by name: those of CPUs that went
// offline, and of files that can no longer be read.
func (t Throttle) Missing(after Throttle) []string {
	return slices.DeleteFunc(sortedKeys(t.Counts), func(name string) bool {
		_, there := after.Counts[name]
		return there
	})
}
