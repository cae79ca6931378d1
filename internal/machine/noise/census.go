// Package noise measures and stores how much a machine disturbs a program that only computes: the
// noise certificate.
//
// Take counts, for each CPU, the gaps in which a spinning thread did not run, and attributes them
// to threads, interrupts, softirqs, hypervisor and firmware by what the kernel counted meanwhile
// (census.go). A Certificate (certificate.go) joins that with the noise floor, the variation of a
// fixed program over identical process executions. `krund census` measures, `krunctl check --noise`
// runs it, computes the floor and stores the certificate. Start reading at Take.
//
// The kernel's own tracers osnoise and hwlat (Documentation/trace/osnoise-tracer.rst) do the same
// without a thread of krund's. They are not used: the kernels of Debian are built without them
// (CONFIG_OSNOISE_TRACER), so the result would depend on the distribution.
package noise

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/machine/command"
	"krund/internal/machine/host"
	"krund/internal/machine/probe"
	"krund/internal/machine/sysroot"
)

// Threshold is the shortest gap that counts: a reading of the clock takes a hundredth of it, a
// timer interrupt about its length. It is the default of the osnoise tracer.
const Threshold = 5 * time.Microsecond

// A Census is the noise of some CPUs during a time.
type Census struct {
	Seconds     float64 `json:"seconds"`
	ThresholdNS int64   `json:"threshold_ns"`
	Nice        int     `json:"nice"` // of the threads that looked for gaps; -20 as root, as of benchmarks
	CPUs        []CPU   `json:"cpus"` // in the order of their numbers
}

// A CPU is the noise of one CPU.
type CPU struct {
	CPU       int      `json:"cpu"`
	TimeNS    int64    `json:"time_ns"`    // observed
	LostNS    int64    `json:"lost_ns"`    // sum of the gaps
	LongestNS int64    `json:"longest_ns"` // gap
	Gaps      int64    `json:"gaps"`
	Preempted int64    `json:"preempted"` // gaps in which another thread ran
	PeriodNS  int64    `json:"period_ns"` // distance of the gaps that matter; 0 if it is not regular
	Sources   []Source `json:"sources"`   // what may have caused them, at most mostSources
}

// A Source is what had the processor instead. Threads that ran on several CPUs are counted on the
// last one.
type Source struct {
	Kind  string `json:"kind"`  // "thread", "interrupt", "softirq", "hypervisor", "unknown"
	Name  string `json:"name"`  // "kworker/1:0 (812)", "LOC Local timer interrupts"
	Count int64  `json:"count"` // how often
	NS    int64  `json:"ns"`    // how long; 0 if the kernel does not count it
}

// The most sources of a CPU, and the threads among them.
const (
	mostSources = 20
	mostThreads = 8
)

// A Recorder records which processes take processors from another one. It returns a function that
// ends the recording and returns them by CPU for the process with that number, and reports whether
// that is all of them.
type Recorder func(host.CPUs) (stop func(pid int) (map[int][]Source, bool))

// Take spins on the CPUs for d. spin is the path of the program built from runners/noise/spin.c.
// Without records (nil) threads are known by what /proc says before and after.
func Take(ctx context.Context, h host.Host, spin string, cpus host.CPUs, d time.Duration,
	records Recorder) (Census, error) {
	argv := []string{spin, strconv.FormatInt(max(d.Milliseconds(), 1), 10),
		strconv.FormatInt(Threshold.Nanoseconds(), 10)}
	for _, cpu := range cpus {
		argv = append(argv, strconv.Itoa(cpu))
	}
	stop := func(int) (map[int][]Source, bool) { return nil, false }
	if records != nil {
		stop = records(cpus)
	}
	before := read(h)
	const line = 64 // bytes, an upper bound
	text, err := command.Run(ctx, command.Cmd{Argv: argv, Timeout: d + time.Minute, StdoutOnly: true,
		Output: line * (mostGaps + mostClasses + 3) * max(len(cpus), 1)})
	if err != nil {
		return Census{}, fmt.Errorf("measure the gaps: %w", err)
	}
	after := read(h)
	all, who, err := parseSpin(text)
	seen, complete := stop(who.pid)
	if err != nil {
		return Census{}, err
	}
	if !complete {
		seen = nil
	}
	c := censusOf(all, before, after, seen, d)
	c.Nice = who.nice
	return c, nil
}

// censusOf joins the gaps with what the kernel counted and recorded meanwhile; seen is nil without
// records.
func censusOf(all map[int]spun, before, after reading, seen map[int][]Source, d time.Duration) Census {
	c := Census{Seconds: d.Seconds(), ThresholdNS: Threshold.Nanoseconds(), CPUs: []CPU{}}
	for cpu, s := range all {
		one := CPU{CPU: cpu, TimeNS: s.time.Nanoseconds(), LostNS: s.lost.Nanoseconds(), Gaps: s.gaps,
			LongestNS: s.longest.Nanoseconds(), Preempted: s.preempted,
			PeriodNS: period(s.list).Nanoseconds()}
		threads, recorded := seen[cpu]
		if !recorded && seen == nil {
			threads = after.threadsOf(cpu, before)
		}
		one.Sources = sources(cpu, s, threads, seen != nil, before, after)
		c.CPUs = append(c.CPUs, one)
	}
	slices.SortFunc(c.CPUs, func(a, b CPU) int { return cmp.Compare(a.CPU, b.CPU) })
	return c
}

// longInterrupt is the length from which on a gap needs more than an interrupt: handlers take
// microseconds, and what they put off to softirqs of workSoftirqs is counted apart.
const longInterrupt = 40 * time.Microsecond

// workSoftirqs can take long (include/linux/interrupt.h); the others follow a tick.
var workSoftirqs = []string{"NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET"}

// sources lists what ran on a CPU: threads by their time, then what is only counted. A gap without
// another thread is explained by an interrupt if it is short, by a softirq or a system management
// interrupt if it is long; the rest is unknown.
func sources(cpu int, s spun, threads []Source, recorded bool, before, after reading) []Source {
	list := slices.Clone(threads)
	rest, stolen := s.preemptedTime.Nanoseconds(), int64(0)
	for _, t := range list {
		rest -= t.NS
	}
	if after.steal[cpu] > before.steal[cpu] {
		stolen = int64(after.steal[cpu]-before.steal[cpu]) * (time.Second.Nanoseconds() / host.TicksPerSecond)
	}
	list = list[:min(len(list), mostThreads)]
	if recorded {
		rest -= stolen // at most: what was stolen in other gaps is not known apart
	}
	if rest > s.preemptedTime.Nanoseconds()/10 {
		name := "(ended, moved on, or stopped by a hypervisor)"
		if recorded {
			name = "(of the kernel's scheduler, or stopped by a hypervisor)"
		}
		list = append(list, Source{"thread", name, 0, rest})
	}
	if stolen > 0 {
		list = append(list, Source{"hypervisor", "time stolen by other machines of the host", 0, stolen})
	}
	interrupts := countsOf("interrupt", after.interrupts, before.interrupts, cpu)
	softirqs := countsOf("softirq", after.softirqs, before.softirqs, cpu)
	list = slices.Concat(list, interrupts, softirqs)
	var short, long, shortNS, longNS, handlers, work int64
	for _, c := range s.classes {
		if c.least < longInterrupt {
			short, shortNS = short+c.gaps, shortNS+c.lost.Nanoseconds()
		} else {
			long, longNS = long+c.gaps, longNS+c.lost.Nanoseconds()
		}
	}
	for _, i := range interrupts {
		handlers += i.Count
	}
	for _, i := range softirqs {
		if slices.Contains(workSoftirqs, i.Name) {
			work += i.Count
		}
	}
	smis := after.smis[cpu] - before.smis[cpu]
	if smis > 0 {
		list = append(list, Source{"firmware", "system management interrupts (SMI)", smis, 0})
	}
	unknownShort, unknownLong := max(short-handlers, 0), max(long-work-smis, 0)
	if n := unknownShort + unknownLong; n > 0 {
		// of each kind, the mean length
		ns := float64(shortNS)*float64(unknownShort)/float64(max(short, 1)) +
			float64(longNS)*float64(unknownLong)/float64(max(long, 1))
		list = append(list, Source{"unknown", "gaps without a thread or an interrupt: firmware (SMI) or a " +
			"hypervisor", n, int64(ns)})
	}
	sortSources(list)
	return list[:min(len(list), mostSources)]
}

func sortSources(list []Source) {
	slices.SortStableFunc(list, func(a, b Source) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(b.Count, a.Count))
	})
}

// reading is what the kernel has counted so far.
type reading struct {
	interrupts, softirqs probe.InterruptTable // both files have the same form
	steal                map[int]uint64       // ticks
	smis                 map[int]int64        // system management interrupts, where they can be read
	threads              map[thread]activity
}

// thread identifies a thread: its ID may be used again.
type thread struct {
	id    int
	start uint64
}

type activity struct {
	name string
	cpu  int // on which it last ran
	ns   int64
	runs int64
}

func read(h host.Host) reading {
	r := reading{steal: map[int]uint64{}, threads: threads(h), smis: readSMIs(h)}
	r.interrupts, _ = probe.ReadInterrupts(h.Root, probe.InterruptFile) // none without the file
	r.softirqs, _ = probe.ReadInterrupts(h.Root, probe.SoftIRQFile)
	if stat, err := h.ReadStat(); err == nil {
		for cpu, t := range stat.CPUs {
			r.steal[cpu] = t.Steal
		}
	}
	return r
}

// smiCount is MSR_SMI_COUNT of Intel's processors since Nehalem (SDM volume 4).
const smiCount = 0x34

// readSMIs reads the count of each CPU whose register the kernel shows.
func readSMIs(h host.Host) map[int]int64 {
	counts := map[int]int64{}
	cpuinfo, err := h.Root.Read("/proc/cpuinfo")
	if err != nil || !strings.Contains(cpuinfo, "GenuineIntel") {
		return counts
	}
	online, _ := h.Online() // none without the file
	for _, cpu := range online {
		if n, err := h.Root.ReadWord(fmt.Sprintf("/dev/cpu/%d/msr", cpu), smiCount); err == nil {
			counts[cpu] = int64(uint32(n)) // the upper half is reserved
		}
	}
	return counts
}

// threads reads /proc/PID/task/TID/stat and schedstat (proc(5), Documentation/scheduler/
// sched-stats.rst). It skips threads that end meanwhile.
func threads(h host.Host) map[thread]activity {
	all := map[thread]activity{}
	for dir := range h.Tasks {
		stat, err1 := h.Root.Read(dir + "/stat")
		sched, err2 := h.Root.Read(dir + "/schedstat")
		t, a, ok := parseThread(stat, sched)
		if err1 == nil && err2 == nil && ok {
			a.name = fmt.Sprintf("%s (%s)", a.name, path.Base(dir))
			all[t] = a
		}
	}
	return all
}

func parseThread(stat, sched string) (t thread, a activity, ok bool) {
	s, err := sysroot.ParseProcessStat(stat)
	ns, runs, unread := sysroot.ParseSchedstat(sched)
	name := display.PlainLine(display.Head(s.Name, mostName))
	return thread{s.PID, s.Start}, activity{name, s.CPU, ns, runs}, err == nil && unread == nil && s.CPU >= 0
}

// mostName is the longest name of a kernel thread, with its work queue (proc_task_name).
const mostName = 63

// threadsOf returns the threads that ran since before and were last on the CPU.
func (r reading) threadsOf(cpu int, before reading) []Source {
	var list []Source
	for t, now := range r.threads {
		was := before.threads[t]
		if now.cpu == cpu && now.ns > was.ns {
			list = append(list, Source{"thread", now.name, max(now.runs-was.runs, 0), now.ns - was.ns})
		}
	}
	slices.SortFunc(list, func(a, b Source) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// countsOf returns the rows of a table that advanced on the CPU.
func countsOf(kind string, now, before probe.InterruptTable, cpu int) []Source {
	var list []Source
	for _, row := range now.Since(before, []int{cpu}) {
		name := display.PlainLine(display.Head(strings.TrimSpace(row.Name+" "+row.About), 80))
		list = append(list, Source{kind, name, int64(row.Total()), 0})
	}
	return list
}
