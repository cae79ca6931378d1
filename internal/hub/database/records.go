package database

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
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
	n, err := run(ctx, tx, what, insert("blobs", "hash, size, created", hash, size, db.now()))
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
	n, err := run(ctx, tx, "store the row of a record",
		insert("records", "experiment, machine, slot, attempt, blob, received",
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

// File is a file of a shipped directory that is not a record, as sent last.
type File struct {
	Experiment, Machine, Name string
	Hash                      string // of its contents
	Received                  time.Time
}

// Pack returns a writer that packs the contents of a file as PutFile stores them. Close completes
// them.
func Pack(to io.Writer) io.WriteCloser {
	w, _ := gzip.NewWriterLevel(to, gzip.BestSpeed) // a level that exists
	return w
}

// PutFile adds or replaces a file, whose contents Pack has packed: not in the transaction, for
// which others may wait.
func (db *DB) PutFile(ctx context.Context, tx *sql.Tx, f File, packed []byte) error {
	_, err := run(ctx, tx, "store file "+f.Name, put("files", "experiment, machine, name",
		"experiment, machine, name, hash, content, received", "hash, content, received",
		f.Experiment, f.Machine, f.Name, f.Hash, packed, db.now()))
	return err
}

// Files returns the files of a machine's directory by name.
func (db *DB) Files(ctx context.Context, experiment, machine string) ([]File, error) {
	return list[File](ctx, db.Read, `SELECT experiment, machine, name, hash, received FROM files
		WHERE experiment = $1 AND machine = $2 ORDER BY name`, experiment, machine)
}

// ErrLarge is the error for a file that is larger than the caller reads.
var ErrLarge = errors.New("the file is too large")

// FileContent returns the contents of a file, at most limit bytes: the error wraps ErrLarge if it
// has more, and ErrMissing if there is none.
func (db *DB) FileContent(ctx context.Context, experiment, machine, name string, limit int64) (
	[]byte, error) {
	packed, err := find[[]byte](ctx, db.Read, "file "+name, `SELECT content FROM files
		WHERE experiment = $1 AND machine = $2 AND name = $3`, experiment, machine, name)
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", name, err)
	}
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("file %s: %w", name, ErrLarge)
	}
	return text, err
}

// PutBundle notes a bundle that the store has.
func (db *DB) PutBundle(ctx context.Context, tx *sql.Tx, hash, owner, manifest string) error {
	_, err := run(ctx, tx, "store the bundle "+hash, put("bundles", "hash, owner",
		"hash, owner, manifest, created", "created", hash, owner, manifest, db.now()))
	return err
}

// UseBundle returns the manifest of a bundle that an experiment is to have, and keeps it from being
// removed before the transaction ends; the error wraps ErrMissing unless its owner has sent it.
func (db *DB) UseBundle(ctx context.Context, tx *sql.Tx, hash, owner string) (manifest string, err error) {
	return find[string](ctx, tx, "bundle "+hash, `UPDATE bundles SET created = $2
		WHERE hash = $1 AND owner = $3 RETURNING manifest`, hash, db.now(), owner)
}

// ErrQuota is in the errors for a user who sends too much.
var ErrQuota = errors.New("this is more than a user may send on a day (UTC); send the rest tomorrow")

// Reserve notes that a user sends a bundle of size bytes, unless the hub has it from this user. The
// error wraps ErrQuota if all of a day together are more than limit. What does not arrive counts,
// too.
func (db *DB) Reserve(ctx context.Context, owner, hash string, size, limit int64) error {
	const day = 24 * time.Hour
	return db.Update(ctx, func(tx *sql.Tx) error {
		known, err := first[int](ctx, tx, `SELECT COUNT(*) FROM bundles WHERE hash = $1 AND owner = $2`,
			hash, owner)
		if err != nil || known > 0 {
			return err
		}
		sent, err := first[int64](ctx, tx, `INSERT INTO sent (owner, day, bytes) VALUES ($1, $2, $3)
			ON CONFLICT (owner, day) DO UPDATE SET bytes = sent.bytes + excluded.bytes RETURNING bytes`,
			owner, stamp(db.now())/day.Microseconds(), size)
		if err == nil && sent > limit {
			err = fmt.Errorf("bundles of %d bytes in all: %w", sent, ErrQuota)
		}
		return err
	})
}

// ErrRuns is the error for an experiment that cannot be deleted because it waits or runs.
var ErrRuns = errors.New("the experiment has not ended; stop it first, and wait until its machines have")

// Garbage is what the store may have although nothing refers to it. What is put into the store is
// garbage until rows refer to it, and again when these are deleted. It is collected some time after
// it became garbage, so that what is being received is not: see [DB.Collect].

// Announce notes blobs that are put into the store after it returns.
func (db *DB) Announce(ctx context.Context, hashes []string) error {
	if len(hashes) == 0 {
		return nil
	}
	// In the order in which all requests lock rows.
	hashes = slices.Compact(slices.Sorted(slices.Values(hashes)))
	args, places := []any{stamp(db.now())}, make([]string, len(hashes))
	for i, hash := range hashes {
		args, places[i] = append(args, hash), fmt.Sprintf("($%d, $1)", i+2)
	}
	return db.Update(ctx, func(tx *sql.Tx) error {
		return exec(ctx, tx, "announce blobs", `INSERT INTO garbage (name, since)
			VALUES `+strings.Join(places, ", ")+` ON CONFLICT (name) DO UPDATE SET since = excluded.since`, args...)
	})
}

// Collect removes garbage from before a time from the store, at most limit names, and returns how
// many of them it is done with. remove removes a name: a hash, or a directory of tables. A name is
// forgotten after it was removed, so that a crash in between repeats that; one that cannot be
// removed becomes garbage anew. As long as it is locked, no request announces it. The error
// contains those of all names.
func (db *DB) Collect(ctx context.Context, before time.Time, limit int, remove func(name string) error) (
	n int, err error) {
	var failed []error
	err = db.Update(ctx, func(tx *sql.Tx) error {
		names, err := list[string](ctx, tx, `DELETE FROM garbage WHERE name IN
				(SELECT name FROM garbage WHERE since < $1 ORDER BY name LIMIT $2)
			AND since < $1 RETURNING name`, before, limit)
		for _, name := range names {
			used := 0
			if err == nil {
				used, err = first[int](ctx, tx, `SELECT COUNT(*) FROM blobs WHERE hash = $1`, name)
			}
			if err != nil || used > 0 {
				continue
			}
			if wrong := remove(name); wrong != nil {
				failed = append(failed, wrong)
				_, err = run(ctx, tx, "note garbage", insert("garbage", "name, since", name, db.now()))
			}
		}
		n = len(names) - len(failed)
		return err
	})
	if err != nil {
		n = 0
	}
	if err = errors.Join(append(failed, err)...); err != nil {
		err = fmt.Errorf("remove what nothing refers to: %w", err)
	}
	return n, err
}

// ErrDeleted is the error for a machine's part of an experiment that was deleted.
var ErrDeleted = errors.New("the experiment was deleted on the hub; the machine keeps its records")

// Deleted reports whether a machine had a part of an experiment that was deleted.
func (db *DB) Deleted(ctx context.Context, tx *sql.Tx, experiment, machine string) (bool, error) {
	n, err := first[int](ctx, tx, `SELECT COUNT(*) FROM deleted WHERE experiment = $1 AND machine = $2`,
		experiment, machine)
	return n > 0, err
}

// DeleteExperiment removes an experiment with all rows that belong to it, and returns it and how
// many records it had. Blobs that nothing else refers to become garbage, and so does tables, the
// directory of its tables. The error wraps ErrRuns if it has not ended.
func (db *DB) DeleteExperiment(ctx context.Context, tx *sql.Tx, id string, tables func(Experiment) string) (
	x Experiment, records int64, err error) {
	x, shares, err := db.Lock(ctx, tx, id)
	if err != nil {
		return x, 0, err
	}
	runs := slices.ContainsFunc(shares, func(s Share) bool { return s.State == Running })
	if x.State == Queued || x.State == Running || runs {
		return x, 0, fmt.Errorf("delete experiment %s: %w", id, ErrRuns)
	}
	if records, err = first[int64](ctx, tx, `SELECT COUNT(*) FROM records WHERE experiment = $1`, id); err != nil {
		return x, 0, err
	}
	_, err = run(ctx, tx, "delete experiment "+id,
		garbage(`DISTINCT blob, CAST($2 AS BIGINT) FROM records r WHERE experiment = $1
			AND NOT EXISTS (SELECT 1 FROM records o WHERE o.blob = r.blob AND o.experiment <> $1)
			AND NOT EXISTS (SELECT 1 FROM bundles b WHERE b.hash = r.blob)`, id, db.now()),
		put("garbage", "name", "name, since", "since", tables(x), db.now()),
		do(`DELETE FROM records WHERE experiment = $1`, id),
		do(deleteUnreferenced),
		do(`DELETE FROM files WHERE experiment = $1`, id),
		do(`DELETE FROM points WHERE experiment = $1`, id),
		do(`DELETE FROM reduced WHERE experiment = $1`, id),
		do(`DELETE FROM alerts WHERE experiment = $1`, id),
		do(`INSERT INTO deleted (experiment, machine, at) SELECT experiment, machine, CAST($2 AS BIGINT)
			FROM shares WHERE experiment = $1 ON CONFLICT (experiment, machine) DO NOTHING`, id, db.now()),
		do(`DELETE FROM shares WHERE experiment = $1`, id),
		do(`DELETE FROM experiments WHERE id = $1`, id))
	if err == nil {
		err = db.Touch(ctx, tx, x.Series())
	}
	return x, records, err
}

// garbage adds what a query finds to the garbage: names, and since when.
func garbage(query string, args ...any) statement {
	return do(`INSERT INTO garbage (name, since) SELECT `+query+`
		ON CONFLICT (name) DO UPDATE SET since = excluded.since`, args...)
}

// deleteUnreferenced removes the rows of blobs that are garbage. References are keys of other
// tables, so that one that another transaction has just added makes it fail.
const deleteUnreferenced = `DELETE FROM blobs WHERE hash IN (SELECT name FROM garbage)
	AND NOT EXISTS (SELECT 1 FROM records WHERE blob = hash)
	AND NOT EXISTS (SELECT 1 FROM bundles b WHERE b.hash = blobs.hash)
	AND NOT EXISTS (SELECT 1 FROM artifacts a WHERE a.hash = blobs.hash)`

// DeleteBundles removes the bundles that were sent before a time and that no experiment has.
func (db *DB) DeleteBundles(ctx context.Context, before time.Time) error {
	const unused = `created < $1 AND NOT EXISTS (SELECT 1 FROM experiments x WHERE x.bundle = bundles.hash)`
	return db.Update(ctx, func(tx *sql.Tx) error {
		_, err := run(ctx, tx, "remove bundles",
			garbage(`hash, CAST($2 AS BIGINT) FROM bundles WHERE `+unused, before, db.now()),
			do(`DELETE FROM bundles WHERE `+unused, before),
			do(deleteUnreferenced),
			do(`DELETE FROM sent WHERE day < $1`, stamp(before)/(24*time.Hour).Microseconds()))
		return err
	})
}

// EndedBefore returns the ids of at most limit experiments that have ended and did not change since
// a time, the oldest first.
func (db *DB) EndedBefore(ctx context.Context, before time.Time, limit int) ([]string, error) {
	return list[string](ctx, db.Read,
		`SELECT id FROM experiments x WHERE state IN ('done', 'stopped', 'failed') AND updated < $1
		AND NOT EXISTS (SELECT 1 FROM shares s WHERE s.experiment = x.id AND s.state = 'running')
		ORDER BY updated LIMIT $2`, before, limit)
}
