package results

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"krund/internal/durable"
	"krund/internal/key"
)

// ErrExists is returned by Append when the attempt already has another record.
var ErrExists = errors.New("another record of this slot and attempt exists; records are never changed")

// Appender adds records to a directory. It keeps nothing in memory and never
// lists the directory: the ten-thousandth record costs what the first did.
type Appender struct {
	fsys durable.FS
	dir  string
}

// NewAppender returns an Appender for the directory dir, which must exist.
func NewAppender(fsys durable.FS, dir string) *Appender {
	return &Appender{fsys: fsys, dir: dir}
}

// Append makes r durable: when it returns nil, r survives a power cut. If the power fails before,
// the record exists completely or not at all. Appending the same record again changes nothing; a
// different one for the same slot and attempt is refused with ErrExists.
//
// It checks only what identifies the file: slot, attempt, key and outcome. It refuses no
// measurement for looking odd; Record.Check is for the reader. Texts are bounded as by Bounded. The
// error wraps ErrTooLarge for a record that is larger than a reader accepts.
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
	if r.seriesBytes() > mostSeries { // before it is in memory a second time
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
	const readable = 0o644 // so that krunctl can read it without privileges
	return durable.WriteFile(a.fsys, path, packed, readable)
}

// confirm compares the JSON, not the compressed bytes: another version of the compressor must not
// make the same record a different one. It syncs the directory, because an earlier Append may have
// failed at that step.
func (a *Appender) confirm(path string, r Record) error {
	var text bytes.Buffer
	if err := encodeJSON(&text, r); err != nil {
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

// checkIdentity reports whether r can be stored and found again.
func (r Record) checkIdentity() error {
	if n, ok := ParseName((Name{Slot: r.Slot, Attempt: r.Attempt}).String()); !ok || n.Slot != r.Slot {
		return fmt.Errorf("slot %d, attempt %d: a slot counts from 0, an attempt from 1", r.Slot, r.Attempt)
	}
	if _, err := key.Parse(r.Key.String()); err != nil {
		return err
	}
	if !r.Outcome.Known() {
		return fmt.Errorf("outcome %.40q is none of completed, error, timeout, rerun", r.Outcome)
	}
	return nil
}
