package schedule

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"time"

	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
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

// Facts are data from all records, for rebuilding a header if both copies are lost. The zero Facts
// are those of an experiment without records.
type Facts struct {
	First    time.Time             // start of the first attempt; zero if unknown
	Attempts int                   // number of attempts in all slots
	Base     []results.Temperature // base temperatures of the newest record that has them; nil if none has
}

// NewHeader returns the header of a rebuilt schedule of cfg. Reboots and mails are set to their
// maximum possible number, so that no limit is exceeded. now is used as the creation time if facts
// do not have it.
func NewHeader(cfg *config.Config, facts Facts, now time.Time) Header {
	e := cfg.Experiment
	h := Header{
		ConfigHash: cfg.Hash, Order: e.Order, Seed: e.Seed, Mails: cfg.Notify.MaxMails,
		Sensors: max(len(facts.Base), SpareSensors),
	}
	began := now
	if !facts.First.IsZero() {
		began = facts.First
	}
	h.Created = began.UTC().Format(time.RFC3339)
	if e.Reboot != config.RebootNone {
		h.Reboots = facts.Attempts
	}
	h.BaseTemperatures = append(h.BaseTemperatures, facts.Base...)
	return h
}

// NewSource returns what the schedule of an experiment is rebuilt from. header is used only if both
// copies are lost; history returns the records of a slot.
func NewSource(stages []Stage, header Header, history func(slot int) (History, error)) Source {
	return Source{
		Header: header,
		Plan:   PlanOf(stages),
		State: func(planned Slot) (Slot, error) {
			h, err := history(planned.Index)
			if err != nil {
				return planned, err
			}
			return h.State(planned), nil
		},
	}
}

// Brief is the part of a record that has to be remembered.
type Brief struct {
	Name    results.Name
	Key     string
	Pexec   int
	Outcome results.Outcome
}

// BriefOf returns the brief of a record.
func BriefOf(r results.Record) Brief {
	return Brief{Name: results.Name{Slot: r.Slot, Attempt: r.Attempt}, Key: r.Key.String(), Pexec: r.Pexec,
		Outcome: r.Outcome}
}

// History is what the records contain about one slot.
type History struct {
	Records []Brief // readable records, by attempt
	Highest int     // highest attempt of any record, readable or not, or replaced by a rerun
}

// Final returns the record that ends the slot: the completed one, or else the last that is not a
// rerun. ok is false if there is none.
func (h History) Final() (b Brief, ok bool) {
	for _, r := range h.Records {
		if r.Outcome == results.Completed {
			return r, true
		}
		if r.Outcome != results.Rerun {
			b, ok = r, true
		}
	}
	return b, ok
}

// Of returns h without records that do not belong to this slot's process execution.
func (h History) Of(slot Slot) History {
	own := History{Highest: h.Highest}
	for _, r := range h.Records {
		if r.Key == slot.Key.String() && r.Pexec == slot.Pexec {
			own.Records = append(own.Records, r)
		}
	}
	return own
}

// State sets the flag and the attempts of a planned slot according to its records. The slot is
// Outstanding if none of them is final.
func (h History) State(planned Slot) Slot {
	planned.Flag, planned.Attempts = Outstanding, h.Highest
	if final, ok := h.Of(planned).Final(); ok {
		planned.Flag = FlagOf(final.Outcome)
	}
	return planned
}

// ReadHistory reads the history of one slot, of the attempts 1 to most. It opens files by name
// without listing the directory, so that its cost does not depend on the number of records. A
// record that cannot be read is an error, because it is then unknown whether the slot is finished.
func ReadHistory(records *results.Reader, slot, most int) (History, error) {
	var h History
	for attempt := 1; attempt <= most; attempt++ {
		rec, err := records.Load(results.Name{Slot: slot, Attempt: attempt})
		if errors.Is(err, fs.ErrNotExist) {
			if records.Replaced(results.Name{Slot: slot, Attempt: attempt}) {
				h.Highest = attempt
			}
			continue
		}
		if err != nil {
			return History{}, err
		}
		h.Records = append(h.Records, BriefOf(rec))
		h.Highest = attempt
	}
	return h, nil
}
