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
	const lock = 7305808869231650420 // any number that others do not use
	if _, err = c.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, int64(lock)); err == nil {
		err = do()
		_, unlock := c.ExecContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, int64(lock))
		err = errors.Join(err, unlock)
	}
	return errors.Join(err, c.Close())
}

// migrate runs the files of migrations that this database has not seen, in the order of their
// names, in one transaction. A file that has been released is never changed.
func (db *DB) migrate(ctx context.Context) error {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	return db.Update(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY)`)
		if err != nil {
			return err
		}
		seen, err := list(ctx, tx, func(r row) (name string, err error) { return name, r.Scan(&name) },
			`SELECT name FROM migrations`)
		if err != nil {
			return err
		}
		for _, name := range seen {
			if !slices.Contains(names, name) {
				return fmt.Errorf("a newer krunhub has used this database (%s); install that version",
					name)
			}
		}
		for _, name := range names {
			if slices.Contains(seen, name) {
				continue
			}
			if err := db.runMigration(ctx, tx, name); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
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
