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

// Source provides the content of a rebuilt schedule.
type Source struct {
	// Header replaces the header if both copies are damaged. It is as for Create, with Reboots and
	// Mails at their maximum possible number. Otherwise only its ConfigHash is used, to reject a
	// schedule of another configuration.
	Header Header
	// Plan yields the slots as planned, as the function Plan does from the configuration. It is
	// ranged over several times.
	Plan iter.Seq[Slot]
	// State returns Flag and Attempts of a planned slot according to the results: Outstanding and 0
	// if there is no record. It is called once for each slot that cannot be read, in order.
	State func(planned Slot) (Slot, error)
}

// RepairReport is the result of Repair.
type RepairReport struct {
	Headers []error // why copies of the header could not be used; nil when both could
	Slots   []int   // slots that were rebuilt
	Size    error   // a *SizeError if the file had the wrong size, nil otherwise
	Missing bool    // there was no file; everything was rebuilt
	Backup  string  // where the file was copied to before; "" when there was nothing to copy
}

// Clean reports whether nothing was damaged and nothing was changed.
func (r RepairReport) Clean() bool {
	return len(r.Headers) == 0 && len(r.Slots) == 0 && r.Size == nil && !r.Missing
}

// Repair repairs the schedule at path. What can be read stays as it is, including the count of
// attempts. Slots that cannot be read come from src, and so does the header if both copies cannot
// be read. First the file is copied to path.broken (or path.broken1, ...), then the new one is
// written to a temporary file and renamed, each durably: after a crash the old file or the new one
// exists. An intact schedule is not touched. A missing one is created again.
//
// The experiment must be locked. Errors: ErrVersion; a plan that differs from that of the schedule;
// those of src.State and the file system.
func Repair(fsys durable.FS, path string, src Source) (RepairReport, error) {
	report, err := repair(fsys, path, src)
	if err != nil {
		return report, fmt.Errorf("repair %s: %w", path, err)
	}
	return report, nil
}

func repair(fsys durable.FS, path string, src Source) (RepairReport, error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return remake(fsys, path, src)
	}
	if err != nil {
		return RepairReport{}, err
	}
	report, err := repairFrom(fsys, path, f, src)
	return report, errors.Join(err, f.Close())
}

// remake writes the file as if every slot of it were damaged.
func remake(fsys durable.FS, path string, src Source) (RepairReport, error) {
	report := RepairReport{Missing: true}
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

func repairFrom(fsys durable.FS, path string, f durable.File, src Source) (RepairReport, error) {
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
func writeRepaired(fsys durable.FS, path string, h Header, slots iter.Seq2[salvaged, error],
	src Source) error {
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
