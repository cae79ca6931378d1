package host

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"krund/internal/display"
)

// Resources are the files of /proc/pressure.
var Resources = []string{"cpu", "io", "memory", "irq"}

// Pressure is the time in which at least one task of the machine waited for a resource, as the
// kernel accounts it (Documentation/accounting/psi.rst).
type Pressure struct {
	Avg10 float64       // share of the last 10 seconds, 0 to 1
	Total time.Duration // since boot, in microseconds
}

// ReadPressure reads /proc/pressure/RESOURCE, one of Resources. The error wraps fs.ErrNotExist or
// EOPNOTSUPP if the kernel does not account pressure (CONFIG_PSI, kernel argument psi=).
func (h Host) ReadPressure(resource string) (Pressure, error) {
	file := "/proc/pressure/" + resource
	text, err := h.Root.Read(file)
	if err != nil {
		return Pressure{}, err
	}
	p, err := parsePressure(text)
	if err != nil {
		return Pressure{}, fmt.Errorf("read %s: %w", file, err)
	}
	return p, nil
}

// parsePressure reads "some avg10=0.00 avg60=0.00 avg300=0.00 total=0", which is the first line, or
// the only one of irq, which begins with "full" (Linux 6.12, kernel/sched/psi.c:1265-1282).
func parsePressure(text string) (Pressure, error) {
	var percent, other float64
	var us int64
	line, _, _ := strings.Cut(text, "\n")
	_, values, _ := strings.Cut(line, " ")
	_, err := fmt.Sscanf(values, "avg10=%g avg60=%g avg300=%g total=%d", &percent, &other, &other, &us)
	if err != nil || !(percent >= 0 && percent <= 100) || us < 0 || us > math.MaxInt64/1000 {
		return Pressure{}, fmt.Errorf("%q is not a time of waiting", display.Head(line, 80))
	}
	return Pressure{Avg10: percent / 100, Total: time.Duration(us) * time.Microsecond}, nil
}

// ReadLoad reads /proc/loadavg (proc(5)): the mean number of tasks that ran, waited for a processor
// or were in uninterruptible sleep, over the last minute, exponentially weighted.
func (h Host) ReadLoad() (float64, error) {
	const file = "/proc/loadavg"
	text, err := h.Root.Read(file)
	if err != nil {
		return 0, err
	}
	one, _, _ := strings.Cut(text, " ")
	load, err := strconv.ParseFloat(one, 64)
	if err != nil || !(load >= 0 && load < math.MaxInt32) {
		return 0, fmt.Errorf("read %s: %q is not of the form of proc(5)", file, display.Head(text, 80))
	}
	return load, nil
}

// Stat is /proc/stat (proc(5)): what the processors did since the boot.
type Stat struct {
	CPUs     map[int]Ticks // by number; only those online
	Switches uint64        // context switches of all processors
}

// Ticks is the time of one processor in units of USER_HZ, of which every supported kernel has 100
// per second.
type Ticks struct {
	User, Nice, System, Idle, IOWait, IRQ, SoftIRQ, Steal uint64
}

// TicksPerSecond is USER_HZ.
const TicksPerSecond = 100

// Busy is the time that was not idle, and not taken by the hypervisor.
func (t Ticks) Busy() uint64 { return t.User + t.Nice + t.System + t.Interrupts() }

// Interrupts is the time for interrupts and softirqs.
func (t Ticks) Interrupts() uint64 { return t.IRQ + t.SoftIRQ }

// All is the time in total.
func (t Ticks) All() uint64 { return t.Busy() + t.Idle + t.IOWait + t.Steal }

// ReadStat reads /proc/stat.
func (h Host) ReadStat() (Stat, error) {
	text, err := h.Root.Read("/proc/stat")
	if err != nil {
		return Stat{}, err
	}
	return parseStat(text), nil
}

// parseStat skips lines that it does not know and values that are not numbers.
func parseStat(text string) Stat {
	s := Stat{CPUs: map[int]Ticks{}}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		number, isCPU := strings.CutPrefix(fields[0], "cpu")
		if cpu, err := strconv.Atoi(number); isCPU && err == nil && cpu >= 0 {
			s.CPUs[cpu] = parseTicks(fields[1:])
		} else if fields[0] == "ctxt" {
			s.Switches, _ = strconv.ParseUint(fields[1], 10, 64)
		}
	}
	return s
}

func parseTicks(fields []string) Ticks {
	var t Ticks
	parts := []*uint64{&t.User, &t.Nice, &t.System, &t.Idle, &t.IOWait, &t.IRQ, &t.SoftIRQ, &t.Steal}
	for i := range min(len(parts), len(fields)) {
		n, _ := strconv.ParseUint(fields[i], 10, 64)
		*parts[i] = min(n, math.MaxUint32*TicksPerSecond) // 136 years: sums do not overflow
	}
	return t
}
