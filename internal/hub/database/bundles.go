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
	return exec(ctx, tx, "store the bundle "+hash, `INSERT INTO bundles (hash, owner, manifest, created)
		VALUES ($1, $2, $3, $4) ON CONFLICT (hash, owner)
		DO UPDATE SET created = excluded.created`, hash, owner, manifest, db.now())
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
