package results

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"krund/internal/display"
	"krund/internal/durable"
)

// Reader reads the records of a directory. It changes nothing and may be used while krund adds
// records.
type Reader struct {
	fsys durable.FS
	dir  string
}

// NewReader returns a Reader of the directory dir.
func NewReader(fsys durable.FS, dir string) *Reader {
	return &Reader{fsys: fsys, dir: dir}
}

// FileError reports which file of the directory is invalid, and why.
type FileError struct {
	File string // name in the directory
	Err  error
}

func (e *FileError) Error() string { return fmt.Sprintf("record %s: %v", e.File, e.Err) }

// Unwrap returns the reason.
func (e *FileError) Unwrap() error { return e.Err }

// Listing is the contents of a directory, by name only: no file was opened.
type Listing struct {
	Records []Name   // sorted by slot, then attempt
	Temps   []string // left over from a crash, or being written; see Clean
	Foreign []string // not created by krund, including directories and links
	// records that a rerun of their slot has replaced, in the order of the directory
	Replaced []Name
}

// List returns the names in the directory.
func (r *Reader) List() (Listing, error) {
	entries, err := r.fsys.ReadDir(r.dir)
	if err != nil {
		return Listing{}, fmt.Errorf("list the results: %w", err)
	}
	var l Listing
	for _, e := range entries {
		name, ok := ParseName(e.Name())
		old, was := ParseReplaced(e.Name())
		switch {
		case was && e.Type().IsRegular():
			l.Replaced = append(l.Replaced, old)
		case ok && e.Type().IsRegular():
			l.Records = append(l.Records, name)
		case durable.IsTemp(e.Name()) && e.Type().IsRegular():
			l.Temps = append(l.Temps, e.Name())
		default:
			l.Foreign = append(l.Foreign, e.Name())
		}
	}
	slices.SortFunc(l.Records, compare)
	return l, nil
}

// Load reads one record. The error wraps fs.ErrNotExist if there is none, and is a *FileError if it
// cannot be read or does not match its name.
func (r *Reader) Load(n Name) (Record, error) {
	packed, err := durable.ReadFile(r.fsys, filepath.Join(r.dir, n.String()))
	if err != nil {
		return Record{}, &FileError{File: n.String(), Err: err}
	}
	rec, err := Decode(packed)
	if err != nil {
		return Record{}, &FileError{File: n.String(), Err: err}
	}
	if err := rec.checkIdentity(); err != nil {
		return Record{}, &FileError{File: n.String(), Err: err}
	}
	if rec.Slot != n.Slot || rec.Attempt != n.Attempt {
		err := fmt.Errorf("it contains the record of slot %d, attempt %d; was the file renamed?", rec.Slot,
			rec.Attempt)
		return Record{}, &FileError{File: n.String(), Err: err}
	}
	return rec, nil
}

// Replaced reports whether the record of that name was replaced by a rerun of its slot.
func (r *Reader) Replaced(n Name) bool {
	_, err := r.fsys.Lstat(filepath.Join(r.dir, n.Replaced()))
	return err == nil
}

// Format returns the format number of a record, which is the first field of its file, from its
// first bytes. It returns an error if the file is missing or is not a record of any format.
func (r *Reader) Format(n Name) (int, error) {
	f, err := r.fsys.OpenFile(filepath.Join(r.dir, n.String()), os.O_RDONLY, 0)
	if err != nil {
		return 0, &FileError{File: n.String(), Err: err}
	}
	format, err := formatOf(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, &FileError{File: n.String(), Err: err}
	}
	return format, nil
}

// All yields every record, by slot, then attempt, one at a time. If there is an error, the record
// is zero: a *FileError concerns one file, and the iteration continues; any other error concerns
// the directory and ends the iteration.
func (r *Reader) All() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		l, err := r.List()
		if err != nil {
			yield(Record{}, err)
			return
		}
		for loaded := range Scan(r, l.Records) {
			if !yield(loaded.Record, loaded.Err) {
				return
			}
		}
	}
}

// Latest reads the record of the highest attempt of a slot, up to attempts. ok is false if the slot
// has none. It opens files by name without listing the directory, and is for rebuilding a slot of
// the schedule.
func (r *Reader) Latest(slot, attempts int) (rec Record, ok bool, err error) {
	for attempt := attempts; attempt >= 1; attempt-- {
		rec, err = r.Load(Name{Slot: slot, Attempt: attempt})
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return rec, err == nil, err
		}
	}
	return Record{}, false, nil
}

// Usable returns a *FileError with the result of Check if r could be read but must not be used.
func (r Record) Usable() error {
	if err := r.Check(); err != nil {
		return &FileError{File: Name{Slot: r.Slot, Attempt: r.Attempt}.String(),
			Err: fmt.Errorf("it contradicts itself: %w", err)}
	}
	return nil
}

// Check returns how r contradicts itself. Such a record can be stored and read, but should not be
// analyzed.
func (r Record) Check() error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if err := r.checkIdentity(); err != nil {
		problems = append(problems, err)
	}
	done := len(r.WallNS)
	if r.StartNS != nil && len(r.StartNS) != done {
		add("%d start stamps for %d iterations", len(r.StartNS), done)
	}
	if done > r.Iterations {
		add("%d of %d planned iterations done", done, r.Iterations)
	}
	negative := slices.IndexFunc(r.WallNS, func(ns int64) bool { return ns < 0 })
	if negative >= 0 && r.Outcome == Completed { // else the benchmark wrote it, and the reasons name it
		add("iteration %d took %d ns", negative, r.WallNS[negative])
	}
	for _, c := range r.Columns {
		if c.Len() != done {
			add("column %s has %d values for %d iterations", c.Name, c.Len(), done)
		}
	}
	if r.Pexec < 1 {
		add("process execution %d; they count from 1", r.Pexec)
	}
	if err := r.checkEvents(); err != nil {
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// checkEvents returns what is wrong with the first event that cannot be one. Kinds that this
// version does not know are those of a later one.
func (r Record) checkEvents() error {
	if r.EventsLost < 0 {
		return fmt.Errorf("%d events lost", r.EventsLost)
	}
	const longest = 20 // bytes of a kind
	other := func(c rune) bool { return (c < 'a' || c > 'z') && c != '_' }
	for i, e := range r.Events {
		switch {
		case e.Kind == "" || len(e.Kind) > longest || strings.ContainsFunc(e.Kind, other):
			return fmt.Errorf("event %d is of kind %.50q", i, e.Kind)
		case e.DurationNS < 0 && r.Outcome == Completed:
			return fmt.Errorf("event %d (%s) took %d ns", i, e.Kind, e.DurationNS)
		case display.PlainLine(e.Name) != e.Name:
			return fmt.Errorf("event %d (%s) has the name %.50q", i, e.Kind, e.Name)
		}
	}
	return nil
}

// Clean removes temporary files left over from interrupted writes and returns their names. No
// records may be added at the same time.
func Clean(fsys durable.FS, dir string) ([]string, error) {
	return durable.RemoveTemps(fsys, dir)
}

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
