package switches

import (
	"cmp"
	"slices"
)

// Run is a stretch of time in which a task had one of the processors.
type Run struct {
	PID      int    // process
	Name     string // of the task, "" if unknown
	Start    int64  // ns on the clock of libkrun
	Duration int64  // ns; 0 if the end is unknown

	tid int32
}

// Log is what ran on the processors.
type Log struct {
	CPUs []int
	// Full is when a processor's memory for records was full, ns on the clock of libkrun: later
	// runs on it are missing. 0: never.
	Full int64
	runs []Run // of all tasks but the idle ones, by time
}

// ring is what one processor noted.
type ring struct {
	records []record
	full    bool
}

// newLog joins the processors. names are those of the tasks that were seen before or after; stopped
// is when the recording was.
func newLog(cpus []int, rings []ring, names map[int32]string, stopped int64) Log {
	l := Log{CPUs: cpus}
	var all []record
	for _, r := range rings {
		all = append(all, r.records...)
		if n := len(r.records); r.full && n > 0 && (l.Full == 0 || r.records[n-1].time < l.Full) {
			l.Full = r.records[n-1].time
		}
		l.runs = append(l.runs, runs(r, stopped)...)
	}
	name(all, names)
	for i, r := range l.runs {
		l.runs[i].Name = cmp.Or(names[r.tid], names[int32(r.PID)]) // a thread may have ended
	}
	slices.SortStableFunc(l.runs, func(a, b Run) int { return cmp.Compare(a.Start, b.Start) })
	return l
}

// runs pairs the records of a processor: whatever starts to run does so until the next switch. A
// task that ends has no number any more in the record of its last switch.
func runs(r ring, stopped int64) []Run {
	var list []Run
	var now *record
	end := func(time int64) {
		if now != nil && now.tid > 0 && now.pid > 0 {
			list = append(list, Run{PID: int(now.pid), Start: now.time, Duration: max(time-now.time, 0),
				tid: now.tid})
		}
		now = nil
	}
	for i := range r.records {
		at := &r.records[i]
		if at.kind != recordSwitch {
			continue
		}
		end(at.time)
		if !at.out {
			now = at
		}
	}
	if now != nil && r.full {
		end(now.time) // when it ended is unknown
	}
	end(stopped)
	return list
}

// name adds the names that tasks gave themselves, and those that they inherited, to names.
func name(all []record, names map[int32]string) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b record) int { return cmp.Compare(a.time, b.time) })
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

// Others returns the runs of other processes than these between two times, at most the first most
// of them, and how many more there are.
func (l Log) Others(benchmark []int, from, to int64, most int) (list []Run, more int) {
	for _, r := range l.runs {
		if slices.Contains(benchmark, r.PID) || r.Start+r.Duration < from || r.Start > to {
			continue
		}
		if len(list) == most {
			more++
			continue
		}
		list = append(list, r)
	}
	return list, more
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
