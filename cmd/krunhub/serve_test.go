package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// fullDisk refuses what is written to it from the second line on.
type fullDisk struct{ lines int }

func (f *fullDisk) Write(p []byte) (int, error) {
	if f.lines++; f.lines > 1 {
		return 0, errors.New("no space left on device")
	}
	return len(p), nil
}

// TestFirstToken: the token of a start that could not print it is not lost: the next start prints
// one.
func TestFirstToken(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	ctx, stop := context.WithCancel(t.Context())
	s := settings{listen: "127.0.0.1:0", data: data}
	must.Refuse(t, serve(ctx, s, &fullDisk{}, io.Discard), "", "it serves, and has shown no token")
	var out bytes.Buffer
	err := serve(ctx, s, writer(func(p []byte) (int, error) {
		if strings.Contains(string(p), "krun_") {
			stop()
		}
		return out.Write(p)
	}), io.Discard)
	must.Be(t, err == nil && strings.Contains(out.String(), "\nkrun_"), "printed", out.String(), err)
	info, err := os.Stat(filepath.Join(data, "hub.sqlite"))
	must.Be(t, err == nil && info.Mode().Perm() == 0o600, "hub.sqlite", info.Mode(), err,
		"want it to be for its owner")
}

// TestServeRefused: what keeps a hub from starting is named, and changes nothing.
func TestServeRefused(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	h := must.Get(open(t.Context(), settings{data: data}, slog.New(slog.DiscardHandler)))(t)
	serveError := func(s settings, want string) {
		t.Helper()
		err := serve(t.Context(), s, io.Discard, io.Discard)
		must.Refuse(t, err, want, s)
	}
	serveError(settings{data: data, listen: "127.0.0.1:0"}, "another krunhub uses it")
	must.Do(t, h.close())
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close() // nothing is sent
	serveError(settings{data: data, listen: listener.Addr().String()}, "choose another address with --listen")
	serveError(settings{data: filepath.Join(data, "no", "parent")}, "name another with --data")
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	serveError(settings{data: file}, "name another with --data")
	other := filepath.Join(t.TempDir(), "other")
	serveError(settings{data: other, store: "ftp://x"}, "only s3:// and s3+http:// are known")
	_, err := os.Stat(filepath.Join(other, "hub.sqlite"))
	must.Fail(t, err, fs.ErrNotExist, "a database was made")
}

// TestAdminToken: without any admin there is a way back, beside the hub and without it. Its token
// permits what an admin may do, and ends.
func TestAdminToken(t *testing.T) { dbtest.OnEach(t, testAdminToken) }

func testAdminToken(t *testing.T, at string) {
	s := settings{listen: "127.0.0.1:0", data: t.TempDir(), database: at}
	address, stop := started(t, s)
	db := must.Get(database.Attach(t.Context(), at, sysroot.RealClock{}.Now))(t)
	defer db.Close() // it is of the test
	demoteAll := func() {
		t.Helper()
		must.Do(t, db.Update(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), `UPDATE users SET role = 'reader'`)
			return err
		}))
	}
	fresh := func(user string) *api.Client {
		t.Helper()
		demoteAll()
		var out, note bytes.Buffer
		must.Do(t, adminToken(t.Context(), at, user, &out, &note))
		must.Be(t, strings.HasPrefix(out.String(), "krun_") && strings.Count(out.String(), "\n") == 1 &&
			strings.Contains(note.String(), "ends after 7 days"), "printed", out.String(), "and",
			note.String())
		return &api.Client{Token: strings.TrimSpace(out.String())}
	}
	works := func(c *api.Client, address string) {
		t.Helper()
		c.URL = address
		err := c.DoJSON(t.Context(), http.MethodPut, api.PathUsers+"/eve",
			api.RoleMessage{Role: "reader"}, nil)
		var refused *api.Error
		must.Be(t, errors.As(err, &refused) && refused.Status == http.StatusNotFound,
			"a change that an admin may ask for", err)
	}
	works(fresh("admin"), address)
	stop()
	c := fresh("ada") // a new user
	address, _ = started(t, s)
	works(c, address)
	who, err := db.Who(t.Context(), c.Token)
	must.Be(t, err == nil && who.Name == "ada" && who.Role == access.Admin &&
		who.Ends.Sub(db.Now()).Round(time.Hour) == setupLife && who.Bound.IsZero(), who, err)
}

// started starts a hub, and returns its address and what ends it.
func started(t *testing.T, s settings) (address string, stop func()) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := serve(ctx, s, in, io.Discard)
		done <- errors.Join(err, in.Close())
	}()
	stop = func() {
		if end(); done != nil {
			must.Do(t, <-done)
		}
		done = nil
	}
	t.Cleanup(stop)
	line := must.Get(bufio.NewReader(out).ReadString('\n'))(t)
	go io.Copy(io.Discard, out)
	return strings.TrimSpace(strings.TrimPrefix(line, "krunhub listens on ")), stop
}

// TestAdminTokenRefused: a database that is not there is not made, and one of another version is
// left alone: a hub may be using it.
func TestAdminTokenRefused(t *testing.T) {
	missing := embedded(t.TempDir())
	err := adminToken(t.Context(), missing, "admin", io.Discard, io.Discard)
	must.Refuse(t, err, "must be those of the hub", "a directory without a database")
	_, err = os.Stat(missing)
	must.Fail(t, err, fs.ErrNotExist, "a database was made")
	at := filepath.Join(t.TempDir(), "hub.sqlite")
	db := must.Get(database.Open(t.Context(), at, sysroot.RealClock{}.Now))(t)
	err = db.Update(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `DELETE FROM migrations WHERE name LIKE '%0005%'`)
		return err
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	err = adminToken(t.Context(), at, "admin", io.Discard, io.Discard)
	must.Refuse(t, err, "older version", "an older database")
	must.Refuse(t, adminToken(t.Context(), at, "a/b", io.Discard, io.Discard), "",
		"a name of a user with a slash")
}
