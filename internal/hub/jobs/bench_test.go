package jobs

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/rig/must"
)

// bench is a queue with a clock that the test moves.
type bench struct {
	Queue
	now  time.Time
	at   string            // location of the database
	ids  map[string]string // of machines, by name
	jobs []string          // that were inserted
}

func newBench(t *testing.T, at string, machines ...string) *bench {
	t.Helper()
	b := &bench{now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), ids: map[string]string{}, at: at}
	b.open(t)
	t.Cleanup(func() { _ = b.DB.Close() })
	for _, name := range machines {
		b.update(t, func(tx *sql.Tx) (err error) {
			if b.ids[name], _, err = b.DB.Join(t.Context(), tx, name, "pool"); err != nil {
				return err
			}
			return b.DB.Seen(t.Context(), tx, b.ids[name], "", "", "{}")
		})
	}
	return b
}

func (b *bench) open(t *testing.T) {
	t.Helper()
	db := must.Get(database.Open(t.Context(), b.at, func() time.Time { return b.now }))(t)
	b.DB = db
}

func (b *bench) update(t *testing.T, do func(*sql.Tx) error) {
	t.Helper()
	must.Do(t, b.DB.Update(t.Context(), do))
}

// submit adds an experiment for the pool or a machine.
func (b *bench) submit(t *testing.T, name, target string, parts, priority int64) (id string) {
	t.Helper()
	b.now = b.now.Add(time.Second)
	b.update(t, func(tx *sql.Tx) (err error) {
		id, err = b.Submit(t.Context(), tx, database.Experiment{Name: name, Owner: "ann", Bundle: "b",
			Target: target, ToPool: target == "pool", Parts: parts, Priority: priority})
		return err
	})
	return id
}

// ask is an idle machine that asks; the answer is "name index/count", or "".
func (b *bench) ask(t *testing.T, machine string) (answer string, n *api.Next) {
	t.Helper()
	b.update(t, func(tx *sql.Tx) (err error) {
		return b.DB.Seen(t.Context(), tx, b.ids[machine], "", "", "{}")
	})
	n = must.Get(b.Next(t.Context(), b.ids[machine]))(t)
	if n == nil {
		return "", nil
	}
	return fmt.Sprintf("%s %d/%d", n.Name, n.Index, n.Count), n
}

// report is a machine that reports; the answer is the request for it.
func (b *bench) report(t *testing.T, id, machine string, p api.Progress) string {
	t.Helper()
	var share database.Share
	b.update(t, func(tx *sql.Tx) (err error) {
		if share, err = b.DB.Share(t.Context(), tx, id, b.ids[machine]); err != nil {
			return err
		}
		text, _ := json.Marshal(p)
		share.Status = string(text)
		return errors.Join(b.DB.Seen(t.Context(), tx, b.ids[machine], "", "", "{}"),
			b.Report(t.Context(), tx, &share, p))
	})
	return share.Request
}

func (b *bench) look(t *testing.T, c Config) {
	t.Helper()
	must.Do(t, b.Queue.look(t.Context(), c, func(_ context.Context, _ *sql.Tx, args river.JobArgs) error {
		text := args.Kind()
		if n, ok := args.(noticeArgs); ok {
			text += " " + string(n.Event)
		}
		b.jobs = append(b.jobs, text)
		return nil
	}))
}

// state is the state of an experiment and those of its shares, by part.
func (b *bench) state(t *testing.T, id string) string {
	t.Helper()
	x := must.Get(b.DB.Experiment(t.Context(), id))(t)
	shares := must.Get(b.DB.Shares(t.Context(), id))(t)
	var parts []string
	for _, s := range shares {
		parts = append(parts, fmt.Sprintf(" %d:%s", s.Index, s.State))
	}
	slices.Sort(parts)
	return x.State + strings.Join(parts, "")
}

var ended = api.Progress{Slots: 2, Completed: 2, Ended: true}

func (b *bench) expect(t *testing.T, id, want string) {
	t.Helper()
	must.Equal(t, b.state(t, id), want, "state")
}
