package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// PutBundle notes a bundle that the store has.
func (db *DB) PutBundle(ctx context.Context, tx *sql.Tx, hash, owner, manifest string) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO bundles (hash, owner, manifest, created)
		VALUES ($1, $2, $3, $4) ON CONFLICT (hash) DO UPDATE SET created = excluded.created`, hash, owner,
		manifest, stamp(db.now()))
	if err != nil {
		return fmt.Errorf("store the bundle %s: %w", hash, err)
	}
	return nil
}

// UseBundle returns the manifest of a bundle that an experiment is to have, and keeps it from being
// removed before the transaction ends; the error wraps ErrMissing if there is none.
func (db *DB) UseBundle(ctx context.Context, tx *sql.Tx, hash string) (manifest string, err error) {
	err = tx.QueryRowContext(ctx, `UPDATE bundles SET created = $2 WHERE hash = $1 RETURNING manifest`, hash,
		stamp(db.now())).Scan(&manifest)
	return manifest, missing(err, "bundle "+hash)
}

// ErrQuota is in the errors for a user who sends too much.
var ErrQuota = errors.New("this is more than a user may send on a day (UTC); send the rest tomorrow")

// Reserve notes that a user sends a bundle of size bytes, unless the hub has it. The error wraps
// ErrQuota if all of a day together are more than limit. What does not arrive counts, too.
func (db *DB) Reserve(ctx context.Context, owner, hash string, size, limit int64) error {
	const day = 24 * time.Hour
	return db.Update(ctx, func(tx *sql.Tx) error {
		var known, sent int64
		err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM bundles WHERE hash = $1`, hash).Scan(&known)
		if err != nil || known > 0 {
			return err
		}
		err = tx.QueryRowContext(ctx, `INSERT INTO sent (owner, day, bytes) VALUES ($1, $2, $3)
			ON CONFLICT (owner, day) DO UPDATE SET bytes = sent.bytes + excluded.bytes RETURNING bytes`,
			owner, stamp(db.now())/day.Microseconds(), size).Scan(&sent)
		if err == nil && sent > limit {
			err = fmt.Errorf("bundles of %d bytes in all: %w", sent, ErrQuota)
		}
		return err
	})
}
