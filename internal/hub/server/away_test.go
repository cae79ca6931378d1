package server_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/hubtest"
	"krund/internal/hub/store"
	"krund/rig/must"
)

// TestDatabaseAway: while the database is away, nothing is refused for good: whatever is asked for
// is not to be had now.
func TestDatabaseAway(t *testing.T) { dbtest.OnEach(t, testDatabaseAway) }

func testDatabaseAway(t *testing.T, at string) {
	h := hubtest.On(t, at)
	s := of("warmup", "first")
	var ship bytes.Buffer
	must.Do(t, api.WriteShip(&ship, s.Ship, func(e api.Entry) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(s.contents[e.Hash])), nil
	}))
	tokens := map[access.Role]string{access.Machine: h.Machine(t, "lab1").Token}
	for _, role := range []access.Role{access.Join, access.Reader, access.User, access.Admin} {
		tokens[role] = h.Client(t, "the-"+string(role), role).Token
	}
	must.Do(t, errors.Join(h.DB.Read.Close(), h.DB.Write.Close()))
	handler := h.Handler()
	for _, route := range h.Routes() {
		if route.Role == "" {
			continue
		}
		method, path, _ := strings.Cut(route.Pattern, " ")
		path = strings.NewReplacer("{$}", "", "{", "", "}", "").Replace(path)
		r := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(ship.Bytes()))
		r.Header.Set("Authorization", "Bearer "+tokens[route.Role])
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		must.Equal(t, answer.Code, http.StatusServiceUnavailable, route.Pattern, answer.Body)
	}
}

// TestDatabaseComesAndGoes: whatever happens to the connections of the database, a request of a
// machine or a program is answered as always, or is to be sent again.
func TestDatabaseComesAndGoes(t *testing.T) {
	at := dbtest.Postgres(t)
	h := hubtest.On(t, at)
	machines := []*api.Client{h.Machine(t, "lab1"), h.Machine(t, "lab2")}
	ann := h.Client(t, "ann-lab1", access.User)
	id := submitted(t, h, "lab1")
	if _, err := machines[0].Ship(t.Context(), api.Ship{}, nil); err != nil { // it gets the experiment
		t.Fatal(err)
	}
	other := must.Get(sql.Open("pgx", at))(t)
	defer other.Close() // it is of the test
	done := make(chan struct{})
	var killer, all sync.WaitGroup
	killer.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			_, err := other.ExecContext(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE datname = current_database() AND pid <> pg_backend_pid()`)
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	const times = 100
	var failed atomic.Int32
	check := func(what string, err error) {
		var answer *api.Error
		if err != nil {
			failed.Add(1)
		}
		must.Be(t, !errors.As(err, &answer) || !answer.Refused(), what, err)
	}
	for i, m := range machines {
		all.Go(func() {
			for n := range times {
				s := of("warmup", fmt.Sprintf("record %d of %d", n, i))
				s.Entries[0].Slot = n
				_, err := s.send(t.Context(), m)
				check("ship", err)
			}
		})
	}
	all.Go(func() {
		for range times {
			_, err := ann.Experiment(t.Context(), id)
			check("state", err)
			_, err = ann.Submit(t.Context(), api.Submission{Bundle: store.Hash([]byte("lab1")),
				Target: "lab1", Machines: 1})
			check("submit", err)
			check("request", ann.Request(t.Context(), id, api.RequestHold))
			_, err = machines[0].Have(t.Context(), id, 0)
			check("have", err)
		}
	})
	all.Wait()
	close(done)
	killer.Wait()
	must.Be(t, failed.Load() != 0, "no request has met a database that was away")
}
