package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

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
				err = exec(ctx, tx, "note garbage", `INSERT INTO garbage (name, since) VALUES ($1, $2)`, name,
					db.now())
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
		do(db.cast(`INSERT INTO garbage (name, since) SELECT DISTINCT blob, $2::BIGINT FROM records r
			WHERE experiment = $1
			AND NOT EXISTS (SELECT 1 FROM records o WHERE o.blob = r.blob AND o.experiment <> $1)
			AND NOT EXISTS (SELECT 1 FROM bundles b WHERE b.hash = r.blob)
			ON CONFLICT (name) DO UPDATE SET since = excluded.since`), id, db.now()),
		do(`INSERT INTO garbage (name, since) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET since = excluded.since`, tables(x), db.now()),
		do(`DELETE FROM records WHERE experiment = $1`, id),
		do(deleteUnreferenced),
		do(`DELETE FROM files WHERE experiment = $1`, id),
		do(`DELETE FROM points WHERE experiment = $1`, id),
		do(`DELETE FROM reduced WHERE experiment = $1`, id),
		do(`DELETE FROM alerts WHERE experiment = $1`, id),
		do(db.cast(`INSERT INTO deleted (experiment, machine, at) SELECT experiment, machine, $2::BIGINT
			FROM shares WHERE experiment = $1 ON CONFLICT (experiment, machine) DO NOTHING`), id, db.now()),
		do(`DELETE FROM shares WHERE experiment = $1`, id),
		do(`DELETE FROM experiments WHERE id = $1`, id))
	if err == nil {
		err = db.Touch(ctx, tx, x.Series())
	}
	return x, records, err
}

// deleteUnreferenced removes the rows of blobs that are garbage. References are keys of other
// tables, so that one that another transaction has just added makes it fail.
const deleteUnreferenced = `DELETE FROM blobs WHERE hash IN (SELECT name FROM garbage)
	AND NOT EXISTS (SELECT 1 FROM records WHERE blob = hash)
	AND NOT EXISTS (SELECT 1 FROM bundles b WHERE b.hash = blobs.hash)
	AND NOT EXISTS (SELECT 1 FROM artifacts a WHERE a.hash = blobs.hash)`

// cast removes the types of parameters, which only PostgreSQL needs and knows.
func (db *DB) cast(text string) string {
	if db.Dialect == SQLite {
		return strings.ReplaceAll(text, "::BIGINT", "")
	}
	return text
}

// DeleteBundles removes the bundles that were sent before a time and that no experiment has.
func (db *DB) DeleteBundles(ctx context.Context, before time.Time) error {
	const unused = `created < $1 AND NOT EXISTS (SELECT 1 FROM experiments x WHERE x.bundle = bundles.hash)`
	return db.Update(ctx, func(tx *sql.Tx) error {
		_, err := run(ctx, tx, "remove bundles",
			do(db.cast(`INSERT INTO garbage (name, since) SELECT hash, $2::BIGINT FROM bundles WHERE `+unused+`
				ON CONFLICT (name) DO UPDATE SET since = excluded.since`), before, db.now()),
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
