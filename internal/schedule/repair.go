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
// attempts. Slots that cannot be read come from src, and so does everything if neither copy of the
// header can be read. First the file is copied to path.broken (or path.broken1, ...), then the new
// one is written to a temporary file and renamed, each durably: after a crash the old file or the
// new one exists. An intact schedule is not touched. A missing one is created again.
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
		f, err = nil, nil
	}
	if err != nil {
		return RepairReport{}, err
	}
	r := &repairing{src: src, file: f, report: RepairReport{Missing: f == nil}}
	err = r.run(fsys, path)
	if f != nil {
		err = errors.Join(err, f.Close())
	}
	return r.report, err
}

// repairing is one repair.
type repairing struct {
	src      Source
	file     durable.File // nil if there is none
	report   RepairReport
	header   Header
	readable bool // the header is that of the file, so that its slots can be found
	decoder  slotDecoder
}

func (r *repairing) run(fsys durable.FS, path string) error {
	if err := r.findHeader(); err != nil {
		return err
	}
	for slot, err := range r.slots() {
		var damaged *DamagedSlot
		switch {
		case errors.As(err, &damaged):
			r.report.Slots = append(r.report.Slots, slot.Index)
		case err != nil:
			return err
		}
	}
	if r.report.Clean() {
		return nil
	}
	if r.file != nil {
		var err error
		if r.report.Backup, err = backUp(fsys, path, r.file); err != nil {
			return err
		}
	}
	return r.write(fsys, path)
}

// findHeader reads the header. If both copies are lost, so is where the slots are, and everything
// is rebuilt.
func (r *repairing) findHeader() error {
	slots := count(r.src.Plan)
	err := ErrHeaders
	if r.file != nil {
		var found headers
		if found, err = readHeaders(r.file); err != nil {
			return err
		}
		for _, damage := range found.damage {
			if damage != nil {
				r.report.Headers = append(r.report.Headers, damage)
			}
		}
		var best copyID
		best, err = found.best()
		r.header = found.header[best]
	}
	switch {
	case errors.Is(err, ErrHeaders):
		r.header, err = shape(r.src.Header, slots, r.src.Plan)
		return err
	case err != nil:
		return err
	case r.header.ConfigHash != r.src.Header.ConfigHash:
		return fmt.Errorf("it was created from another configuration (hash %s, not %s); use the "+
			"experiment's own config.toml", r.header.ConfigHash, r.src.Header.ConfigHash)
	case slots != r.header.Slots:
		return fmt.Errorf("it has %d slots, but the configuration plans %d", r.header.Slots, slots)
	}
	r.readable = true
	info, err := r.file.Stat()
	if err == nil && info.Size() != r.header.fileBytes() {
		r.report.Size = &SizeError{Have: info.Size(), Want: r.header.fileBytes()}
	}
	return err
}

func count(slots iter.Seq[Slot]) int {
	n := 0
	for range slots {
		n++
	}
	return n
}

// slots yields every slot as stored in the file, or as planned with a *DamagedSlot. Another error
// is the last.
func (r *repairing) slots() iter.Seq2[Slot, error] {
	return func(yield func(Slot, error) bool) {
		line := make([]byte, r.header.Width)
		for planned := range r.src.Plan {
			slot, err := planned, error(&DamagedSlot{Index: planned.Index})
			if r.readable {
				n, readErr := readAt(r.file, line, r.header.slotAt(planned.Index))
				if readErr != nil {
					err = readErr
				} else if n == len(line) {
					slot, err = r.decoder.decode(line, planned.Index)
				}
			}
			if err != nil {
				slot = planned
			} else if slot.Key != planned.Key || slot.Pexec != planned.Pexec {
				err = fmt.Errorf("slot %d is %s number %d, but the configuration plans %s number %d",
					slot.Index, slot.Key, slot.Pexec, planned.Key, planned.Pexec)
			}
			if !yield(slot, err) {
				return
			}
		}
	}
}

// write writes the new file, in which the damaged slots are rebuilt.
func (r *repairing) write(fsys durable.FS, path string) error {
	h := r.header
	h.Next = 0
	h.Generation++
	var failed error
	err := write(fsys, path, h, func(yield func(Slot) bool) {
		for slot, err := range r.slots() {
			if _, damaged := errors.AsType[*DamagedSlot](err); damaged {
				var state Slot
				if state, err = r.src.State(slot); err != nil {
					err = fmt.Errorf("slot %d: %w", slot.Index, err)
				}
				slot.Flag, slot.Attempts = state.Flag, state.Attempts
			}
			if err != nil {
				failed = err
				return
			}
			if !yield(slot) {
				return
			}
		}
	})
	return cmp.Or(failed, err)
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
