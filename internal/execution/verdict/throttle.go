package verdict

import (
	"fmt"
	"slices"
	"strings"

	"krund/internal/experiment/results"
)

// CountKind is what a risen count of the record's machine.throttle means.
type CountKind string

// The kinds.
const (
	// Throttling is a count or status bit that only a limit of the processor raises.
	Throttling CountKind = "throttled"
	// HardwareError is an error of the hardware that was not corrected.
	HardwareError CountKind = "hardware error"
	// CorrectedError is an error of the hardware that was corrected: it costs the time of its
	// handler.
	CorrectedError CountKind = "corrected error"
	// Harmless is a count that is recorded, but does not show that anything was wrong.
	Harmless CountKind = "recorded"
)

// kindOfCount returns the kind of a count by its name.
//
// The row TRM of /proc/interrupts counts every interrupt of the thermal vector (Linux 6.12,
// arch/x86/kernel/irq.c:603). The same vector announces changed performance levels (HWP), crossed
// temperature thresholds (thermald sets them), and the scheduler's hints on hybrid processors
// (drivers/thermal/intel/therm_throt.c:655-692, intel_hfi.c:253): none of these is a throttling.
//
// THR is the interrupt of corrected hardware errors (arch/x86/kernel/cpu/mce/threshold.c:27), MCE
// that of uncorrected ones. The counts of edac are memory errors: the firmware or the kernel
// interrupts the processor to handle a corrected one.
//
// The limits of current and of another domain (IA32_THERM_STATUS, bits 12 to 15) are set on healthy
// processors: they limit what saves energy, or what the graphics leave (SDM volume 3B, "Thermal
// Monitoring of Software Controlled Clock Modulation"). The kernel judges the thermal limit and the
// power limit only (drivers/thermal/intel/therm_throt.c:666-684).
func kindOfCount(name string) CountKind {
	switch {
	case name == "interrupts/TRM", strings.Contains(name, " current limit ("),
		strings.Contains(name, " cross-domain limit ("):
		return Harmless
	case name == "interrupts/THR", strings.HasPrefix(name, "edac/") && strings.HasSuffix(name, "/ce_count"):
		return CorrectedError
	case name == "interrupts/MCE", strings.HasPrefix(name, "edac/"):
		return HardwareError
	}
	return Throttling
}

// A CountChange is a count that rose during a run.
type CountChange struct {
	Kind          CountKind
	Name          string
	Before, After uint64
}

func (c CountChange) String() string {
	what := "the processor was throttled: "
	switch c.Kind {
	case HardwareError:
		what = "the hardware reported errors: "
	case CorrectedError:
		what = "the hardware corrected errors: "
	}
	return fmt.Sprintf("%s%s: %d -> %d", what, c.Name, c.Before, c.After)
}

// Changes returns the counts that rose during a run, sorted by name, without harmless ones. A count
// that was missing before counts as having risen from 0. A status bit "(now)" that is set after the
// run counts also if it was set before: the processor is still limited. A bit "(log)" stays set
// until it is cleared (krund does not write the register), so it shows only the first event.
func Changes(t results.Throttle) []CountChange {
	old := make(map[string]uint64, len(t.Before))
	for _, c := range t.Before {
		old[c.Name] = c.Count
	}
	var changes []CountChange
	for _, c := range t.After {
		kind, still := kindOfCount(c.Name), strings.HasSuffix(c.Name, "(now)") && c.Count > 0
		if kind != Harmless && (c.Count > old[c.Name] || still) {
			changes = append(changes, CountChange{Kind: kind, Name: c.Name, Before: old[c.Name],
				After: c.Count})
		}
	}
	slices.SortFunc(changes, func(a, b CountChange) int { return strings.Compare(a.Name, b.Name) })
	return changes
}
