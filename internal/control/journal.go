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

// A Journal remembers every change to the machine until it is taken back, across crashes of krund
// and of the machine. A change begins only when its entry is on the disk. Its bytes are described
// in journal_format.go.
//
// A Journal has one user at a time: whoever opens it for writing must hold the lock of the
// experiment's directory. Its methods must not be called at the same time.
type Journal struct {
	fsys durable.FS
	path string
	boot string
	now  func() time.Time

	file    durable.File
	size    int64 // where the next line goes
	safe    int64 // how much of that is known to be on the disk
	entries []Entry
	damage  []string
	broken  error // once set, no change may begin any more
	before  func() error

	spare     string       // path of the copy; "" for none
	lost      bool         // lines could not be read, which an earlier copy may have
	spareFile durable.File // nil until the first change
	spareSize int64
}

// Spare keeps a copy of the journal at path, on another file system: when that of the journal
// fails, the copy, opened as a journal, still knows what to restore. It is made before the first
// change, only its owner can read it, and it is removed when no setting is left changed. The file
// system must forget it at the end of the boot, as the kernel forgets the settings. Without a copy,
// when it cannot be written, krund goes on.
func (j *Journal) Spare(path string) {
	j.spare = path
	j.lost = j.lost && path != j.path
}

// copy adds text to the spare copy. A copy that is not complete would restore the wrong values, so
// it is removed.
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

// beginCopy makes the spare copy with all that the journal knows.
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
	_ = j.fsys.Remove(j.spare) // what is left is what the journal still holds, too
}

// OpenJournal opens the journal at path for changes made in this boot, and creates it when there is
// none. Entries that are undone are dropped from the file; what a crash has torn is cut off.
// Damaged lines are left out and reported by Damage; a copy of the damaged file is kept beside it
// under the name path.damaged.
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
	for _, e := range text.entries {
		if !e.Undone {
			j.entries = append(j.entries, e)
		}
	}
	if len(text.damage) > 0 {
		if err := durable.WriteFile(fsys, path+".damaged", old, 0o644); err != nil {
			return nil, fmt.Errorf("open journal: keep the damaged one: %w", err)
		}
	}
	rewrite := missing || text.torn || len(text.damage) > 0 || len(j.entries) < len(text.entries)
	return j, j.open(int64(len(old)), rewrite)
}

// open opens the file for adding lines, after writing it anew when asked to.
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

// ReadJournal returns the changes that are not taken back, without touching the file; none when
// there is no journal.
func ReadJournal(fsys durable.FS, path string) (pending []Entry, err error) {
	data, err := durable.ReadFile(fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	text, err := parseJournal(data)
	if err != nil {
		return nil, fmt.Errorf("read journal %s: %w", path, err)
	}
	for _, e := range text.entries {
		if !e.Undone {
			pending = append(pending, e)
		}
	}
	return pending, nil
}

// JournalDamage names the lines of the journal at path that were once on the disk and cannot be
// read any more: changes that may never be taken back. It touches nothing; without a journal there
// is no damage. The error is ErrJournalVersion, or that the file cannot be read.
func JournalDamage(fsys durable.FS, path string) ([]string, error) {
	data, err := durable.ReadFile(fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := parseJournal(data)
	return text.damage, err
}

// Lost reports whether changes may be missing from the journal at path: it is not there, damaged,
// or cannot be read. Then its copy (Spare) knows more.
func Lost(fsys durable.FS, path string) bool {
	data, err := durable.ReadFile(fsys, path)
	if err != nil {
		return true
	}
	text, err := parseJournal(data)
	return err != nil || text.torn || len(text.damage) > 0
}

// Pending returns the changes that are not taken back, oldest first.
func (j *Journal) Pending() []Entry {
	var pending []Entry
	for _, e := range j.entries {
		if !e.Undone {
			pending = append(pending, e)
		}
	}
	return pending
}

// Damage names the lines that were unreadable when the journal was opened: changes that may never
// be taken back.
func (j *Journal) Damage() []string { return j.damage }

// Close closes the file. Entries that are not undone stay in it.
func (j *Journal) Close() error {
	if j.spareFile != nil {
		_ = j.spareFile.Close() // every write to it has been looked at
	}
	return j.file.Close()
}

// Before has f called once, before the first change is written down: by whoever must know in time
// that the machine is going to be changed. After an error of f's no change may begin.
func (j *Journal) Before(f func() error) { j.before = f }

// begin writes down that steps may be carried out now, and returns when that is on the disk. After
// an error none may be.
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

// got writes down what read back after changes. It is a help for people, so it is not synced.
func (j *Journal) got(entries []Entry) error {
	var lines []journalLine
	for _, e := range entries {
		if e.Got != "" {
			lines = append(lines, journalLine{Op: "got", N: e.N, Got: e.Got})
		}
	}
	return j.write(lines, false)
}

// undone writes down that changes are taken back or void, with a remark each.
func (j *Journal) undone(report Report) error {
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

// write adds lines to the file. After an error it is unknown what the disk holds; the file's valid
// length in memory stays as it was, so that a later line overwrites the remains.
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
