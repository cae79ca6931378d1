// Package dbtest has the databases of tests: an embedded one, and one of a PostgreSQL server that
// the test binary starts. Start reading at [OnEach].
package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver
)

// Locations are the database systems that a hub runs on. Each function returns the location of an
// empty database of a test's own, for database.Open.
var Locations = map[string]func(testing.TB) string{"SQLite": SQLite, "PostgreSQL": Postgres}

// OnEach runs a test on each database system.
func OnEach(t *testing.T, test func(t *testing.T, location string)) {
	for name, location := range Locations {
		t.Run(name, func(t *testing.T) { test(t, location(t)) })
	}
}

// SQLite returns the location of an embedded database, which does not exist yet.
func SQLite(t testing.TB) string { return filepath.Join(t.TempDir(), "hub.sqlite") }

// Postgres returns the location of an empty database. A test binary has one PostgreSQL server,
// which starts with its first test that needs it, in a temporary directory and as an unprivileged
// account. Without PostgreSQL the test is skipped.
func Postgres(t testing.TB) string {
	t.Helper()
	dir, err := postgres()
	if errors.Is(err, errNoPostgres) {
		t.Skip(err)
	}
	name := fmt.Sprintf("test%d", databases.Add(1))
	if err == nil {
		err = createDatabase(t.Context(), location(dir, "postgres"), name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return location(dir, name)
}

func location(dir, name string) string {
	return "postgres:///" + name + "?user=krunhub&host=" + dir
}

func createDatabase(ctx context.Context, at, name string) error {
	db, err := sql.Open("pgx", at)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "CREATE DATABASE "+name)
	return errors.Join(err, db.Close())
}

var (
	databases     atomic.Int64
	errNoPostgres = errors.New("PostgreSQL is not installed (Debian: postgresql)")

	// postgres returns the directory of the server's socket.
	postgres = sync.OnceValues(startPostgres)
)

// postgresScript makes a cluster in the working directory and runs its server until standard input
// ends. That happens when the test binary ends, however it does. A crash of the machine may damage
// the cluster, which is of no use afterwards.
const postgresScript = `set -e
"$0/initdb" -D data -U krunhub -A trust -E UTF8 --no-locale --no-sync >initdb.out 2>&1
"$0/postgres" -D data -k "$PWD" -c listen_addresses= -c fsync=off -c full_page_writes=off \
	-c synchronous_commit=off -c shared_buffers=32MB -c max_connections=200 >log 2>&1 </dev/null &
cat >/dev/null
kill -QUIT $!
wait $! || true
rm -rf "$PWD"`

func startPostgres() (string, error) {
	bin, err := postgresPrograms()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "krunhub-postgres-")
	if err != nil {
		return "", err
	}
	c := exec.CommandContext(context.Background(), "sh", "-c", postgresScript, bin)
	c.Dir = dir
	if os.Geteuid() == 0 { // PostgreSQL refuses to run as root
		id, err := user.Lookup("nobody")
		if err != nil {
			return "", fmt.Errorf("PostgreSQL needs an unprivileged account: %w", err)
		}
		uid, _ := strconv.Atoi(id.Uid)
		gid, _ := strconv.Atoi(id.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			return "", err
		}
		as := syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &as}
	}
	stdin, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return "", fmt.Errorf("start PostgreSQL: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	return dir, answers(dir, stdin, ended)
}

// answers waits until the server answers.
func answers(dir string, stdin io.Closer, ended <-chan error) error {
	db, err := sql.Open("pgx", location(dir, "postgres"))
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // it is not used again
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	patience := time.NewTimer(5 * time.Minute)
	defer patience.Stop()
	for {
		select {
		case <-tick.C:
			if db.Ping() == nil {
				return nil
			}
		case err = <-ended:
			text, _ := os.ReadFile(filepath.Join(dir, "initdb.out"))
			return fmt.Errorf("PostgreSQL ended: %w\n%s", err, text)
		case <-patience.C:
			text, _ := os.ReadFile(filepath.Join(dir, "log"))
			return errors.Join(fmt.Errorf("PostgreSQL does not answer\n%s", text), stdin.Close())
		}
	}
}

// postgresPrograms returns the directory of PostgreSQL's programs. Debian has them outside of the
// PATH.
func postgresPrograms() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, lookErr := exec.LookPath("initdb"); lookErr == nil {
		found = append(found, path)
	}
	if err != nil || len(found) == 0 {
		return "", errNoPostgres
	}
	return filepath.Dir(found[0]), nil
}
