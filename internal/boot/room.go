package boot

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"

	"krund/internal/durable"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
)

// Reserve is how many bytes Room keeps free on the disk: enough for the record of an ordinary
// execution.
const Reserve = 128 << 10

// Room prevents a benchmark that fills the disk from ending the experiment. Its Make, passed to
// durable.WithRoom, removes the benchmark's files, and, if that was not enough, the reserve: a file
// in the experiment's directory whose only purpose is to occupy space.
type Room struct {
	FS      durable.FS
	Dir     string // of the experiment
	Reserve int    // bytes
	// Clear ends the benchmark's processes, removes its files, and returns how many.
	Clear func() (removed int, err error)
	Log   *slog.Logger

	making bool // keep is writing the reserve
}

func (r *Room) file() string { return filepath.Join(r.Dir, "reserve") }

// Make frees space and reports whether it did.
func (r *Room) Make() bool {
	removed, err := r.Clear()
	if removed > 0 || err != nil { // logged after the removal: the log is on the same disk
		r.Log.Warn("no space was left on the disk of the results; removed the benchmark's files",
			"files", removed, "error", err)
	}
	if removed > 0 || r.making {
		return removed > 0
	}
	if err := r.FS.Remove(r.file()); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.Log.Error("the reserve could not be released", "error", err)
		}
		return false
	}
	r.Log.Warn("no space was left on the disk of the results; released the reserve", "bytes", r.Reserve)
	return true
}

// keep creates the reserve if it does not exist. fsys may free space for it.
func (r *Room) keep(fsys durable.FS) error {
	info, err := fsys.Lstat(r.file())
	if err == nil && info.Size() == int64(r.Reserve) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.making = true
	defer func() { r.making = false }()
	filler := make([]byte, r.Reserve)
	_, _ = rand.NewChaCha8([32]byte{}).Read(filler) // zeros may occupy no space; Read never fails
	f, err := fsys.OpenFile(r.file(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err == nil {
		_, err = f.Write(filler) // after a crash an incomplete one has another size
		if err == nil {
			err = f.Sync()
		}
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = fsys.SyncDir(r.Dir)
	}
	if err != nil {
		return fmt.Errorf("keep %d bytes free for the results: %w; free space on that disk", r.Reserve, err)
	}
	return nil
}

// drop removes the reserve.
func (r *Room) drop() error {
	if err := r.FS.Remove(r.file()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// append makes a record durable and returns the outcome that is stored, "" for none. If there is
// not enough space for the record, a small record counts the attempt instead. The error is returned
// all the same, because the next record would not fit either.
func (x *experiment) append(slot schedule.Slot, record results.Record) (results.Outcome, error) {
	err := x.results.Append(record)
	if durable.IsFull(err) { // a failed sync is not repeated by WithRoom
		err = x.results.Append(record)
	}
	if err == nil {
		return record.Outcome, nil
	}
	if !durable.IsFull(err) {
		return "", err
	}
	small := x.emptyRecord(slot)
	small.Started, small.BootID = record.Started, record.BootID
	small.Process.Findings = record.Process.Findings
	small.Outcome = results.Rerun
	small.Reasons = []string{fmt.Sprintf("the record of this attempt could not be stored: %v", err)}
	if slot.Attempts >= x.lastAttempt(slot) {
		small.Outcome = results.Error
		small.Reasons = append(small.Reasons, usedUp(x.cfg.Experiment.Attempts))
	}
	if x.results.Append(small) != nil { // for the same reason
		return "", err
	}
	return small.Outcome, err
}
