package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Record is the row of a record that a machine has shipped.
type Record struct {
	Seq                 int64 // order of arrival
	Experiment, Machine string
	Slot, Attempt       int64
	Blob                string
	Received            time.Time
}

// ErrConflict is the error for a record whose contents differ from those received before.
var ErrConflict = errors.New("another record was received before for this slot and attempt; records never " +
	"change, so these are of two experiments, or one of them was edited")

// AddBlob notes that the store has a blob, to which a row of the same transaction refers. The
// caller has announced it and put it there durably. The error wraps ErrLate if that was so long ago
// that the blob may have been removed since: the hub was suspended, or its clock was set.
func (db *DB) AddBlob(ctx context.Context, tx *sql.Tx, hash string, size int64) error {
	what := "store the row of blob " + hash
	n, err := run(ctx, tx, what, do(`INSERT INTO blobs (hash, size, created) VALUES ($1, $2, $3)
		ON CONFLICT (hash) DO NOTHING`, hash, size, db.now()))
	if err != nil {
		return err
	}
	kept, err := run(ctx, tx, what, do(`DELETE FROM garbage WHERE name = $1`, hash))
	if err == nil && n > 0 && kept == 0 {
		err = fmt.Errorf("%s: %w", what, ErrLate)
	}
	return err
}

// ErrLate is the error for a blob that was not announced, or was removed since.
var ErrLate = errors.New("it was received too long ago, and may have been removed; it must be sent again")

// AddRecord adds a record, and reports whether it is new. The error wraps ErrConflict if there is
// another in its place.
func (db *DB) AddRecord(ctx context.Context, tx *sql.Tx, r Record) (bool, error) {
	n, err := run(ctx, tx, "store the row of a record", do(`INSERT INTO records
		(experiment, machine, slot, attempt, blob, received) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (experiment, machine, slot, attempt) DO NOTHING`,
		r.Experiment, r.Machine, r.Slot, r.Attempt, r.Blob, db.now()))
	if err != nil || n > 0 {
		return n > 0, err
	}
	blob, err := first[string](ctx, tx, `SELECT blob FROM records
		WHERE experiment = $1 AND machine = $2 AND slot = $3 AND attempt = $4`,
		r.Experiment, r.Machine, r.Slot, r.Attempt)
	if err == nil && blob != r.Blob {
		err = ErrConflict
	}
	if err != nil {
		return false, fmt.Errorf("slot %d, attempt %d: %w", r.Slot, r.Attempt, err)
	}
	return false, nil
}

// Records returns the records of an experiment that arrived after the row seq, at most limit, in
// the order of arrival; machine "" stands for all.
func (db *DB) Records(ctx context.Context, experiment, machine string, seq int64, limit int) (
	[]Record, error) {
	return list[Record](ctx, db.Read, `SELECT seq, experiment, machine, slot, attempt, blob, received FROM records
		WHERE experiment = $1 AND ($2 = '' OR machine = $2) AND seq > $3 ORDER BY seq LIMIT $4`,
		experiment, machine, seq, limit)
}

// MayFetch reports whether a machine has a share of an experiment with this bundle.
func (db *DB) MayFetch(ctx context.Context, bundle, machine string) (bool, error) {
	n, err := first[int](ctx, db.Read, `SELECT COUNT(*) FROM experiments x JOIN shares s
		ON s.experiment = x.id WHERE x.bundle = $1 AND s.machine = $2`, bundle, machine)
	return n > 0, err
}
