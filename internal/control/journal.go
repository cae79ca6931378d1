package control

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"krund/internal/durable"
)

// A Journal records every change to the machine until it is restored, across crashes of krund and
// of the machine. A change begins only when its entry is on disk. journal_format.go describes the
// file format.
//
// A Journal has one user at a time: a process that opens it for writing must hold the lock of the
// experiment directory. Its methods must not be called concurrently.
type Journal struct {
	fsys durable.FS
	path string
	boot string
	now  func() time.Time

	file    durable.File
	size    int64 // offset of the next line
	safe    int64 // bytes that are known to be on disk
	entries []Entry
	damage  []string
	broken  error // once set, no change may begin
	before  func() error

	spare     string       // path of the copy; "" for none
	lost      bool         // lines were unreadable; an earlier copy may have them
	spareFile durable.File // nil until the first change
	spareSize int64
}

// Spare keeps a copy of the journal at path, on another file system: if the journal's file system
// fails, the copy can be opened as a journal and still holds what to restore. It is created before
// the first change, only its owner can read it, and it is removed when no changed setting is left.
// Its file system must not survive a reboot, just as the settings do not. If the copy cannot be
// written, krund continues without it.
func (j *Journal) Spare(path string) {
	j.spare = path
	j.lost = j.lost && path != j.path
}

// copy appends text to the spare copy. An incomplete copy would restore wrong values, so it is
// removed.
func (j *Journal) copy(text []byte) {
	if j.spareFile == nil {
		return
	}
	if _, err := j.spareFile.WriteAt(text, j.spareSize); err != nil {
		j.removeCopy()
		return
	}
	j.spareSize += int64(len(text))
}

// beginCopy creates the spare copy with everything that the journal holds.
func (j *Journal) beginCopy() {
	if j.spare == "" || j.spareFile != nil {
		return
	}
	text, err := encodeJournal(j.entries)
	if err == nil {
		const forOwner = 0o600
		err = durable.WriteFile(j.fsys, j.spare, text, forOwner)
	}
	if err == nil {
		j.spareFile, err = j.fsys.OpenFile(j.spare, os.O_WRONLY, 0)
	}
	if err != nil {
		j.removeCopy()
	}
	j.spareSize = int64(len(text))
	j.lost = false // it is a copy of this journal now
}

// removeCopy removes the spare copy, which is no longer needed.
func (j *Journal) removeCopy() {
	if j.spareFile != nil {
		_ = j.spareFile.Close() // it is removed
		j.spareFile = nil
	}
	_ = j.fsys.Remove(j.spare) // a copy left behind holds nothing that the journal does not
}

// OpenJournal opens the journal at path for changes made in this boot, and creates it if there is
// none. It drops restored changes from the file and cuts off lines torn by a crash. Damaged lines
// are skipped and reported by Damage; a copy of the damaged file is kept beside it under the name
// path.damaged.
func OpenJournal(fsys durable.FS, path, boot string, now func() time.Time) (*Journal, error) {
	old, err := durable.ReadFile(fsys, path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	missing := err != nil
	text, err := parseJournal(old)
	if err != nil {
		return nil, fmt.Errorf("open journal %s: %w", path, err)
	}
	j := &Journal{fsys: fsys, path: path, boot: boot, now: now, damage: text.damage}
	j.lost = text.torn || len(text.damage) > 0
	j.entries = unrestored(text.entries)
	if len(text.damage) > 0 {
		if err := durable.WriteFile(fsys, path+".damaged", old, 0o644); err != nil {
			return nil, fmt.Errorf("open journal: keep a copy of the damaged file: %w", err)
		}
	}
	rewrite := missing || text.torn || len(text.damage) > 0 || len(j.entries) < len(text.entries)
	return j, j.open(int64(len(old)), rewrite)
}

// open opens the file for appending, after rewriting it if asked to.
func (j *Journal) open(size int64, rewrite bool) error {
	if rewrite || size == 0 {
		data, err := encodeJournal(j.entries)
		if err != nil {
			return fmt.Errorf("open journal: %w", err)
		}
		if err := durable.WriteFile(j.fsys, j.path, data, 0o644); err != nil {
			return fmt.Errorf("open journal: %w", err)
		}
		size = int64(len(data))
		j.safe = size
	}
	file, err := j.fsys.OpenFile(j.path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open journal: %w", err)
	}
	j.file, j.size = file, size
	return nil
}

// ReadJournal returns the changes that are not restored, without touching the file; none if there
// is no journal.
func ReadJournal(fsys durable.FS, path string) (pending []Entry, err error) {
	text, err := readJournal(fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read journal %s: %w", path, err)
	}
	return unrestored(text.entries), nil
}

func readJournal(fsys durable.FS, path string) (journalText, error) {
	data, err := durable.ReadFile(fsys, path)
	if err != nil {
		return journalText{}, err
	}
	return parseJournal(data)
}

// unrestored returns the changes that are not restored, in their order.
func unrestored(entries []Entry) (pending []Entry) {
	for _, e := range entries {
		if !e.Undone {
			pending = append(pending, e)
		}
	}
	return pending
}

// JournalDamage describes the lines of the journal at path that were once on disk and are now
// unreadable: changes that may never be restored. It touches nothing; without a journal there is no
// damage. The error is ErrJournalVersion or a failure to read the file.
func JournalDamage(fsys durable.FS, path string) ([]string, error) {
	text, err := readJournal(fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text.damage, err
}

// Lost reports whether changes may be missing from the journal at path: it is missing, damaged, or
// unreadable. Then its copy (Spare) may hold more.
func Lost(fsys durable.FS, path string) bool {
	text, err := readJournal(fsys, path)
	return err != nil || text.torn || len(text.damage) > 0
}

// Pending returns the changes that are not restored, oldest first.
func (j *Journal) Pending() []Entry { return unrestored(j.entries) }

// Damage describes the lines that were unreadable when the journal was opened: changes that may
// never be restored.
func (j *Journal) Damage() []string { return j.damage }

// Close closes the file. Changes that are not restored stay in it.
func (j *Journal) Close() error {
	if j.spareFile != nil {
		_ = j.spareFile.Close() // every write to it was checked
	}
	return j.file.Close()
}

// Before registers f to be called once, before the first change is recorded, for a caller that must
// know in advance that the machine is going to be changed. If f fails, the change does not begin,
// and f is called again before the next one.
func (j *Journal) Before(f func() error) { j.before = f }

// begin records that steps may be carried out now, and returns when that record is on disk. After
// an error none of them may be.
func (j *Journal) begin(control string, steps []Step) ([]Entry, error) {
	if j.broken != nil {
		return nil, fmt.Errorf("write journal: an earlier write failed: %w", j.broken)
	}
	if before := j.before; before != nil {
		if err := before(); err != nil {
			return nil, err
		}
		j.before = nil
	}
	next := 1
	if len(j.entries) > 0 {
		next = j.entries[len(j.entries)-1].N + 1
	}
	var entries []Entry
	var lines []journalLine
	for i, s := range steps {
		e := Entry{N: next + i, Time: j.now().UTC().Format(time.RFC3339), Boot: j.boot, Control: control,
			Step: s}
		entries = append(entries, e)
		lines = append(lines, setLine(e))
	}
	j.beginCopy()
	if err := j.write(lines, true); err != nil {
		return nil, err
	}
	j.entries = append(j.entries, entries...)
	return entries, nil
}

// got records the values read back after changes. They are informative only, so they are not
// synced.
func (j *Journal) got(entries []Entry) error {
	var lines []journalLine
	for _, e := range entries {
		if e.Got != "" {
			lines = append(lines, journalLine{Op: "got", N: e.N, Got: e.Got})
		}
	}
	return j.write(lines, false)
}

// undone records that changes are restored or void, with the outcome of each.
func (j *Journal) undone(report RestoreReport) error {
	var lines []journalLine
	for _, r := range report {
		if r.Outcome == Failed {
			continue
		}
		lines = append(lines, journalLine{Op: "undone", N: r.Entry.N, Note: string(r.Outcome)})
		for i := range j.entries {
			if j.entries[i].N == r.Entry.N {
				j.entries[i].Undone = true
			}
		}
	}
	err := j.write(lines, true)
	stands := func(e Entry) bool { return !e.Undone && !isAccount(e) }
	if j.spare != "" && !j.lost && !slices.ContainsFunc(j.entries, stands) {
		j.removeCopy()
	}
	return err
}

// write appends lines to the file. After an error the content of the disk is unknown; the file's
// valid length in memory does not change, so that a later line overwrites the remains.
func (j *Journal) write(lines []journalLine, sync bool) error {
	if len(lines) == 0 {
		return nil
	}
	for i := range lines {
		lines[i].Safe = j.safe
	}
	data, err := encodeLines(lines)
	if err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	j.copy(data)
	_, err = j.file.WriteAt(data, j.size)
	if err == nil && sync {
		err = j.file.Sync()
	}
	if err != nil {
		j.broken = err
		return fmt.Errorf("write journal: %w", err)
	}
	j.size += int64(len(data))
	if sync {
		j.safe = j.size
	}
	return nil
}
