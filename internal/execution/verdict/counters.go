package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"krund/internal/experiment/results"
)

// The study's limits (Barrett et al., OOPSLA 2017, section 7): APERF/MPERF is acceptable within 3
// percent, and a core is idle if its APERF counts slower than a thousandth of the base frequency.
// krund takes a hundredth: a core that only handles interrupts and krund's own work is busy for a
// few thousandths, in which it mostly wakes up from idle states (C1E lowers the frequency, too),
// and its ratio says nothing about the benchmark.
const (
	idleFraction     = 1.0 / 100
	DefaultTolerance = 0.03
)

// TaskThreads is the Core of the counters of the benchmark's threads (scope "task").
const TaskThreads = -1

// mostPerNS exceeds what any counter counts in a nanosecond; a second is added for the reading
// itself. A 48-bit counter that goes backwards appears to advance by almost 2^48, which would take
// most of an hour.
const mostPerNS = 100

// CoreCounts are the increments of one core's counters, one value per iteration; values may be
// results.MissingCount. A counter that the source does not have is nil.
type CoreCounts struct {
	Core   int // or TaskThreads
	APERF  []uint64
	MPERF  []uint64
	Cycles []uint64
	SMI    []uint64 // system management interrupts

	// Expected is APERF/MPERF at the frequency that the core is held at; 0 means 1, NaN means that
	// it is unknown and the ratio is not judged. See Expect.
	Expected float64
}

// expected returns the expected ratio; NaN if it is unknown.
func (c CoreCounts) expected() float64 {
	if c.Expected == 0 {
		return 1
	}
	return c.Expected
}

// name describes the core in a sentence.
func (c CoreCounts) name() string { return coreName(c.Core) }

func coreName(core int) string {
	if core == TaskThreads {
		return "the benchmark's threads"
	}
	return fmt.Sprintf("core %d", core)
}

// CounterRun is the data of a process execution: start stamps and wall times in nanoseconds, and
// the cores' counts, all of the same length. Counters that were read around the whole execution are
// a single "iteration" of its length, and Whole is set.
type CounterRun struct {
	StartNS []int64
	WallNS  []int64
	Cores   []CoreCounts
	Whole   bool
}

// CounterLimits are the accepted limits.
type CounterLimits struct {
	// Tolerance of APERF/MPERF around the expected ratio, relative to that.
	Tolerance float64
	// BusyThreshold is the APERF per second at which a core counts as busy. The ratio of an idle
	// core is meaningless. 0 means a hundredth of the fastest observed MPERF.
	BusyThreshold float64
}

// BusyThreshold returns the threshold for a rate of MPERF in hertz.
func BusyThreshold(baseHz float64) float64 { return baseHz * idleFraction }

// CounterJudgement is the verdict of the counters on a process execution.
type CounterJudgement struct {
	// Unsound lists, as sentences, impossible values: the clock or a counter went backwards, or
	// values are missing.
	Unsound []string
	// Disturbed lists, as sentences, what should not have happened: a core left the limits, or
	// counters stood still. If both lists are empty, the execution may count.
	Disturbed  []string
	Violations []RatioViolation // core by core
	// BusyThreshold is the threshold that was applied.
	BusyThreshold float64
}

// JudgeCounters compares an execution with the limits. Without A/MPERF, it judges only the clock
// and the cycles. It does not modify run.
func JudgeCounters(run CounterRun, limits CounterLimits) CounterJudgement {
	j := CounterJudgement{BusyThreshold: limits.BusyThreshold}
	if j.BusyThreshold <= 0 {
		j.BusyThreshold = deriveThreshold(run)
	}
	j.Unsound, j.Disturbed = judgeClock(run), judgeStill(run)
	for _, core := range run.Cores {
		for _, c := range []struct {
			name   string
			counts []uint64
		}{{"APERF", core.APERF}, {"MPERF", core.MPERF}, {"cycles", core.Cycles}} {
			j.Unsound = append(j.Unsound, judgeCounts(run, c.name, core.name(), c.counts)...)
		}
		found := judgeRatios(run, core, limits.Tolerance, j.BusyThreshold)
		j.Violations = append(j.Violations, found...)
		for _, kind := range []RatioKind{Throttled, Turbo} {
			if reason := ratioReason(run, core, kind, found); reason != "" {
				j.Disturbed = append(j.Disturbed, reason)
			}
		}
	}
	return j
}

// Reasons returns all sentences, the more serious ones first.
func (j CounterJudgement) Reasons() []string { return slices.Concat(j.Unsound, j.Disturbed) }

// seconds returns an iteration's length for rates, at least a nanosecond.
func (r CounterRun) seconds(i int) float64 { return float64(max(r.WallNS[i], 1)) / 1e9 }

// window returns an upper bound in seconds of the time during which an iteration's counters
// counted: from the end of the previous iteration to the start of the next, because the counters
// are read in between. For a short iteration this is much more than its wall time; for a long one
// it is the wall time. At the ends of the series, the missing gap is assumed to equal the gap on
// the other side.
func (r CounterRun) window(i int) float64 {
	const long = 1_000_000 // nanoseconds: readings take a few microseconds for each core
	last := len(r.WallNS) - 1
	if len(r.StartNS) != len(r.WallNS) || last < 1 || r.WallNS[i] >= long {
		return r.seconds(i)
	}
	gap := func(i int) int64 { return r.StartNS[i+1] - r.StartNS[i] - r.WallNS[i] }
	around := r.WallNS[i] + gap(max(i-1, 0)) + gap(min(i, last-1))
	return max(float64(around)/1e9, r.seconds(i))
}

// sound reports whether a count is present and possible.
func (r CounterRun) sound(counts []uint64, i int) bool {
	return i < len(counts) && i < len(r.WallNS) && counts[i] != results.MissingCount &&
		float64(counts[i]) <= mostPerNS*1e9*(r.seconds(i)+1)
}

// JudgeSMI returns a sentence about system management interrupts during the run, "" if there were
// none or they were not counted. The firmware stops all cores at once for each (Intel SDM volume 3,
// 33.2; MSR_SMI_COUNT counts per core: Linux 6.12, arch/x86/events/msr.c), so the interrupts of an
// iteration are those of the core that counted most.
func JudgeSMI(run CounterRun) string {
	var where some
	total := uint64(0)
	for i := range run.WallNS {
		most := uint64(0)
		for _, core := range run.Cores {
			if run.sound(core.SMI, i) {
				most = max(most, core.SMI[i])
			}
		}
		if most > 0 {
			where.add(i)
			total += most
		}
	}
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("the firmware interrupted all cores %d times (SMI) %s", total, run.in(where))
}

// JudgeCounted returns a sentence if the counters of the benchmark's threads counted for less time
// than the threads had a processor: with the scope task a thread may find all counters of a core in
// use, and its part is then missing. The kernel accounts processor time in ticks of up to 10 ms.
func JudgeCounted(counted, used time.Duration) []string {
	const share, ticks = 0.01, 30 * time.Millisecond
	missed := used - counted
	if missed <= ticks || missed.Seconds() <= share*used.Seconds() {
		return nil
	}
	return []string{fmt.Sprintf("the counters missed %.0f %% of the processor time of the benchmark's "+
		"threads: another program uses the counters of a core", 100*missed.Seconds()/used.Seconds())}
}

// leastBase is a base frequency in hertz that every processor with APERF and MPERF exceeds.
const leastBase = 500e6

// deriveThreshold uses the fastest MPERF as the base frequency: a core that was never halted in an
// iteration counts at exactly that frequency. If all cores were idle all the time, the fastest
// MPERF is meaningless, and the base frequency of the slowest existing processor is used instead.
func deriveThreshold(run CounterRun) float64 {
	fastest := 0.0
	for _, core := range run.Cores {
		for i, n := range core.MPERF {
			if run.sound(core.MPERF, i) {
				fastest = max(fastest, float64(n)/run.window(i))
			}
		}
	}
	return BusyThreshold(max(fastest, leastBase))
}

// some counts the iterations with a fault and remembers the first.
type some struct{ n, first int }

func (s *some) add(i int) {
	if s.n == 0 {
		s.first = i
	}
	s.n++
}

// in describes where the fault occurred.
func (r CounterRun) in(s some) string {
	if r.Whole {
		return "over the execution"
	}
	return fmt.Sprintf("in %d of %d iterations, the first is %d", s.n, len(r.WallNS), s.first)
}

func judgeClock(run CounterRun) []string {
	var back some
	for i, wall := range run.WallNS {
		if wall < 0 || i > 0 && i < len(run.StartNS) &&
			run.StartNS[i] < run.StartNS[i-1]+max(run.WallNS[i-1], 0) {
			back.add(i)
		}
	}
	if back.n == 0 {
		return nil
	}
	return []string{"the clock went backwards " + run.in(back)}
}

// judgeStill reports counters that stood still on every core at once, or on one core all the time.
// Reading a core's counter interrupts the core and takes cycles there, idle or not, so that the
// counter does not exist or no longer counts; on one core another program has switched it off.
func judgeStill(run CounterRun) []string {
	var reasons []string
	for _, c := range []struct {
		name   string
		counts func(CoreCounts) []uint64
	}{
		{"APERF", func(c CoreCounts) []uint64 { return c.APERF }},
		{"MPERF", func(c CoreCounts) []uint64 { return c.MPERF }},
		{"cycles", func(c CoreCounts) []uint64 { return c.Cycles }},
	} {
		report := func(whose string, still some) {
			reasons = append(reasons, fmt.Sprintf("%s of %s stood still %s", c.name, whose, run.in(still)))
		}
		all := stillOf(run, run.Cores, c.counts)
		switch {
		case all.n > 0 && run.Cores[0].Core == TaskThreads:
			report(run.Cores[0].name(), all)
		case all.n > 0:
			report("all cores", all)
		}
		for k, core := range run.Cores {
			still := stillOf(run, run.Cores[k:k+1], c.counts)
			if still.n == len(run.WallNS) && still.n > all.n {
				report(core.name(), still)
			}
		}
	}
	return reasons
}

// stillOf returns in which iterations every one of the cores has a count, and all of them are 0.
func stillOf(run CounterRun, cores []CoreCounts, counts func(CoreCounts) []uint64) (still some) {
	for i := range run.WallNS {
		moves := func(core CoreCounts) bool { return i >= len(counts(core)) || counts(core)[i] != 0 }
		if len(cores) > 0 && !slices.ContainsFunc(cores, moves) {
			still.add(i)
		}
	}
	return still
}

// judgeCounts reports missing and impossible counts.
func judgeCounts(run CounterRun, name, core string, counts []uint64) []string {
	if counts == nil {
		return nil
	}
	var reasons []string
	if len(counts) != len(run.WallNS) {
		reasons = append(reasons, fmt.Sprintf("%s of %s has %d values for %d iterations", name, core,
			len(counts), len(run.WallNS)))
	}
	var missing, back some
	for i, n := range counts {
		switch {
		case n == results.MissingCount:
			missing.add(i)
		case i < len(run.WallNS) && !run.sound(counts, i):
			back.add(i)
		}
	}
	if missing.n > 0 {
		reasons = append(reasons, fmt.Sprintf("%s of %s is missing %s", name, core, run.in(missing)))
	}
	if back.n > 0 {
		reasons = append(reasons, fmt.Sprintf("%s of %s went backwards %s", name, core, run.in(back)))
	}
	return reasons
}

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
