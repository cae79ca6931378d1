package probe

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"krund/internal/control"
	"krund/internal/sysroot"
)

// A Proof is the measured effect of settings.
type Proof struct {
	Speeds     []Speed       // one per CPU, in order
	Interrupts Interrupts    // of all CPUs, while the measured ones were busy
	Switches   float64       // context switches of the whole machine per second; -1 if unknown
	Wanted     map[int]int64 // the fixed frequency of each CPU in kHz; CPUs without one are missing
}

// Prove keeps the given CPUs busy for d, with one thread on each at the same time, and measures
// their speed and interrupts. On a system that cannot bind threads to CPUs, cpus should be empty:
// one thread then runs on any CPU.
func Prove(ctx context.Context, m *control.Machine, clock sysroot.Clock, cpus control.CPUs,
	d time.Duration) (Proof, error) {
	if len(cpus) == 0 {
		cpus = control.CPUs{-1}
	}
	p := Proof{Speeds: make([]Speed, len(cpus)), Wanted: map[int]int64{}, Switches: -1}
	for _, cpu := range cpus {
		if khz := fixedFrequency(m.Root, cpu); khz > 0 {
			p.Wanted[cpu] = khz
		}
	}
	before, known := contextSwitches(m.Root)
	busy := func() error { return measureAll(ctx, clock, cpus, d, p.Speeds) }
	var err error
	if m.Root.Exists("/proc/interrupts") {
		p.Interrupts, err = MeasureInterrupts(m.Root, clock, busy)
	} else {
		err = busy()
	}
	if after, ok := contextSwitches(m.Root); known && ok && p.Interrupts.Elapsed > 0 {
		p.Switches = float64(after-before) / p.Interrupts.Elapsed.Seconds()
	}
	return p, err
}

// measureAll measures all CPUs simultaneously.
func measureAll(ctx context.Context, clock sysroot.Clock, cpus control.CPUs, d time.Duration,
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

// contextSwitches reads the ctxt row of /proc/stat.
func contextSwitches(root sysroot.Root) (n uint64, known bool) {
	text, err := root.Read("/proc/stat")
	if err != nil {
		return 0, false
	}
	return parseSwitches(text)
}

func parseSwitches(text string) (n uint64, known bool) {
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(line, "ctxt "); found {
			n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// The limits of what counts as proven. A tickless CPU still ticks occasionally: when a second task
// appears, and for timers that were armed on it. The study's kernels tick 250 times a second.
const (
	quietTicks  = 10   // maximum ticks per second of a tickless CPU
	quietIRQs   = 1    // maximum device interrupts per second of a shielded CPU
	frequencyOf = 0.03 // maximum relative deviation of a fixed frequency
)

// Findings converts the proof into table rows. Their policy is warn, because a proof evaluates
// settings but forbids nothing.
func (p Proof) Findings() []control.Finding {
	var rows []control.Finding
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
		rows = append(rows, control.Finding{
			Name: "switches", Policy: control.Warn, Status: control.StatusOK, Wanted: "few",
			Found: fmt.Sprintf("%.0f context switches/s on the whole machine", p.Switches), Why: "each one interrupts the running thread",
		})
	}
	return rows
}

// row returns a finding about a CPU.
func row(name string, cpu int, good bool, found, wanted, why, fix string) control.Finding {
	f := control.Finding{Name: name, Policy: control.Warn, Status: control.StatusOK, Found: found,
		Wanted: wanted, Why: why}
	if cpu >= 0 {
		f.Name = fmt.Sprintf("%s CPU %d", name, cpu)
	}
	if !good {
		f.Status, f.Fix = control.StatusDiffers, fix
	}
	return f
}

func (p Proof) speedRow(s Speed) control.Finding {
	const why = "a varying clock frequency affects every result"
	khz, fixed := p.Wanted[s.CPU]
	if !fixed || !s.Absolute {
		return row("speed", s.CPU, s.Steady(), s.String(), "steady", why, "set frequency and turbo in "+
			"[controls]; a virtual machine depends on its host")
	}
	off := s.Median()/(float64(khz)*1000) - 1
	good := s.Steady() && off <= frequencyOf && off >= -frequencyOf
	f := row("speed", s.CPU, good, s.String(), fmt.Sprintf("%d MHz, steady", khz/1000), why, "the setting has no effect: switch turbo off in the firmware, and check power limits and cooling")
	if s.Source == "loop" {
		f.Detail = "measured with a loop of known length: the processor's cycle counter cannot be read"
	}
	return f
}

func (p Proof) ticksRow(c CPUInterrupts) control.Finding {
	rate := p.Interrupts.PerSecond(c.Ticks)
	return row("ticks", c.CPU, rate <= quietTicks, fmt.Sprintf("%.1f timer interrupts/s", rate), fmt.Sprintf("at most %d", quietTicks),
		"the timer interrupts a CPU although only one thread runs on it", "boot with nohz_full=, see the control tickless")
}

func (p Proof) interruptsRow(c CPUInterrupts) control.Finding {
	rate := p.Interrupts.PerSecond(c.Devices)
	f := row("interrupts", c.CPU, rate <= quietIRQs, fmt.Sprintf("%.1f device interrupts/s", rate), fmt.Sprintf("at most %d", quietIRQs),
		"device interrupts preempt whatever runs on their CPU", `set irq_affinity = "apply" in [controls] and stop irqbalance`)
	var others []string
	for _, name := range sortedKeys(c.Others) {
		others = append(others, fmt.Sprintf("%s %d", name, c.Others[name]))
	}
	if len(others) > 0 {
		f.Detail = "others: " + strings.Join(others, ", ")
	}
	return f
}
