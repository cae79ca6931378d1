package probe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/experiment/results"
	"krund/internal/machine/host"
)

// memoryEvents are the counters of /proc/vmstat that a record has. What one costs a program is of
// the order of cost; together they are worth a remark above noticedShare of a run.
var memoryEvents = []struct {
	names []string // the counters that are added
	text  string   // of the remark, with the number; "" for none
	cost  time.Duration
}{
	{[]string{"pswpin"}, "", 0},
	{[]string{"pswpout"}, "", 0},
	{[]string{"thp_fault_alloc"}, "", 0},
	{[]string{"thp_fault_fallback"}, "", 0},
	{[]string{"thp_collapse_alloc"}, "", 0},
	{[]string{"thp_split_page"}, "", 0},
	{[]string{"numa_other"}, "", 0},
	{[]string{"numa_hint_faults"}, "", 0},
	{[]string{"numa_pages_migrated"}, "moved %d pages between memory nodes (see numa_balancing)",
		5 * time.Microsecond},
	{[]string{"compact_stall"}, "compacted memory %d times while a program waited (see thp, caches)",
		time.Millisecond},
	{[]string{"allocstall_dma", "allocstall_dma32", "allocstall_normal", "allocstall_movable"},
		"freed memory %d times while a program waited: it is full", time.Millisecond},
}

const (
	noticedShare = 0.005
	mostBurdens  = 3 // kinds of interrupts that a remark names
	// mostIdleStates bounds the idle states of a processor (CPUIDLE_STATE_MAX is 10).
	mostIdleStates = 10
)

// readCounts returns the counters of memoryEvents, and how long the CPUs have been in each idle
// state, in microseconds ("idle.C6"), since the boot.
func readCounts(h host.Host, cpus []int) map[string]uint64 {
	events, counts := h.MemoryEvents(), map[string]uint64{}
	for _, e := range memoryEvents {
		for _, name := range e.names {
			if n, ok := events[name]; ok {
				counts[e.names[0]] += n
			}
		}
	}
	for _, cpu := range cpus {
		for state := range mostIdleStates {
			dir := fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpuidle/state%d", cpu, state)
			name, err := h.Root.Read(dir + "/name")
			us, terr := h.Root.ReadInt(dir + "/time")
			if err != nil || terr != nil || us < 0 {
				break
			}
			counts["idle."+display.PlainLine(display.Head(name, mostName))] += uint64(us)
		}
	}
	return counts
}

// countsSince returns the counters that advanced, by name.
func (a Activity) countsSince(before Activity) []results.Count {
	var list []results.Count
	for _, name := range slices.Sorted(maps.Keys(a.counts)) {
		if was, ok := before.counts[name]; ok && a.counts[name] > was {
			list = append(list, results.Count{Name: name, Count: a.counts[name] - was})
		}
	}
	return list
}

// Noticed says what happened between two readings that nothing else accounts for: swapped pages,
// what the memory management made programs wait for, what interrupted CPUs that should not be, and
// the time that interrupts took.
// cpus are the benchmark's; shielded: devices were to be kept away from them.
func Noticed(h host.Host, cpus []int, shielded bool, before, after Activity) []string {
	list := append(interrupted(h, cpus, shielded, before, after), burdened(cpus, before, after)...)
	counts := map[string]uint64{}
	for _, c := range after.countsSince(before) {
		counts[c.Name] = c.Count
	}
	if in, out := counts["pswpin"], counts["pswpout"]; in > 0 || out > 0 {
		list = append(list, fmt.Sprintf("the machine swapped during the run: %d pages in, %d out", in, out))
	}
	for _, e := range memoryEvents {
		n := counts[e.names[0]]
		if e.text != "" && float64(n)*float64(e.cost) > noticedShare*float64(after.at.Sub(before.at)) {
			list = append(list, "during the run the kernel "+fmt.Sprintf(e.text, n))
		}
	}
	return list
}

// burdened names the one of the CPUs (nil: of all) that worked most for interrupts and softirqs, if
// that was a share of the time that matters, and the most frequent of them there. The kernel
// measures the time with CONFIG_IRQ_TIME_ACCOUNTING; without, its tick looks what the CPU does
// (Linux 6.12, kernel/sched/cputime.c:478-520), which less than three ticks of 10 ms say nothing
// about.
func burdened(cpus []int, before, after Activity) []string {
	if before.stat == nil || after.stat == nil || before.interrupts == nil || after.interrupts == nil {
		return nil
	}
	worst, most, elapsed := 0, time.Duration(0), after.at.Sub(before.at)
	for _, cpu := range slices.Sorted(maps.Keys(before.stat.CPUs)) {
		was, now := before.stat.CPUs[cpu].Interrupts(), after.stat.CPUs[cpu].Interrupts()
		took := time.Duration(now-min(was, now)) * tick
		if took > most && (cpus == nil || slices.Contains(cpus, cpu)) {
			worst, most = cpu, took
		}
	}
	if most < 3*tick || float64(most) <= noticedShare*float64(elapsed) {
		return nil
	}
	var names []string
	list := after.interruptsSince(before, []int{worst})
	for _, i := range list[:min(len(list), mostBurdens)] {
		names = append(names, fmt.Sprintf("%s %s %.0f/s", i.Kind, i.Name, float64(i.Count)/elapsed.Seconds()))
	}
	return []string{fmt.Sprintf("interrupts took %.2g %% of CPU %d during the run: %s (see irq_affinity, "+
		"rps_cpus)", 100*float64(most)/float64(elapsed), worst, strings.Join(names, ", "))}
}

// interrupted says on which of the CPUs the tick went on although they are in nohz_full, which only
// permits the kernel to stop it: POSIX timers of a process, a second thread on the CPU, RCU and an
// unstable TSC keep it (include/linux/tick.h of Linux 6.12:112-117). And which of them devices
// interrupted although they are isolated or shielded: the kernel itself places the queues of many
// (managed interrupts, kernel/irq/affinity.c), and only isolcpus=managed_irq keeps those away.
func interrupted(h host.Host, cpus []int, shielded bool, before, after Activity) []string {
	if before.interrupts == nil || after.interrupts == nil {
		return nil
	}
	tickless, _ := h.ReadCPUs("/sys/devices/system/cpu/nohz_full") // nil: none
	isolated, _ := h.ReadCPUs("/sys/devices/system/cpu/isolated")
	var list []string
	i := InterruptsBetween(*before.interrupts, *after.interrupts, after.at.Sub(before.at))
	for _, c := range i.CPUs {
		if !slices.Contains(cpus, c.CPU) {
			continue
		}
		set := host.CPUs{c.CPU}
		if rate := i.PerSecond(c.Ticks); tickless.Contains(set) && rate > quietTicks {
			list = append(list, fmt.Sprintf("the tick did not stop on CPU %d, which is in nohz_full: %.0f/s "+
				"(a second thread there, or a timer of the process)", c.CPU, rate))
		}
		rate := i.PerSecond(c.Devices)
		if rate <= quietTicks || !shielded && !isolated.Contains(set) && !tickless.Contains(set) {
			continue
		}
		rows := slices.DeleteFunc(after.interrupts.Since(*before.interrupts, set),
			func(r InterruptRow) bool { return !r.Device() })
		worst := slices.MaxFunc(rows, func(a, b InterruptRow) int {
			return cmp.Compare(a.Total(), b.Total())
		})
		list = append(list, fmt.Sprintf("devices interrupted CPU %d, which should have none: %.0f/s, most "+
			"by %s (see irq_affinity; isolcpus=managed_irq,%[1]d for queues that the kernel places)",
			c.CPU, rate, display.PlainLine(display.Head(worst.Name+" "+worst.About, mostName))))
	}
	return list
}
