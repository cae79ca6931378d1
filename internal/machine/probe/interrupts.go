package probe

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"krund/internal/machine/sysroot"
)

// An InterruptRow is a line of /proc/interrupts.
type InterruptRow struct {
	Name   string   // "24", "LOC", ...
	About  string   // chip, kind and drivers, or the meaning of the abbreviation
	Counts []uint64 // one for each CPU of the heading; shorter if the kernel has one count for all CPUs
}

// Total returns the sum over all CPUs.
func (r InterruptRow) Total() uint64 {
	var sum uint64
	for _, n := range r.Counts {
		sum += n
	}
	return sum
}

// Device reports whether the row is a device interrupt rather than one of the processor's own. On
// x86 those have names. Elsewhere they are numbered like devices, by a controller that each
// processor has for itself.
func (r InterruptRow) Device() bool { return isNumber(r.Name) && !r.Tick() && !r.private() }

// Tick reports whether the row is the timer of each processor: LOC on x86, and what the driver
// calls itself elsewhere (drivers/clocksource of Linux 6.12, arm_arch_timer.c:1251-1269,
// timer-riscv.c:118).
func (r InterruptRow) Tick() bool {
	return r.Name == "LOC" || strings.HasSuffix(r.About, "arch_timer") ||
		strings.HasSuffix(r.About, "riscv-timer") || r.private() && strings.HasSuffix(r.About, " timer") ||
		r.Name == "CLK" // IBM's mainframes: arch/s390/kernel/irq.c
}

// private reports whether only the processor itself can raise the interrupt: 16 to 31 of an arm
// interrupt controller (GIC), and all of the controllers in RISC-V and LoongArch processors. Such
// an interrupt has no affinity.
func (r InterruptRow) private() bool {
	words := strings.Fields(r.About)
	if len(words) > 1 && strings.HasPrefix(words[0], "GIC") {
		n, err := strconv.Atoi(words[1])
		return err == nil && n >= 16 && n < 32
	}
	return strings.HasPrefix(r.About, "RISC-V INTC") || strings.HasPrefix(r.About, "CPUINTC")
}

// InterruptTable is /proc/interrupts at one moment.
type InterruptTable struct {
	CPUs []int // the numbers of the CPUs that are online, in the order of the columns
	Rows []InterruptRow
}

// Row returns the row with that name.
func (t InterruptTable) Row(name string) (InterruptRow, bool) {
	i := slices.IndexFunc(t.Rows, func(r InterruptRow) bool { return r.Name == name })
	if i < 0 {
		return InterruptRow{}, false
	}
	return t.Rows[i], true
}

// Since returns the rows that advanced on the CPUs, nil for all, with the increase as their only
// count. It ignores CPUs and rows that are not in both tables.
func (t InterruptTable) Since(before InterruptTable, cpus []int) []InterruptRow {
	var list []InterruptRow
	for _, row := range t.Rows {
		old, _ := before.Row(row.Name)
		var sum uint64
		for column, cpu := range t.CPUs {
			was := slices.Index(before.CPUs, cpu)
			if (cpus != nil && !slices.Contains(cpus, cpu)) || was < 0 || column >= len(row.Counts) ||
				was >= len(old.Counts) || row.Counts[column] <= old.Counts[was] {
				continue
			}
			sum += row.Counts[column] - old.Counts[was]
		}
		if sum > 0 {
			list = append(list, InterruptRow{Name: row.Name, About: row.About, Counts: []uint64{sum}})
		}
	}
	return list
}

// ParseInterrupts parses /proc/interrupts: a heading with the CPUs, then a row for each interrupt.
// It ignores other lines.
func ParseInterrupts(text string) InterruptTable {
	var t InterruptTable
	for line := range strings.Lines(text) {
		if t.CPUs == nil {
			for _, word := range strings.Fields(line) {
				if n, err := strconv.Atoi(strings.TrimPrefix(word, "CPU")); err == nil && n >= 0 {
					t.CPUs = append(t.CPUs, n)
				}
			}
			continue
		}
		name, rest, found := strings.Cut(strings.TrimSpace(line), ":")
		if !found || name == "" || strings.ContainsAny(name, " \t") {
			continue
		}
		row := InterruptRow{Name: name}
		words := strings.Fields(rest)
		for len(row.Counts) < len(t.CPUs) && len(row.Counts) < len(words) {
			n, err := strconv.ParseUint(words[len(row.Counts)], 10, 64)
			if err != nil {
				break
			}
			row.Counts = append(row.Counts, n)
		}
		row.About = strings.Join(words[len(row.Counts):], " ")
		same := func(r InterruptRow) bool { return r.Name == name && len(r.Counts) == len(row.Counts) }
		if i := slices.IndexFunc(t.Rows, same); i >= 0 { // POWER has two rows LOC
			for c, n := range row.Counts {
				t.Rows[i].Counts[c] += n
			}
			continue
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// ReadInterrupts reads /proc/interrupts, or /proc/softirqs, which has the same form.
func ReadInterrupts(root sysroot.Root, file string) (InterruptTable, error) {
	text, err := root.Read(file)
	return ParseInterrupts(text), err
}

// The files of ReadInterrupts.
const (
	InterruptFile = "/proc/interrupts"
	SoftIRQFile   = "/proc/softirqs"
)

// Interrupts are the interrupts of each CPU during a period.
type Interrupts struct {
	Elapsed time.Duration
	CPUs    []CPUInterrupts // sorted by number
}

// CPUInterrupts are the interrupts of one CPU.
type CPUInterrupts struct {
	CPU     int
	Ticks   uint64 // interrupts of its local timer
	Devices uint64 // device interrupts
	// of the processor's own kinds (RES, CAL, TLB, NMI, ...), without the timer; zeros are omitted
	Others map[string]uint64
}

// PerSecond converts a count to a rate; 0 if no time has passed.
func (i Interrupts) PerSecond(count uint64) float64 {
	if i.Elapsed <= 0 {
		return 0
	}
	return float64(count) / i.Elapsed.Seconds()
}

// InterruptsBetween compares two readings. It ignores CPUs that are not in both, and new rows.
func InterruptsBetween(before, after InterruptTable, elapsed time.Duration) Interrupts {
	result := Interrupts{Elapsed: elapsed}
	for _, cpu := range after.CPUs {
		if !slices.Contains(before.CPUs, cpu) {
			continue
		}
		c := CPUInterrupts{CPU: cpu, Others: map[string]uint64{}}
		for _, row := range after.Since(before, []int{cpu}) {
			switch {
			case row.Tick():
				c.Ticks += row.Total()
			case row.Device():
				c.Devices += row.Total()
			default:
				c.Others[row.Name] = row.Total()
			}
		}
		result.CPUs = append(result.CPUs, c)
	}
	slices.SortFunc(result.CPUs, func(a, b CPUInterrupts) int { return cmp.Compare(a.CPU, b.CPU) })
	return result
}

// MeasureInterrupts reads /proc/interrupts, runs busy, and reads it again. busy should occupy each
// CPU of interest with one thread: an idle CPU needs no tick, so a lack of ticks on it proves
// nothing.
func MeasureInterrupts(root sysroot.Root, clock sysroot.Clock, busy func() error) (Interrupts, error) {
	before, err := ReadInterrupts(root, InterruptFile)
	if err != nil {
		return Interrupts{}, err
	}
	start := clock.Now()
	if err := busy(); err != nil {
		return Interrupts{}, err
	}
	elapsed := clock.Now().Sub(start)
	after, err := ReadInterrupts(root, InterruptFile)
	if err != nil {
		return Interrupts{}, err
	}
	return InterruptsBetween(before, after, elapsed), nil
}
