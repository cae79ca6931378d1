package hubtest

import (
	"context"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Postgres starts a PostgreSQL server in a temporary directory, as an unprivileged account, and
// returns the location of its database. It ends with the test. Without PostgreSQL the test is
// skipped.
func Postgres(t testing.TB) string {
	t.Helper()
	bin := postgresPrograms(t)
	dir, err := os.MkdirTemp("", "krunhub-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var as *syscall.SysProcAttr
	if os.Geteuid() == 0 { // PostgreSQL refuses to run as root
		id, err := user.Lookup("nobody")
		if err != nil {
			t.Skipf("PostgreSQL needs an unprivileged account: %v", err)
		}
		uid, _ := strconv.Atoi(id.Uid)
		gid, _ := strconv.Atoi(id.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
		as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	run := func(program string, args ...string) {
		c := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(bin, program), args...)
		c.Dir, c.SysProcAttr = dir, as
		log, err := os.Create(filepath.Join(dir, program+".out")) // a pipe would stay open
		if err != nil {
			t.Fatal(err)
		}
		c.Stdout, c.Stderr = log, log
		err = c.Run()
		_ = log.Close()
		if text, _ := os.ReadFile(log.Name()); err != nil {
			t.Fatalf("%s: %v\n%s", program, err, text)
		}
	}
	data := filepath.Join(dir, "data")
	run("initdb", "-D", data, "-U", "krunhub", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
	run("pg_ctl", "-D", data, "-w", "-l", filepath.Join(dir, "log"), "-o",
		"-c listen_addresses='' -c fsync=off -k "+dir, "start")
	t.Cleanup(func() { run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop") })
	return "postgres:///postgres?user=krunhub&host=" + dir
}

// postgresPrograms returns the directory of PostgreSQL's programs. Debian has them outside of the
// PATH.
func postgresPrograms(t testing.TB) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, pathErr := exec.LookPath("initdb"); pathErr == nil {
		found = append(found, path)
	}
	if err != nil || len(found) == 0 {
		t.Skip("PostgreSQL is not installed (Debian: postgresql)")
	}
	return filepath.Dir(found[0])
}
