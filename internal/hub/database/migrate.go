package database

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed migrations/*.sql
var migrations embed.FS

// serial is the type of a column that numbers the rows in the order in which they are added.
var serial = map[Dialect]string{
	SQLite:   "INTEGER PRIMARY KEY AUTOINCREMENT",
	Postgres: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
}

// bytesType is the type of a column with bytes.
var bytesType = map[Dialect]string{SQLite: "BLOB", Postgres: "BYTEA"}

// Locks of PostgreSQL: any numbers that others do not use.
const (
	migrateLock = 7305808869231650420 + iota
	accessLock
	namesLock
)

// Alone runs do while no other process of the hub runs a function in this way: migrations. An
// embedded database has one process.
func (db *DB) Alone(ctx context.Context, do func() error) (err error) {
	if db.Dialect == SQLite {
		return do()
	}
	c, err := db.Write.Conn(ctx)
	if err != nil {
		return err
	}
	if _, err = c.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, int64(migrateLock)); err == nil {
		err = do()
		_, unlock := c.ExecContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`,
			int64(migrateLock))
		err = errors.Join(err, unlock)
	}
	return errors.Join(err, c.Close())
}

// exclude keeps the transactions that exclude others with the same lock waiting until tx ends. With
// SQLite, a transaction that writes is the only one.
func (db *DB) exclude(ctx context.Context, tx *sql.Tx, lock int64) error {
	if db.Dialect == SQLite {
		return nil
	}
	_, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, lock)
	return err
}

// migrate runs the files of migrations that this database has not seen, in the order of their
// names, in one transaction. A file that has been released is never changed.
func (db *DB) migrate(ctx context.Context) error {
	return db.Update(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY)`)
		if err != nil {
			return err
		}
		left, err := unseen(ctx, tx)
		for _, name := range left {
			if err == nil {
				if err = db.runMigration(ctx, tx, name); err != nil {
					err = fmt.Errorf("%s: %w", name, err)
				}
			}
		}
		return err
	})
}

// migrated returns an error unless the tables are those of this version.
func (db *DB) migrated(ctx context.Context) error {
	left, err := unseen(ctx, db.Read)
	if err == nil && len(left) > 0 {
		return fmt.Errorf("it is of an older version, without %s; start `krunhub serve` of this one first",
			left[0])
	}
	return err
}

// unseen returns the migrations that the database has not seen. One that has seen others is of a
// newer version, which is an error.
func unseen(ctx context.Context, from querier) ([]string, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	seen, err := list[string](ctx, from, `SELECT name FROM migrations`)
	for _, name := range seen {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("a newer krunhub has used this database (%s); install that version", name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(seen, name) }), err
}

func (db *DB) runMigration(ctx context.Context, tx *sql.Tx, name string) error {
	text, err := migrations.ReadFile(name)
	if err != nil {
		return err
	}
	types := strings.NewReplacer("{{serial}}", serial[db.Dialect], "{{bytes}}", bytesType[db.Dialect])
	if _, err := tx.ExecContext(ctx, types.Replace(string(text))); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO migrations (name) VALUES ($1)`, name)
	return err
}
