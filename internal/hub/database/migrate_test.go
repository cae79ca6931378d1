package database

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"krund/internal/hub/access"
	"krund/internal/hub/database/dbtest"
	"krund/rig/must"
)

// older makes a database of an older version, with the migrations up to one of that number and what
// the statements add, and returns it as it is after its upgrade.
func older(t *testing.T, at, last string, statements ...string) *DB {
	t.Helper()
	db := &DB{now: func() time.Time { return time.UnixMicro(5000) }}
	var err error
	if strings.HasPrefix(at, "postgres:") {
		err = db.openPostgres(at)
	} else {
		err = db.openSQLite(at, os.O_CREATE)
	}
	must.Do(t, err)
	names := must.Get(fs.Glob(migrations, "migrations/*.sql"))(t)
	err = db.Update(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `CREATE TABLE migrations (name TEXT PRIMARY KEY)`)
		for _, name := range names {
			if name <= "migrations/"+last+"_~" {
				err = errors.Join(err, db.runMigration(t.Context(), tx, name))
			}
		}
		for _, text := range statements {
			if err == nil {
				_, err = tx.ExecContext(t.Context(), text)
			}
		}
		return err
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	upgraded := must.Get(Open(t.Context(), at, db.now))(t)
	t.Cleanup(func() { _ = upgraded.Close() })
	return upgraded
}

// column returns the values of the first column that a query returns.
func column(t *testing.T, db *DB, query string) string {
	t.Helper()
	return strings.Join(must.Get(list[string](t.Context(), db.Read, query))(t), " ")
}

// TestTokensUpgrade: of an older database, sessions end, because it is not known with which tokens
// they were made. Tokens stay, and bound those that they make.
func TestTokensUpgrade(t *testing.T) {
	dbtest.OnEach(t, func(t *testing.T, at string) {
		db := older(t, at, "0005", `INSERT INTO tokens (hash, role, owner, label, created, expires) VALUES
			('a', 'admin', 'ada', 'first', 1, 0), ('b', 'user', 'ada', 'ci', 1, 9000),
			('c', 'admin', 'ada', 'session', 1, 9000), ('d', 'machine', 'm', '', 1, 0)`)
		got := column(t, db, `SELECT hash || ':' || bound FROM tokens ORDER BY hash`)
		must.Equal(t, got, "a:0 b:9000 d:0", "tokens")
	})
}

// TestTargetsUpgrade: the target of an older experiment is the machine of that name, if there is
// one, else a pool.
func TestTargetsUpgrade(t *testing.T) {
	dbtest.OnEach(t, func(t *testing.T, at string) {
		db := older(t, at, "0005", `INSERT INTO machines (id, name, pool, joined) VALUES
			('1', 'm1', 'lab', 1), ('2', 'evil', 'm1', 1)`,
			`INSERT INTO experiments (id, name, state, target, created, updated) VALUES
			('a', 'x', 'queued', 'm1', 1, 1), ('b', 'x', 'queued', 'lab', 1, 1),
			('c', 'x', 'queued', 'left', 1, 1), ('d', 'x', 'done', '', 1, 1)`)
		got := column(t, db, `SELECT id || ':' || to_pool FROM experiments ORDER BY id`)
		must.Equal(t, got, "a:0 b:1 c:1 d:0", "experiments")
	})
}

// TestProjectsUpgrade: what an older database has is in the project default, its users see it with
// their tokens, and its pools are open to all.
func TestProjectsUpgrade(t *testing.T) {
	dbtest.OnEach(t, func(t *testing.T, at string) {
		db := older(t, at, "0015", `INSERT INTO users (name, role, created) VALUES ('eve', 'reader', 1)`,
			`INSERT INTO tokens (hash, role, owner, created)
				VALUES ('`+access.Hash("t")+`', 'reader', 'eve', 1)`,
			`INSERT INTO machines (id, name, pool, joined) VALUES ('1', 'm1', 'lab', 1)`,
			`INSERT INTO blobs (hash, size, created) VALUES ('b', 1, 1)`,
			`INSERT INTO bundles (hash, owner, created) VALUES ('b', 'eve', 1)`,
			`INSERT INTO experiments (id, name, state, bundle, target, to_pool, created, updated)
				VALUES ('x', 'n', 'queued', 'b', 'lab', 1, 1, 1)`,
			`INSERT INTO histories (name, found) VALUES ('n', 1)`)
		ctx := access.With(t.Context(), must.Get(db.Who(t.Context(), "t"))(t))
		x := must.Get(db.Experiment(ctx, "x"))(t)
		_, _, _, err := db.Found(ctx, SeriesFilter{Name: x.Series()}, 0, 1, 1)
		must.Be(t, err == nil && x.Project == access.Default && x.Series() == "n", x, err)
		must.Do(t, db.Update(t.Context(), func(tx *sql.Tx) error {
			m := must.Get(db.MachineNamed(ctx, tx, "m1"))(t)
			waiting, err := db.Waiting(ctx, tx, m)
			must.Be(t, len(waiting) == 1, waiting, err)
			_, err = db.UseBundle(ctx, tx, "b", "eve")
			return err
		}))
	})
}
