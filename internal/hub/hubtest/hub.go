// Package hubtest is a hub for tests: with a database and a store in a temporary directory, behind
// an HTTP server. Start reading at [New].
package hubtest

import (
	"database/sql"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"krund/internal/durable"
	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/pages"
	"krund/internal/hub/server"
	"krund/internal/hub/store"
)

// Now is the hub's time in all tests.
var Now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Hub is a hub that runs until the test ends.
type Hub struct {
	*server.Server
	URL string
}

// New returns a hub with an embedded database; prepare changes it before it serves.
func New(t testing.TB, prepare ...func(*server.Server)) *Hub {
	t.Helper()
	return On(t, dbtest.SQLite(t), prepare...)
}

// OnEach runs a test with a hub on each database system.
func OnEach(t *testing.T, test func(t *testing.T, h *Hub)) {
	dbtest.OnEach(t, func(t *testing.T, location string) { test(t, On(t, location)) })
}

// On returns a hub on a database.
func On(t testing.TB, location string, prepare ...func(*server.Server)) *Hub {
	t.Helper()
	return At(t, location, func() time.Time { return Now }, prepare...)
}

// At returns a hub on a database, with a clock.
func At(t testing.TB, location string, now func() time.Time, prepare ...func(*server.Server)) *Hub {
	t.Helper()
	db, err := database.Open(t.Context(), location, now)
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := store.OpenDirectory(durable.OS(), filepath.Join(t.TempDir(), "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	view := pages.New(t.Context(), pages.Options{DB: db, Store: blobs, Log: log, Dir: t.TempDir()})
	h := &Hub{Server: &server.Server{DB: db, Store: blobs, Pages: view, Log: log, Spool: t.TempDir()}}
	for _, change := range prepare {
		change(h.Server)
	}
	web := httptest.NewServer(h.Handler())
	h.URL = web.URL
	t.Cleanup(func() {
		web.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// Client returns a client of a new user with this role, or with a token to join.
func (h *Hub) Client(t testing.TB, name string, role access.Role) *api.Client {
	t.Helper()
	var token string
	err := h.DB.Update(t.Context(), func(tx *sql.Tx) (err error) {
		if role == access.Join {
			name = ""
		} else if err := h.DB.AddUser(t.Context(), tx, database.User{Name: name, Role: role}); err != nil {
			return err
		}
		token, err = h.DB.AddToken(t.Context(), tx, database.Token{Role: role, Owner: name})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return &api.Client{URL: h.URL, Token: token}
}

// Machine joins a machine and returns its client.
func (h *Hub) Machine(t testing.TB, name string) *api.Client {
	t.Helper()
	answer, err := h.Client(t, "", access.Join).Join(t.Context(), api.JoinRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return &api.Client{URL: h.URL, Token: answer.Token}
}

// Status is that of the answer to a request: 200 without an error, 0 if there is none.
func Status(err error) int {
	var answer *api.Error
	if errors.As(err, &answer) {
		return answer.Status
	}
	if err != nil {
		return 0
	}
	return http.StatusOK
}
