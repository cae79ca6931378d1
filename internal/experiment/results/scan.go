package results

import (
	"iter"
	"runtime"
)

// Loaded is one record, or the error from reading it.
type Loaded struct {
	Name   Name
	Record Record
	Err    error // a *FileError, or fs.ErrNotExist if the record is gone
}

// Scan yields the named records in the order of names. It keeps no more than a few records per
// processor in memory. Leaving the loop early stops reading.
func Scan(r *Reader, names []Name) iter.Seq[Loaded] {
	return read(names, runtime.GOMAXPROCS(0), func(n Name) Loaded {
		rec, err := r.Load(n)
		return Loaded{Name: n, Record: rec, Err: err}
	})
}

// Usable is Scan without the records that cannot be read or contradict themselves. leaveOut is
// called with the reason for each of them, usually a *FileError.
func (r *Reader) Usable(names []Name, leaveOut func(error)) iter.Seq[Record] {
	return func(yield func(Record) bool) {
		for l := range Scan(r, names) {
			if l.Err == nil {
				l.Err = l.Record.Usable()
			}
			if l.Err != nil {
				leaveOut(l.Err)
				continue
			}
			if !yield(l.Record) {
				return
			}
		}
	}
}

// read is Scan with the loader as a parameter. A place in the queue is acquired before a goroutine
// starts and released when its record has been consumed, so that at most 2 x workers records wait.
func read(names []Name, workers int, load func(Name) Loaded) iter.Seq[Loaded] {
	return func(yield func(Loaded) bool) {
		queue := make([]chan Loaded, 0, 2*workers)
		next := 0
		for done := 0; done < len(names); done++ {
			for next < len(names) && len(queue) < 2*workers {
				answer := make(chan Loaded, 1) // never blocks its goroutine, even without a receiver
				go func(n Name) { answer <- load(n) }(names[next])
				queue = append(queue, answer)
				next++
			}
			first := <-queue[0]
			queue = append(queue[:0], queue[1:]...)
			if !yield(first) {
				return
			}
		}
	}
}
