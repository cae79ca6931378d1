// Package switches finds out who else ran on the benchmark's processors during a process
// execution, from the kernel's records of each context switch.
//
//  1. [Open] opens a perf event without a count on each processor, with memory for its records
//     (PERF_RECORD_SWITCH_CPU_WIDE: perf_event_open(2), Linux 6.12, kernel/events/core.c:9271).
//     It needs root. The kernel writes them when it switches; nothing here runs meanwhile.
//  2. When the process has ended, [Watch.Stop] reads them, and adds the names of the tasks.
//  3. [Log.Others] are the tasks that took a processor from the benchmark, with times on the clock
//     of libkrun.
//
// The memory for the records is bounded. When it is full the kernel writes no more of them:
// [Log.Full].
//
// The package never judges. Start reading at Open; parse reads what the kernel wrote.
package switches

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// Run is a stretch of time in which a task had one of the processors.
type Run struct {
	PID      int    // process
	CPU      int    // the processor
	Name     string // of the task, "" if unknown
	Start    int64  // ns on the clock of libkrun
	Duration int64  // ns; 0 if the end is unknown
}

// Log is what was recorded on the processors.
type Log struct {
	CPUs []int
	// Full is when a processor's memory for records was full, ns on the clock of libkrun: later
	// runs on it are missing. 0: never.
	Full    int64
	records []record // by time
	full    []bool   // by processor
	names   map[int32]string
	stopped int64
}

// ring is what one processor noted.
type ring struct {
	records []record
	full    bool
}

// newLog joins the processors. names are those of the tasks that were seen before or after; stopped
// is when the recording was.
func newLog(cpus []int, rings []ring, names map[int32]string, stopped int64) Log {
	l := Log{CPUs: cpus, names: names, stopped: stopped}
	for i, r := range rings {
		for _, one := range r.records {
			one.ring = i
			l.records = append(l.records, one)
		}
		if n := len(r.records); r.full && n > 0 && (l.Full == 0 || r.records[n-1].time < l.Full) {
			l.Full = r.records[n-1].time
		}
		l.full = append(l.full, r.full)
	}
	slices.SortStableFunc(l.records, func(a, b record) int { return cmp.Compare(a.time, b.time) })
	name(l.records, names)
	return l
}

// name adds the names that tasks gave themselves, and those that they inherited, to names. The
// records are sorted by time.
func name(all []record, names map[int32]string) {
	for _, r := range all {
		switch r.kind {
		case recordComm:
			names[r.tid] = r.name
		case recordFork:
			if text, ok := names[r.parent]; ok && names[r.tid] == "" {
				names[r.tid] = text
			}
		}
	}
}

// Others returns the runs of other processes than these by which a thread of these lost its
// processor: the thread could have gone on, and did not run elsewhere either. They begin and end
// between two times. It returns at most the first most of them, and how many more there are.
func (l Log) Others(benchmark []int, from, to int64, most int) (list []Run, more int) {
	waiting := map[int32]int{}              // threads of the benchmark that could run, and where they did
	running := make([]*record, len(l.full)) // what runs in their place
	end := func(ring int, time int64) {
		r := running[ring]
		running[ring] = nil
		if r == nil || time < from || r.time > to {
			return
		}
		if len(list) == most {
			more++
			return
		}
		list = append(list, Run{PID: int(r.pid), CPU: l.cpu(ring), Start: r.time,
			Duration: max(time-r.time, 0),
			Name:     cmp.Or(l.names[r.tid], l.names[r.pid])}) // a thread may have ended
	}
	for i := range l.records {
		r := &l.records[i]
		if r.kind != recordSwitch {
			continue
		}
		end(r.ring, r.time) // a task that ends has no number any more here
		mine := slices.Contains(benchmark, int(r.pid))
		switch {
		case r.out && mine && r.ready:
			waiting[r.tid] = r.ring
		case mine && !r.out:
			delete(waiting, r.tid)
		case !r.out && r.pid > 0 && r.tid > 0 && waits(waiting, r.ring):
			running[r.ring] = r
		}
	}
	for ring, r := range running {
		if r != nil && l.full[ring] {
			end(ring, r.time) // when it ended is unknown
		}
		end(ring, l.stopped)
	}
	slices.SortStableFunc(list, func(a, b Run) int { return cmp.Compare(a.Start, b.Start) })
	return list, more
}

// cpu returns the number of the processor of a ring; -1 if it is unknown.
func (l Log) cpu(ring int) int {
	if ring < len(l.CPUs) {
		return l.CPUs[ring]
	}
	return -1
}

// waits reports whether a thread lost this processor.
func waits(waiting map[int32]int, ring int) bool {
	for _, lost := range waiting {
		if lost == ring {
			return true
		}
	}
	return false
}

// Task is how often and how long a process ran.
type Task struct {
	PID  int
	Name string // of its task
	NS   int64
	Runs int64
}

// Sum adds up the runs of each process and name, the longest first.
func Sum(list []Run) []Task {
	type id struct {
		pid  int
		name string
	}
	at := map[id]int{}
	var tasks []Task
	for _, r := range list {
		key := id{r.PID, r.Name}
		i, ok := at[key]
		if !ok {
			i = len(tasks)
			at[key], tasks = i, append(tasks, Task{PID: r.PID, Name: r.Name})
		}
		tasks[i].NS += r.Duration
		tasks[i].Runs++
	}
	slices.SortStableFunc(tasks, func(a, b Task) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.PID, b.PID))
	})
	return tasks
}

// The records that are used, and their sizes: linux/perf_event.h, enum perf_event_type. Each ends
// with the identity and the time that sampleID asks for.
const (
	recordComm   = 3  // header, pid, tid, name, sample
	recordFork   = 7  // header, pid, ppid, tid, ptid, time, sample
	recordSwitch = 15 // header, pid and tid of the other task, sample

	headerBytes = 8
	sampleBytes = 16 // pid, tid, time
	forkBytes   = headerBytes + 24 + sampleBytes
	switchBytes = headerBytes + 8 + sampleBytes
	commBytes   = headerBytes + 8 + 8 + sampleBytes // at least

	// in the header: the task stops running; and could go on (since Linux 4.17)
	switchOut     = 1 << 13
	switchPreempt = 1 << 14
)

// gone is the number of a task that has none any more: kernel/events/core.c, perf_event_pid_type.
const gone = -1

// record is something that the kernel noted on a processor.
type record struct {
	kind     uint32
	out      bool  // recordSwitch: the task stops running, else it starts
	ready    bool  // recordSwitch: the task stops running, though it could go on
	pid, tid int32 // of the task that switches, has a new name, or is new
	parent   int32 // recordFork: thread that made it
	time     int64 // ns on the clock of libkrun
	name     string
	ring     int // processor that noted it, counted from 0: filled in by newLog
}

// parse reads the records of a processor. ok is false if something is not as the kernel writes it;
// the records before that are returned.
func parse(raw []byte) (list []record, ok bool) {
	for len(raw) > 0 {
		if len(raw) < headerBytes {
			return list, false
		}
		size := int(binary.NativeEndian.Uint16(raw[6:]))
		if size < headerBytes || size > len(raw) || size%8 != 0 {
			return list, false
		}
		r, known, ok := parseRecord(raw[:size])
		if !ok {
			return list, false
		}
		if known {
			list = append(list, r)
		}
		raw = raw[size:]
	}
	return list, true
}

// parseRecord reads one record; known is false for those that are of no use here.
func parseRecord(raw []byte) (r record, known, ok bool) {
	order := binary.NativeEndian
	number := func(at int) int32 { return int32(order.Uint32(raw[at:])) } //nolint:gosec // -1 is gone
	r.kind = order.Uint32(raw)
	sample := len(raw) - sampleBytes
	switch {
	case r.kind == recordSwitch && len(raw) == switchBytes:
		misc := order.Uint16(raw[4:])
		r.out, r.ready = misc&switchOut != 0, misc&switchPreempt != 0
		r.pid, r.tid = number(sample), number(sample+4)
	case r.kind == recordComm && len(raw) >= commBytes:
		r.pid, r.tid, r.name = number(8), number(12), plain(raw[16:sample])
	case r.kind == recordFork && len(raw) == forkBytes:
		r.pid, r.tid, r.parent = number(8), number(16), number(20)
	default:
		used := r.kind == recordSwitch || r.kind == recordComm || r.kind == recordFork
		return r, false, !used
	}
	time := order.Uint64(raw[sample+8:])
	r.time = int64(time & math.MaxInt64)
	return r, true, time <= math.MaxInt64
}

// plain is a task's name up to its zero; what is not printable ASCII becomes a question mark.
func plain(name []byte) string {
	name, _, _ = bytes.Cut(name, []byte{0})
	return string(bytes.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, name))
}
