package host

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"krund/internal/display"
)

// Resources are the files of /proc/pressure.
var Resources = []string{"cpu", "io", "memory", "irq"}

// Pressure is the time that tasks of the machine lost to waiting for a resource, as the kernel
// accounts it (Documentation/accounting/psi.rst).
type Pressure struct {
	Some Stall  // at least one task waited
	Full *Stall // all tasks that were not idle waited; nil if the kernel does not report it
}

// Stall is one line of a file of /proc/pressure.
type Stall struct {
	Avg10, Avg60, Avg300 float64       // share of the last 10, 60 and 300 seconds, 0 to 1
	Total                time.Duration // since boot, in microseconds
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

// parsePressure reads "some avg10=0.00 avg60=0.00 avg300=0.00 total=0", and the same with "full".
func parsePressure(text string) (Pressure, error) {
	var p Pressure
	some := false
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		s, err := parseStall(fields[1:])
		if err != nil {
			return Pressure{}, err
		}
		switch fields[0] {
		case "some":
			p.Some, some = s, true
		case "full":
			p.Full = &s
		}
	}
	if !some && p.Full != nil {
		p.Some, some = *p.Full, true // irq has no other line (Linux 6.12, kernel/sched/psi.c:1265-1282)
	}
	if !some {
		return Pressure{}, errors.New(`no line "some"`)
	}
	return p, nil
}

func parseStall(fields []string) (Stall, error) {
	var s Stall
	shares := map[string]*float64{"avg10": &s.Avg10, "avg60": &s.Avg60, "avg300": &s.Avg300}
	for _, field := range fields {
		name, value, _ := strings.Cut(field, "=")
		if name == "total" {
			us, err := strconv.ParseUint(value, 10, 64)
			if err != nil || us > math.MaxInt64/1000 {
				return s, fmt.Errorf("%q is not a time", display.Head(field, 40))
			}
			s.Total = time.Duration(us) * time.Microsecond
		} else if share := shares[name]; share != nil {
			percent, err := strconv.ParseFloat(value, 64)
			if err != nil || !(percent >= 0 && percent <= 100) {
				return s, fmt.Errorf("%q is not a share", display.Head(field, 40))
			}
			*share = percent / 100
		}
	}
	return s, nil
}

// Load is /proc/loadavg (proc(5)): the mean number of tasks that ran, waited for a processor or
// were in uninterruptible sleep.
type Load struct {
	One, Five, Fifteen float64 // over the last minutes, exponentially weighted
	Runnable, Threads  int     // threads that run or wait for a processor now, and all threads
}

// ReadLoad reads /proc/loadavg.
func (h Host) ReadLoad() (Load, error) {
	const file = "/proc/loadavg"
	text, err := h.Root.Read(file)
	if err != nil {
		return Load{}, err
	}
	l, ok := parseLoad(text)
	if !ok {
		return Load{}, fmt.Errorf("read %s: %q is not of the form of proc(5)", file, display.Head(text, 80))
	}
	return l, nil
}

// parseLoad reads "0.20 0.18 0.12 1/80 11206".
func parseLoad(text string) (l Load, ok bool) {
	fields := strings.Fields(text)
	if len(fields) < 4 {
		return l, false
	}
	for i, mean := range []*float64{&l.One, &l.Five, &l.Fifteen} {
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil || !(v >= 0 && v < math.MaxInt32) {
			return l, false
		}
		*mean = v
	}
	runnable, threads, _ := strings.Cut(fields[3], "/")
	var err1, err2 error
	l.Runnable, err1 = strconv.Atoi(runnable)
	l.Threads, err2 = strconv.Atoi(threads)
	return l, errors.Join(err1, err2) == nil && l.Runnable >= 0 && l.Threads >= 0
}

// Stat is /proc/stat (proc(5)): what the processors did since the boot.
type Stat struct {
	CPUs     map[int]Ticks // by number; only those online
	Switches uint64        // context switches of all processors
	Running  int           // threads that run or wait for a processor now
	Blocked  int           // threads that wait for a disk now
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
		n, _ := strconv.ParseUint(fields[1], 10, 64)
		switch name := fields[0]; name {
		case "ctxt":
			s.Switches = n
		case "procs_running":
			s.Running = int(min(n, math.MaxInt32))
		case "procs_blocked":
			s.Blocked = int(min(n, math.MaxInt32))
		default:
			number, isCPU := strings.CutPrefix(name, "cpu")
			if cpu, err := strconv.Atoi(number); isCPU && err == nil && cpu >= 0 {
				s.CPUs[cpu] = parseTicks(fields[1:])
			}
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
