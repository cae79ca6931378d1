package schedule

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"

	"krund/internal/durable"
)

// Source is what a damaged schedule is rebuilt from.
type Source struct {
	// Header replaces the header if both copies are damaged. It is as for Create, with Reboots and
	// Mails at their maximum possible number. Otherwise only its ConfigHash is used, to reject a
	// schedule of another configuration.
	Header Header
	// Plan yields the planned slots, like the function Plan. It is iterated several times.
	Plan iter.Seq[Slot]
	// State returns the Flag and Attempts of a planned slot according to the results: Outstanding
	// and 0 if there is no record. It is called once for each unreadable slot, in order.
	State func(planned Slot) (Slot, error)
}

// Report is the result of Repair.
type Report struct {
	Headers []error // why copies of the header could not be used; nil if both could
	Slots   []int   // slots that were rebuilt
	Size    error   // a *SizeError if the size of the file was wrong
	Missing bool    // there was no file, and all of it was rebuilt
	Backup  string  // the path of the backup; "" if there was no file
}

// Clean reports whether nothing was damaged and nothing was changed.
func (r Report) Clean() bool {
	return len(r.Headers) == 0 && len(r.Slots) == 0 && r.Size == nil && !r.Missing
}

// Repair repairs the schedule at path. It keeps everything that can be read, including the counts
// of attempts. Unreadable slots, and the header if both copies are unreadable, are rebuilt from
// src. It first copies the file to path.broken (or path.broken1, ...), then writes the new file
// under a temporary name and renames it, each durably: a crash leaves the old file or the new one.
// It does not touch a sound schedule and creates a missing one.
//
// The experiment must be locked. The error is ErrVersion, an error that says that the plan is not
// that of the schedule, or an error of src.State or the file system.
func Repair(fsys durable.FS, path string, src Source) (Report, error) {
	report, err := repair(fsys, path, src)
	if err != nil {
		return report, fmt.Errorf("repair %s: %w", path, err)
	}
	return report, nil
}

func repair(fsys durable.FS, path string, src Source) (Report, error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return remake(fsys, path, src)
	}
	if err != nil {
		return Report{}, err
	}
	report, err := repairFrom(fsys, path, f, src)
	return report, errors.Join(err, f.Close())
}

// remake writes the file as if all slots were damaged.
func remake(fsys durable.FS, path string, src Source) (Report, error) {
	report := Report{Missing: true}
	h, err := shape(src.Header, count(src.Plan), src.Plan)
	if err != nil {
		return report, err
	}
	err = writeRepaired(fsys, path, h, func(yield func(salvaged, error) bool) {
		for planned := range src.Plan {
			report.Slots = append(report.Slots, planned.Index)
			if !yield(salvaged{Slot: planned, damaged: true}, nil) {
				return
			}
		}
	}, src)
	return report, err
}

func repairFrom(fsys durable.FS, path string, f durable.File, src Source) (Report, error) {
	old, report, err := salvage(f, src)
	if err != nil {
		return report, err
	}
	for slot, err := range old.slots(src) {
		if err != nil {
			return report, err
		}
		if slot.damaged {
			report.Slots = append(report.Slots, slot.Index)
		}
	}
	if report.Clean() {
		return report, nil
	}
	if report.Backup, err = backUp(fsys, path, f); err != nil {
		return report, err
	}
	h := old.header
	h.Next = 0 // the search finds the first unfinished slot
	h.Generation++
	return report, writeRepaired(fsys, path, h, old.slots(src), src)
}

// writeRepaired writes the new file, in which the damaged slots are rebuilt.
func writeRepaired(fsys durable.FS, path string, h Header, slots iter.Seq2[salvaged, error], src Source) error {
	var failed error
	err := write(fsys, path, h, func(yield func(Slot) bool) {
		for slot, err := range slots {
			if err == nil && slot.damaged {
				slot.Slot, err = rebuild(slot.Slot, src)
			}
			if err != nil {
				failed = err
				return
			}
			if !yield(slot.Slot) {
				return
			}
		}
	})
	return cmp.Or(failed, err)
}

// rebuild returns a planned slot with the state from src, and ignores its other fields.
func rebuild(planned Slot, src Source) (Slot, error) {
	state, err := src.State(planned)
	if err != nil {
		return Slot{}, fmt.Errorf("slot %d: %w", planned.Index, err)
	}
	planned.Flag, planned.Attempts = state.Flag, state.Attempts
	return planned, nil
}

// backUp copies the file to a free name.
func backUp(fsys durable.FS, path string, f durable.File) (string, error) {
	const most = 1000
	for n := range most {
		name := path + ".broken"
		if n > 0 {
			name = fmt.Sprintf("%s%d", name, n)
		}
		switch _, err := fsys.Lstat(name); {
		case err == nil:
			continue
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
		const readable = 0o644
		return name, durable.WriteTo(fsys, name, readable, func(w io.Writer) error {
			_, err := io.Copy(w, io.NewSectionReader(f, 0, 1<<62))
			return err
		})
	}
	return "", fmt.Errorf("%d copies %s.broken* are in the way; remove some", most, path)
}
