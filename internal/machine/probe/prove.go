package probe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
)

// A Proof is the measured effect of settings.
type Proof struct {
	Speeds     []Speed       // one per CPU, in order
	Interrupts Interrupts    // of all CPUs, while the measured ones were busy
	Switches   float64       // context switches of the whole machine per second; -1 if unknown
	Wanted     map[int]int64 // the fixed frequency of each CPU in kHz; CPUs without one are missing
}

// Prove keeps the given CPUs busy for d, one thread on each at the same time, and measures how fast
// they run and what interrupts them. On a system where threads cannot be bound, cpus should be
// empty: then one thread runs wherever it likes.
func Prove(ctx context.Context, h host.Host, clock sysroot.Clock, cpus host.CPUs,
	d time.Duration) (Proof, error) {
	if len(cpus) == 0 {
		cpus = host.CPUs{-1}
	}
	p := Proof{Speeds: make([]Speed, len(cpus)), Wanted: map[int]int64{}, Switches: -1}
	for _, cpu := range cpus {
		if khz := fixedFrequency(h.Root, cpu); khz > 0 {
			p.Wanted[cpu] = khz
		}
	}
	before, known := h.ReadStat()
	busy := func() error { return measureAll(ctx, clock, cpus, d, p.Speeds) }
	var err error
	if h.Root.Exists("/proc/interrupts") {
		p.Interrupts, err = MeasureInterrupts(h.Root, clock, busy)
	} else {
		err = busy()
	}
	if after, read := h.ReadStat(); errors.Join(known, read) == nil && before.Switches > 0 &&
		p.Interrupts.Elapsed > 0 {
		p.Switches = float64(after.Switches-before.Switches) / p.Interrupts.Elapsed.Seconds()
	}
	return p, err
}

// measureAll measures all CPUs at the same time.
func measureAll(ctx context.Context, clock sysroot.Clock, cpus host.CPUs, d time.Duration,
	speeds []Speed) error {
	failures := make([]error, len(cpus))
	var all sync.WaitGroup
	for i, cpu := range cpus {
		all.Go(func() { speeds[i], failures[i] = MeasureSpeed(ctx, clock, cpu, d) })
	}
	all.Wait()
	return errors.Join(failures...)
}

// fixedFrequency returns the frequency to which both limits of a CPU are set in kHz, or 0 if they
// differ or are unknown.
func fixedFrequency(root sysroot.Root, cpu int) int64 {
	dir := fmt.Sprintf("/sys/devices/system/cpu/cpufreq/policy%d/", cpu)
	if !root.Exists(dir) {
		dir = fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpufreq/", cpu) // CPUs may share a policy
	}
	lo, err1 := root.ReadInt(dir + "scaling_min_freq")
	hi, err2 := root.ReadInt(dir + "scaling_max_freq")
	if err1 != nil || err2 != nil || lo != hi {
		return 0
	}
	return lo
}

// Thresholds of the proof. A tickless CPU still ticks occasionally: when a second task appears, and
// for timers that were armed on it. The study's kernels tick 250 times a second.
const (
	quietTicks  = 10   // maximum ticks per second of a tickless CPU
	quietIRQs   = 1    // maximum device interrupts per second of a shielded CPU
	frequencyOf = 0.03 // maximum relative deviation of a fixed frequency
)

// Findings turns the proof into rows of a table. Their policy is warn: a proof judges settings, it
// forbids nothing.
func (p Proof) Findings() []setting.Finding {
	var rows []setting.Finding
	for _, s := range p.Speeds {
		rows = append(rows, p.speedRow(s))
	}
	for _, s := range p.Speeds {
		for _, c := range p.Interrupts.CPUs {
			if c.CPU == s.CPU {
				rows = append(rows, p.ticksRow(c), p.interruptsRow(c))
			}
		}
	}
	if p.Switches >= 0 {
		rows = append(rows, setting.Finding{
			Name: "switches", Policy: setting.Warn, Status: setting.StatusOK, Wanted: "few",
			Found: fmt.Sprintf("%.0f context switches/s on the whole machine", p.Switches),
			Why:   "each one interrupts a running task",
		})
	}
	return rows
}

// row is a finding about a CPU.
func row(name string, cpu int, good bool, found, wanted, why, fix string) setting.Finding {
	f := setting.Finding{Name: name, Policy: setting.Warn, Status: setting.StatusOK, Found: found,
		Wanted: wanted, Why: why}
	if cpu >= 0 {
		f.Name = fmt.Sprintf("%s CPU %d", name, cpu)
	}
	if !good {
		f.Status, f.Fix = setting.StatusDiffers, fix
	}
	return f
}

func (p Proof) speedRow(s Speed) setting.Finding {
	const why = "a clock that changes its speed changes every result"
	khz, fixed := p.Wanted[s.CPU]
	if !fixed || !s.Absolute {
		return row("speed", s.CPU, s.Steady(), s.String(), "steady", why, "set frequency and turbo in "+
			"[controls]; a virtual machine depends on its host")
	}
	off := s.Median()/(float64(khz)*1000) - 1
	good := s.Steady() && off <= frequencyOf && off >= -frequencyOf
	f := row("speed", s.CPU, good, s.String(), fmt.Sprintf("%d MHz, steady", khz/1000), why,
		"the setting has no effect: switch turbo off in the firmware, and check power limits and cooling")
	if s.Source == "loop" {
		f.Detail = "measured with a loop of known length: the processor's cycle counter cannot be read"
	}
	return f
}

func (p Proof) ticksRow(c CPUInterrupts) setting.Finding {
	rate := p.Interrupts.PerSecond(c.Ticks)
	return row("ticks", c.CPU, rate <= quietTicks, fmt.Sprintf("%.1f timer interrupts/s", rate),
		fmt.Sprintf("at most %d", quietTicks),
		"the timer interrupts a CPU although only one thread runs on it",
		"boot with nohz_full=, see the control tickless")
}

func (p Proof) interruptsRow(c CPUInterrupts) setting.Finding {
	rate := p.Interrupts.PerSecond(c.Devices)
	f := row("interrupts", c.CPU, rate <= quietIRQs, fmt.Sprintf("%.1f device interrupts/s", rate),
		fmt.Sprintf("at most %d", quietIRQs),
		"device interrupts preempt whatever runs on their CPU",
		`set irq_affinity = "apply" in [controls] and stop irqbalance`)
	var others []string
	for _, name := range sortedKeys(c.Others) {
		others = append(others, fmt.Sprintf("%s %d", name, c.Others[name]))
	}
	if len(others) > 0 {
		f.Detail = "others: " + strings.Join(others, ", ")
	}
	return f
}
