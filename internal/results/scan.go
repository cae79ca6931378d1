package results

import (
	"iter"
	"runtime"
)

// Loaded is one record, or why it could not be read.
type Loaded struct {
	Name   Name
	Record Record
	Err    error // a *FileError, or fs.ErrNotExist for one that is gone
}

// Scan reads the named records on all processors, because unpacking is most of the work, and yields
// them in the order of names. No more than a few per processor are in memory. Leaving the loop early
// ends the reading. It is for krunctl: the daemon reads one record at a time (Reader.Load).
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

// read is Scan with the loader as a parameter. A slot of the queue is taken
// before a goroutine starts and given back when its record was consumed, so
// that at most 2 x workers records wait.
func read(names []Name, workers int, load func(Name) Loaded) iter.Seq[Loaded] {
	return func(yield func(Loaded) bool) {
		queue := make([]chan Loaded, 0, 2*workers)
		next := 0
		for done := 0; done < len(names); done++ {
			for next < len(names) && len(queue) < 2*workers {
				// never blocks its goroutine, even when nobody listens any more
				answer := make(chan Loaded, 1)
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
