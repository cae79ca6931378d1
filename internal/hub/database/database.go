// Package database contains all SQL of the hub: its tables, their migrations and every query. There
// is one set of queries for SQLite, which is embedded and needs no set-up, and PostgreSQL, which
// serves many machines and several processes of the hub.
//
// It does not decide: packages server and jobs do. Times come from the hub's clock and are stored
// in microseconds since 1970. A method that takes a *sql.Tx works within the caller's transaction,
// so that a change and the job that follows from it are committed together.
//
// Start reading at [Open], [DB.Update] and migrations/0001_hub.sql.
package database

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of PostgreSQL
	_ "modernc.org/sqlite"             // the driver of SQLite
)

// Dialect names the database system.
type Dialect string

// The dialects.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// DB is the hub's database. Its methods may be called concurrently.
type DB struct {
	// Write is for changes, Read for everything else. With SQLite these are one connection and
	// several, so that reading does not wait for changes; a function that has a transaction of
	// Write must not use Write otherwise. With PostgreSQL both are several.
	Write, Read *sql.DB
	Dialect     Dialect
	now         func() time.Time
}

// ErrMissing is the error if what is asked for does not exist.
var ErrMissing = errors.New("not found")

// Open opens the database and brings its tables up to date. location is postgres://... or the path
// of a SQLite database, which is created if there is none. now is the hub's clock.
func Open(ctx context.Context, location string, now func() time.Time) (*DB, error) {
	return open(ctx, location, now, os.O_CREATE, (*DB).migrate)
}

// Attach opens the database of a hub that may be running, of this version: it creates nothing, and
// changes no table.
func Attach(ctx context.Context, location string, now func() time.Time) (*DB, error) {
	return open(ctx, location, now, 0, (*DB).migrated)
}

// open opens the database, with flags for the file of an embedded one, and prepares its tables.
func open(ctx context.Context, location string, now func() time.Time, flags int,
	prepare func(*DB, context.Context) error) (*DB, error) {
	db := &DB{now: now}
	var err error
	if strings.HasPrefix(location, "postgres://") || strings.HasPrefix(location, "postgresql://") {
		err = db.openPostgres(location)
	} else {
		err = db.openSQLite(location, flags)
	}
	if err == nil {
		err = db.Alone(ctx, func() error { return prepare(db, ctx) })
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the database: %w", err), db.Close())
	}
	return db, nil
}

func (db *DB) openPostgres(location string) (err error) {
	// For each of the two, because a transaction may need one that reads, and never the reverse.
	const connections = 16
	db.Dialect = Postgres
	for _, pool := range []**sql.DB{&db.Write, &db.Read} {
		if *pool, err = sql.Open("pgx", location); err != nil {
			return err
		}
		(*pool).SetMaxOpenConns(connections)
		(*pool).SetMaxIdleConns(connections)
	}
	return nil
}

func (db *DB) openSQLite(path string, flags int) (err error) {
	const readers = 4
	db.Dialect = SQLite
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	// Whatever the umask is, only the owner reads what members of the lab have measured. The files
	// beside the database get the permissions that it has.
	const ownerOnly = 0o600
	if f, err := os.OpenFile(absolute, os.O_RDWR|flags, ownerOnly); err != nil {
		return err
	} else if err := f.Close(); err != nil {
		return err
	}
	// A commit is durable when it returns (synchronous), and readers do not block it (WAL). A
	// transaction that writes takes the lock when it begins and waits for it.
	options := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(10000)", "journal_mode(WAL)",
		"synchronous(FULL)", "foreign_keys(1)", "journal_size_limit(67108864)"}}
	location := (&url.URL{Scheme: "file", Path: absolute, RawQuery: options.Encode()}).String()
	if db.Write, err = sql.Open("sqlite", location); err != nil {
		return err
	}
	db.Write.SetMaxOpenConns(1)
	options["_pragma"] = append(options["_pragma"], "query_only(1)")
	location = (&url.URL{Scheme: "file", Path: absolute, RawQuery: options.Encode()}).String()
	if db.Read, err = sql.Open("sqlite", location); err != nil {
		return err
	}
	db.Read.SetMaxOpenConns(readers)
	return nil
}

// Close closes all connections.
func (db *DB) Close() error {
	var err error
	if db.Read != nil {
		err = db.Read.Close()
	}
	if db.Write != nil {
		err = errors.Join(err, db.Write.Close())
	}
	return err
}

// Ready reports why the database cannot be read or written now, nil if it can: it tries.
func (db *DB) Ready(ctx context.Context) error {
	err := db.Read.PingContext(ctx)
	if err == nil {
		err = db.Update(ctx, func(tx *sql.Tx) error {
			_, err := run(ctx, tx, "write", put("looks", "id", "id, at", "at", 2, db.now()))
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("the database: %w", err)
	}
	return nil
}

// Now returns the hub's time.
func (db *DB) Now() time.Time { return db.now() }

// Update runs do in a transaction and commits it unless do returns an error, which Update returns
// as it is. Once Update has returned nil, the changes are durable.
func (db *DB) Update(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := db.Write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // no effect after Commit, and otherwise there is an error already
	if err := do(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit a transaction: %w", err)
	}
	return nil
}

// ReleaseJobs ends what a process that was killed has begun, so that it runs again at once and not
// after an hour. No other process uses an embedded database.
func (db *DB) ReleaseJobs(ctx context.Context) error {
	return db.Update(ctx, func(tx *sql.Tx) error {
		_, err := run(ctx, tx, "release jobs", do(`DELETE FROM river_leader`),
			do(`UPDATE river_job SET state = 'available' WHERE state = 'running'`))
		return err
	})
}

// Count is a number of rows.
type Count struct {
	Kind, State string
	N           int64
}

// Counts returns how many machines, experiments, shares and open alerts there are in each state.
func (db *DB) Counts(ctx context.Context) ([]Count, error) {
	return list[Count](ctx, db.Read, `
		SELECT 'machine', '', COUNT(*) FROM machines UNION ALL
		SELECT 'experiment', state, COUNT(*) FROM experiments GROUP BY state UNION ALL
		SELECT 'share', state, COUNT(*) FROM shares GROUP BY state UNION ALL
		SELECT 'alert', state, COUNT(*) FROM alerts WHERE state = 'open' GROUP BY state`)
}

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
