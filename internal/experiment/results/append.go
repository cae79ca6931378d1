package results

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"krund/internal/durable"
	"krund/internal/experiment/key"
)

// ErrExists is returned by Append if the attempt already has a different record.
var ErrExists = errors.New("another record of this slot and attempt exists; records are never changed")

// Appender adds records to a directory. It keeps nothing in memory and never lists the directory,
// so that the cost of a record does not depend on the number of records.
type Appender struct {
	fsys durable.FS
	dir  string
}

// NewAppender returns an Appender for the directory dir, which must exist.
func NewAppender(fsys durable.FS, dir string) *Appender {
	return &Appender{fsys: fsys, dir: dir}
}

// Append makes r durable: once it returns nil, r survives a power cut. If power fails before, the
// record exists completely or not at all. Appending the same record again changes nothing; a
// different one for the same slot and attempt is rejected with ErrExists.
//
// Append checks only what identifies the file: slot, attempt, key and outcome. It does not reject
// implausible measurements; Record.Check is for readers. Texts are bounded by Bounded. The error
// wraps ErrTooLarge if the record exceeds what a reader reads.
func (a *Appender) Append(r Record) error {
	name := Name{Slot: r.Slot, Attempt: r.Attempt}
	if err := a.append(r, name); err != nil {
		return fmt.Errorf("record %s: %w", name, err)
	}
	return nil
}

func (a *Appender) append(r Record, name Name) error {
	if err := r.checkIdentity(); err != nil {
		return err
	}
	if r.seriesBytes() > mostSeries { // before a second copy is in memory
		return ErrTooLarge
	}
	r = r.boundedTexts()
	path := filepath.Join(a.dir, name.String())
	switch _, err := a.fsys.Lstat(path); {
	case err == nil:
		return a.confirm(path, r)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	packed, err := Encode(r)
	if err != nil {
		return err
	}
	const readable = 0o644 // krunctl runs without privileges
	return durable.WriteFile(a.fsys, path, packed, readable)
}

// confirm compares the JSON, not the compressed bytes, because another version of the compressor
// must not make the same record a different one. It syncs the directory, because the earlier Append
// may have failed just there.
func (a *Appender) confirm(path string, r Record) error {
	var text bytes.Buffer
	if err := EncodeJSON(&text, r); err != nil {
		return err
	}
	packed, err := durable.ReadFile(a.fsys, path)
	if err != nil {
		return err
	}
	have, err := decompress(packed)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrExists, err)
	}
	if !bytes.Equal(have, text.Bytes()) {
		return ErrExists
	}
	return a.fsys.SyncDir(a.dir)
}

// checkIdentity returns an error unless r can be stored and found again.
func (r Record) checkIdentity() error {
	if n, ok := ParseName((Name{Slot: r.Slot, Attempt: r.Attempt}).String()); !ok || n.Slot != r.Slot {
		return fmt.Errorf("slot %d, attempt %d: a slot counts from 0, an attempt from 1", r.Slot, r.Attempt)
	}
	if _, err := key.Parse(r.Key.String()); err != nil {
		return err
	}
	if !r.Outcome.Known() {
		return fmt.Errorf("outcome %.40q is not completed, error, timeout or rerun", r.Outcome)
	}
	return nil
}

// Name identifies a record in its directory: its slot and attempt.
type Name struct {
	Slot    int // from 0
	Attempt int // from 1
}

// suffix is the end of every record's file name.
const suffix = ".json.gz"

// String returns the record's file name, such as "0000017-001.json.gz". Names of equal length sort
// by slot and attempt.
func (n Name) String() string {
	return fmt.Sprintf("%07d-%03d%s", n.Slot, n.Attempt, suffix)
}

// replaced is added to the names of records that a rerun of their slot has replaced (package
// rerun).
const replaced = ".replaced"

// Replaced returns the file name under which the record is kept when its slot runs again.
func (n Name) Replaced() string { return n.String() + replaced }

// ParseReplaced parses a file name of Replaced. ok is false for every other name.
func ParseReplaced(file string) (n Name, ok bool) {
	record, ok := strings.CutSuffix(file, replaced)
	if !ok {
		return Name{}, false
	}
	return ParseName(record)
}

// ParseName parses a file name. ok is false for every name that String does not return.
func ParseName(file string) (n Name, ok bool) {
	stem, ok := strings.CutSuffix(file, suffix)
	if !ok {
		return Name{}, false
	}
	slot, attempt, ok := strings.Cut(stem, "-")
	if !ok {
		return Name{}, false
	}
	n.Slot, ok = number(slot)
	if !ok {
		return Name{}, false
	}
	n.Attempt, ok = number(attempt)
	if !ok || n.Attempt < 1 || n.String() != file {
		return Name{}, false
	}
	return n, true
}

// number parses a number that consists of digits only.
func number(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err == nil
}

// compare orders names by slot, then attempt.
func compare(a, b Name) int {
	if a.Slot != b.Slot {
		return a.Slot - b.Slot
	}
	return a.Attempt - b.Attempt
}
