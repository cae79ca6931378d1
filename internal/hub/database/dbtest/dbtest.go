// Package dbtest has the databases of tests: an embedded one, and one of a PostgreSQL server that
// the test binary starts. Start reading at [OnEach].
package dbtest

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

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

// postgresScript makes a cluster in the working directory, says "ready" when its server answers,
// and runs it until standard input ends. That happens when the test binary ends, however it does. A
// crash of the machine may damage the cluster, which is of no use afterwards.
const postgresScript = `set -e
exec 2>>out
"$0/initdb" -D data -U krunhub -A trust -E UTF8 --no-locale --no-sync >>out
"$0/pg_ctl" -D data -w -t 300 -l out -o "-k '$PWD' -c listen_addresses= -c fsync=off \
	-c full_page_writes=off -c synchronous_commit=off -c shared_buffers=32MB -c max_connections=200" start >>out
echo ready
cat >/dev/null
"$0/pg_ctl" -D data -m immediate stop >>out || true
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
	out, err := c.StdoutPipe()
	if err == nil {
		_, err = c.StdinPipe() // it ends with this process
	}
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return "", fmt.Errorf("start PostgreSQL: %w", err)
	}
	if said, _ := bufio.NewReader(out).ReadString('\n'); said != "ready\n" {
		text, _ := os.ReadFile(filepath.Join(dir, "out"))
		return "", fmt.Errorf("PostgreSQL ended: %w\n%s", c.Wait(), text)
	}
	go func() { _ = c.Wait() }() // keeps the pipe open
	return dir, nil
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
