package probe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/experiment/config/setting"
	"krund/internal/experiment/results"
	"krund/internal/machine/host"
)

// Activity is what the machine has done up to a moment: two of them show what it did in between.
type Activity struct {
	at        time.Time
	own       time.Duration
	load      *float64
	stat      *host.Stat
	pressure  map[string]host.Pressure
	processes []host.Process
	counts    map[string]uint64 // see readCounts

	interrupts, softirqs *InterruptTable // nil: unknown
}

// ReadActivity reads the load, the processors' times, the pressure and the processes. What cannot
// be read is unknown. own is the processor time that the reader and the processes that it has
// waited for, the benchmark among them, have used so far. cpus are those whose idle states are
// read.
func ReadActivity(h host.Host, now time.Time, own time.Duration, cpus ...int) Activity {
	a := Activity{at: now, own: own, pressure: map[string]host.Pressure{}}
	if stat, err := h.ReadStat(); err == nil {
		a.stat = &stat
	}
	for _, resource := range host.Resources {
		if p, err := h.ReadPressure(resource); err == nil {
			a.pressure[resource] = p
		}
	}
	if load, err := h.ReadLoad(); err == nil {
		a.load = &load
	}
	if table, err := ReadInterrupts(h.Root, InterruptFile); err == nil {
		a.interrupts = &table
	}
	if table, err := ReadInterrupts(h.Root, SoftIRQFile); err == nil {
		a.softirqs = &table
	}
	a.counts = readCounts(h, cpus)
	a.processes = h.Processes() // last, because it takes milliseconds
	return a
}

// mostBusyPrograms is how many programs a record names.
const mostBusyPrograms = 5

// Since returns what the machine did since before, for a record. self is krund's own process, cpus
// are the benchmark's, nil for all.
func (a Activity) Since(before Activity, self int, cpus []int) results.Load {
	l := results.Load{WindowNS: a.at.Sub(before.at).Nanoseconds(), Pressure: []results.Pressure{},
		Programs: []results.Program{}, Krunds: before.krunds(self),
		Interrupts: a.interruptsSince(before, cpus), Counts: a.countsSince(before)}
	if before.load != nil {
		milli := int64(*before.load * 1000)
		l.LoadMilli = &milli
	}
	if a.stat != nil && before.stat != nil {
		busy, steal := ticksSince(*before.stat, *a.stat)
		others := max(busy-(a.own-before.own).Nanoseconds(), 0) // ticks are coarse
		l.BusyNS, l.OthersNS, l.StealNS = &busy, &others, &steal
	}
	for _, resource := range host.Resources {
		now, known := a.pressure[resource]
		if was, ok := before.pressure[resource]; known && ok {
			l.Pressure = append(l.Pressure, results.Pressure{Resource: resource,
				SomeNS: (now.Total - was.Total).Nanoseconds()})
		}
	}
	for _, p := range host.Busiest(before.processes, a.processes, mostBusyPrograms) {
		if p.PID != self {
			l.Programs = append(l.Programs, results.Program{Name: p.Name, PID: p.PID,
				CPUNS: int64(p.Ticks) * tick.Nanoseconds()})
		}
	}
	return l
}

// mostInterrupts is how many sources of interrupts a record has.
const mostInterrupts = 10

// interruptsSince returns the most frequent interrupts of the CPUs; nil if they are unknown.
func (a Activity) interruptsSince(before Activity, cpus []int) []results.Interrupt {
	if a.interrupts == nil || before.interrupts == nil {
		return nil
	}
	list := []results.Interrupt{}
	add := func(kind string, now, before *InterruptTable) {
		if now == nil || before == nil {
			return
		}
		for _, row := range now.Since(*before, cpus) {
			name := display.PlainLine(display.Head(strings.TrimSpace(row.Name+" "+row.About), mostName))
			list = append(list, results.Interrupt{Kind: kind, Name: name, Count: int64(row.Total())})
		}
	}
	add("interrupt", a.interrupts, before.interrupts)
	add("softirq", a.softirqs, before.softirqs)
	slices.SortStableFunc(list, func(a, b results.Interrupt) int { return cmp.Compare(b.Count, a.Count) })
	return list[:min(len(list), mostInterrupts)]
}

// mostName bounds the name of a source of interrupts: the drivers that share it are part of it.
const mostName = 80

// tick is the unit of the kernel's accounting.
const tick = time.Second / host.TicksPerSecond

// ticksSince returns the time that processors were busy and that the hypervisor withheld.
func ticksSince(before, now host.Stat) (busy, steal int64) {
	for cpu, t := range now.CPUs {
		was, ok := before.CPUs[cpu]
		if !ok {
			continue
		}
		busy += int64(max(t.Busy(), was.Busy())-was.Busy()) * tick.Nanoseconds()
		steal += int64(max(t.Steal, was.Steal)-was.Steal) * tick.Nanoseconds()
	}
	return busy, steal
}

// krunds returns the other krunds that run, without the helpers of each.
func (a Activity) krunds(self int) []int {
	krund := map[int]bool{self: true}
	for _, p := range a.processes {
		krund[p.PID] = krund[p.PID] || p.Name == "krund"
	}
	pids := []int{}
	for _, p := range a.processes {
		if p.PID != self && krund[p.PID] && !krund[p.Parent] {
			pids = append(pids, p.PID)
		}
	}
	slices.Sort(pids)
	return pids
}

// Limits of a machine that is busy with something else. What counts is the time that other programs
// used. A benchmark that sleeps, or whose own processes wait for each other, waits on an idle
// machine, too. The kernel accounts in ticks of 10 ms, so that less than three of them say nothing.
const (
	busyOthers  = 0.1      // processors that other programs used, but at least
	busyLeast   = 3 * tick // so much
	busySteal   = 0.02     // share of the time that the hypervisor withheld from one processor
	busyWaited  = 0.1      // share of the wall time without a processor, and
	busySwitch  = 10       // as many involuntary switches per second, but at least
	busyFewest  = 3        // so many, and
	busyStalled = 0.05     // share of the time in which tasks waited for a processor
)

// Busy returns sentences about what the machine was busy with besides a benchmark while it ran.
func Busy(l results.Load, p results.Process) []string {
	var busy, detail []string
	for _, pid := range l.Krunds {
		busy = append(busy, fmt.Sprintf("another krund (process %d) ran", pid))
	}
	window := float64(l.WindowNS)
	if l.OthersNS != nil && float64(*l.OthersNS) > max(busyOthers*window, float64(busyLeast)) {
		busy = append(busy, fmt.Sprintf("other programs used %.1f processors%s", float64(*l.OthersNS)/window,
			programs(l.Programs, window)))
		detail = waited(l, p)
	}
	if l.StealNS != nil && float64(*l.StealNS) > max(busySteal*window, float64(tick)) {
		busy = append(busy, fmt.Sprintf("the hypervisor withheld a processor for %.0f %% of the time",
			100*float64(*l.StealNS)/window))
	}
	return append(busy, detail...)
}

// waited says how long a process waited that shared its processors with the other programs: it had
// a processor for a part of its life only, was interrupted often, and tasks waited for processors.
func waited(l results.Load, p results.Process) []string {
	wall, cpu, seconds := time.Duration(p.WallNS), time.Duration(p.UTimeNS+p.STimeNS), display.UnitOf("s")
	if wall <= 0 || float64(wall-cpu) < busyWaited*float64(wall) ||
		float64(p.InvoluntarySwitches) < max(busyFewest, busySwitch*wall.Seconds()) {
		return nil
	}
	for _, r := range l.Pressure {
		if r.Resource == "cpu" && float64(r.SomeNS) < busyStalled*float64(l.WindowNS) {
			return nil
		}
	}
	return []string{fmt.Sprintf("the process had a processor for %s of %s and was interrupted %d times",
		seconds.Short(cpu.Seconds()), seconds.Short(wall.Seconds()), p.InvoluntarySwitches)}
}

// programs names the busiest programs: " (cc1 85 %, Xorg 3 %)".
func programs(list []results.Program, window float64) string {
	var names []string
	for _, p := range list {
		if share := 100 * float64(p.CPUNS) / window; share >= 1 {
			names = append(names, fmt.Sprintf("%s %.0f %%", p.Name, share))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// Limits of a machine that may measure: what a check before an experiment compares the last ten
// seconds and the last minute with.
const (
	checkLoad  = 0.5
	checkStall = 0.02
)

// stolen is the share of the processors' time since the boot that a hypervisor withheld.
func (a Activity) stolen() float64 {
	var stolen, all uint64
	if a.stat != nil {
		for _, t := range a.stat.CPUs {
			stolen, all = stolen+t.Steal, all+t.All()
		}
	}
	return float64(stolen) / max(float64(all), 1)
}

// CheckLoad returns a row about what the machine is busy with now. self is the process that asks.
func CheckLoad(h host.Host, self int) setting.Finding {
	f := setting.Finding{Name: "load", Policy: setting.Warn, Status: setting.StatusOK,
		Wanted: fmt.Sprintf("below %.1f, no other krund", checkLoad),
		Why:    "other programs take processors, caches and memory bandwidth from the benchmark"}
	a := ReadActivity(h, time.Time{}, 0)
	var found []string
	if a.load != nil {
		found = append(found, fmt.Sprintf("%.2f in the last minute", *a.load))
		if *a.load >= checkLoad {
			f.Status = setting.StatusDiffers
		}
	}
	if p, ok := a.pressure["cpu"]; ok && p.Avg10 >= checkStall {
		f.Status = setting.StatusDiffers
		f.Detail = fmt.Sprintf("tasks waited for a processor in %.0f %% of the last 10 s", 100*p.Avg10)
	}
	for _, pid := range a.krunds(self) {
		f.Status = setting.StatusDiffers
		found = append(found, fmt.Sprintf("krund runs as process %d", pid))
	}
	f.Fix = "wait, or end what runs: top(1) shows it"
	if share := a.stolen(); share >= busySteal {
		f.Status, f.Fix = setting.StatusDiffers, "measure on a host that no other machine shares"
		found = append(found, fmt.Sprintf("stolen %.0f %%", 100*share))
		f.Detail = "a hypervisor has withheld that share of the processors' time since the boot"
	}
	if f.Found = strings.Join(found, ", "); f.Found == "" {
		f.Found, f.Status, f.Fix = "unknown", setting.StatusCannot, "mount proc with /proc/loadavg"
	}
	return f
}
