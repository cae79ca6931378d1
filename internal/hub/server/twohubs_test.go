package server_test

import (
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/hubtest"
	"krund/internal/hub/server"
	"krund/rig/must"
)

// TestTwoHubs: machines ship the same contents in another order, each to two processes of the hub
// at the same time and again. No request waits for another, and each record is there once. An open
// page of one process learns what the other has changed, whose clock is late.
func TestTwoHubs(t *testing.T) {
	const machines, records, times = 4, 40, 5
	at := dbtest.Postgres(t)
	one := hubtest.On(t, at)
	other := hubtest.On(t, at, func(s *server.Server) { s.Store = one.Store })
	var contents []string
	for i := range records {
		contents = append(contents, fmt.Sprint("record ", i))
	}
	var clients []*api.Client
	for i := range machines {
		clients = append(clients, one.Machine(t, fmt.Sprint("lab", i)))
	}
	var all sync.WaitGroup
	for i, c := range clients {
		s := of("warmup", contents...)
		if i%2 == 1 {
			slices.Reverse(s.Entries)
		}
		for _, h := range []*hubtest.Hub{one, other} {
			all.Go(func() {
				for range times {
					_, err := s.send(t.Context(), &api.Client{URL: h.URL, Token: c.Token})
					must.Be(t, err == nil, err)
				}
			})
		}
	}
	all.Wait()
	var rows, experiments, blobs, deadlocks int
	err := one.DB.Read.QueryRowContext(t.Context(), `SELECT (SELECT COUNT(*) FROM records),
		(SELECT COUNT(*) FROM experiments), (SELECT COUNT(*) FROM blobs),
		(SELECT deadlocks FROM pg_stat_database WHERE datname = current_database())`).
		Scan(&rows, &experiments, &blobs, &deadlocks)
	must.Be(t, err == nil && rows == machines*records && experiments == machines && blobs == records &&
		deadlocks == 0, rows, "records of", experiments, "experiments", blobs, "blobs", deadlocks,
		"deadlocks", err)
	late := must.Get(
		database.Open(t.Context(), at, func() time.Time { return hubtest.Now.Add(-time.Hour) }))(t)
	defer late.Close()
	before := must.Get(one.DB.Version(t.Context()))(t)
	for what, change := range map[string]func(tx *sql.Tx) error{
		"an experiment": func(tx *sql.Tx) error {
			return late.AddExperiment(t.Context(), tx, database.Experiment{ID: "x", Name: "x",
				State: database.Queued})
		},
		"a message of a machine": func(tx *sql.Tx) error {
			m, err := late.Machine(t.Context(), "lab0")
			if err != nil {
				return err
			}
			return late.Seen(t.Context(), tx, m.ID, "", "", "{}")
		},
		"an alert": func(tx *sql.Tx) error {
			_, err := late.Raise(t.Context(), tx, database.Alert{
				Kind: "overdue", Subject: "s", Experiment: "x"})
			return err
		},
	} {
		must.Do(t, late.Update(t.Context(), change))
		now, err := one.DB.Version(t.Context())
		must.Be(t, err == nil && now != before, what, "pages do not learn of it", err)
		before = now
	}
}
