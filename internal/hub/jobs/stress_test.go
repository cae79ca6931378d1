package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/machine/command"
	"krund/rig/must"
)

// TestTwoHubs: two processes of the hub on one database, which is empty, start at the same time.
// Machines are overdue; both look for them, and work on what follows. Each machine is notified of
// once.
func TestTwoHubs(t *testing.T) {
	const machines = 5
	at, now := dbtest.Postgres(t), time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	program, sent := filepath.Join(dir, "notify"), filepath.Join(dir, "sent")
	must.Do(t, os.WriteFile(program, []byte("#!/bin/sh\necho x >>"+sent+"\n"), 0o755))
	config := Config{Notify: command.Notifier{Command: []string{program}}}
	open := func() (*database.DB, *Jobs, error) {
		db, err := database.Open(t.Context(), at, func() time.Time { return now })
		if err != nil {
			return nil, nil, err
		}
		j, err := Open(t.Context(), db, config, slog.New(slog.DiscardHandler))
		return db, j, err
	}
	var dbs [2]*database.DB
	var hubs [2]*Jobs
	var errs [2]error
	var all sync.WaitGroup
	for i := range dbs {
		all.Go(func() { dbs[i], hubs[i], errs[i] = open() })
	}
	all.Wait()
	must.Do(t, errors.Join(errs[:]...))
	db := dbs[0]
	err := db.Update(t.Context(), func(tx *sql.Tx) error {
		if _, err := db.Looked(t.Context(), tx); err != nil { // else the machines would be excused
			return err
		}
		for i := range machines {
			id, _, err := db.Join(t.Context(), tx, fmt.Sprint("lab", i), "")
			if err != nil {
				return err
			}
			err = errors.Join(db.AddExperiment(t.Context(), tx, database.Experiment{ID: id, Name: "x",
				State: database.Running}), db.PutShare(t.Context(), tx, database.Share{Experiment: id,
				Machine: id, Count: 1, State: database.Running, Lease: now.Add(-time.Minute)}))
			if err != nil {
				return err
			}
		}
		return nil
	})
	must.Do(t, err)
	for _, j := range hubs {
		must.Do(t, j.Start(t.Context()))
	}
	ended := func() (n int) {
		must.Do(t, db.Read.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM river_job
			WHERE kind = 'notice' AND state = 'completed'`).Scan(&n))
		return n
	}
	for ended() < machines { // the test's time limit ends it
		time.Sleep(10 * time.Millisecond)
	}
	// The processes read the time, and look for machines by themselves: neither must go on below.
	for _, j := range hubs {
		must.Do(t, j.Stop(t.Context()))
	}
	// Now both look at the same time, and a second machine of each experiment's is late again.
	var late sync.WaitGroup
	now = now.Add(100 * 24 * time.Hour)
	inserted := make([]int, 2)
	for i := range dbs {
		late.Go(func() {
			count := func(context.Context, *sql.Tx, river.JobArgs) error { inserted[i]++; return nil }
			err := Queue{DB: dbs[i]}.look(t.Context(), config, count)
			must.Be(t, err == nil, err)
		})
	}
	late.Wait()
	must.Equal(t, inserted[0]+inserted[1], machines, "notifications of", "machines that were given up")
	text, err := os.ReadFile(sent)
	n := strings.Count(string(text), "x")
	must.Be(t, n == machines && err == nil, n, "messages were sent for", machines, "machines", err)
	for _, db := range dbs {
		must.Do(t, db.Close())
	}
}

// TestStress: machines, each with two requests at a time, and people work on one queue through two
// processes of the hub. No two wait for each other, every part is given to one machine at a time,
// and every experiment ends.
func TestStress(t *testing.T) {
	dbtest.OnEach(t, testStress)
}

func testStress(t *testing.T, at string) {
	const machines, experiments, parts, stopped = 6, 16, 3, 8
	b := newBench(t, at, "lab0", "lab1", "lab2", "lab3", "lab4", "lab5")
	queues := []Queue{b.Queue, b.Queue}
	if b.DB.Dialect == database.Postgres {
		other := must.Get(database.Open(t.Context(), at, func() time.Time { return b.now }))(t)
		defer other.Close()
		queues[1].DB = other
	}
	var ids []string
	for i := range experiments {
		ids = append(ids, b.submit(t, fmt.Sprint("x", i), "pool", parts, int64(i%2)))
	}
	none := func(context.Context, *sql.Tx, river.JobArgs) error { return nil }
	failed := func(err error) bool {
		must.Be(t, err == nil, err)
		return err != nil
	}
	var all sync.WaitGroup
	for i := range machines * len(queues) {
		id, q := b.ids[fmt.Sprint("lab", i/len(queues))], queues[i%len(queues)]
		all.Go(func() {
			for step := 0; step < 2*experiments; step++ {
				if failed(q.DB.Update(t.Context(), func(tx *sql.Tx) error {
					return q.DB.Seen(t.Context(), tx, id, "", "", "{}")
				})) {
					return
				}
				n, err := q.Next(t.Context(), id)
				if failed(err) || n == nil {
					continue
				}
				for left := 2; left >= 0; left-- {
					share := database.Share{Experiment: n.Experiment, Machine: id, Status: "{}"}
					p := api.Progress{Slots: 2, Left: left, Ended: left == 0}
					if failed(q.DB.Update(t.Context(), func(tx *sql.Tx) error {
						return errors.Join(q.DB.Seen(t.Context(), tx, id, "", "", "{}"),
							q.Report(t.Context(), tx, &share, p))
					})) {
						return
					}
				}
			}
		})
	}
	for _, q := range queues {
		all.Go(func() {
			for i := range stopped {
				for _, request := range []string{api.RequestHold, api.RequestResume, api.RequestStop} {
					for _, id := range ids[i:] {
						err := q.DB.Update(t.Context(), func(tx *sql.Tx) error {
							return q.Request(t.Context(), tx, id, request)
						})
						if !errors.Is(err, ErrEnded) {
							failed(err)
						}
						if request == api.RequestStop {
							break
						}
					}
				}
				failed(q.look(t.Context(), Config{}, none))
			}
		})
	}
	all.Wait()
	for _, id := range ids { // what was held last
		err := b.DB.Update(t.Context(), func(tx *sql.Tx) error {
			return b.Request(t.Context(), tx, id, api.RequestResume)
		})
		must.Need(t, err == nil || errors.Is(err, ErrEnded), err)
	}
	for range experiments {
		for name := range b.ids {
			for _, n := b.ask(t, name); n != nil; _, n = b.ask(t, name) {
				b.report(t, n.Experiment, name, ended)
			}
		}
	}
	for i, id := range ids {
		shares := must.Get(b.DB.Shares(t.Context(), id))(t)
		of := map[int64]int{}
		for _, s := range shares {
			if of[s.Index]++; of[s.Index] > 1 || s.State == database.Running {
				t.Errorf("%s, part %d: %d machines, %s", id, s.Index, of[s.Index], s.State)
			}
		}
		if state, _, _ := strings.Cut(b.state(t, id), " "); i >= stopped && state != database.Done {
			t.Errorf("%s: %s", id, b.state(t, id))
		}
	}
	if b.DB.Dialect == database.Postgres {
		var deadlocks int
		err := b.DB.Read.QueryRowContext(t.Context(),
			`SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`).Scan(&deadlocks)
		must.Be(t, err == nil && deadlocks == 0, deadlocks, "deadlocks", err)
	}
}
