package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"io/fs"
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
