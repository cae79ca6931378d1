package jobs

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riverqueue/river"

	"krund/internal/analysis/history"
	"krund/internal/durable"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/rebuild"
	"krund/internal/hub/store"
	"krund/rig/must"
)

// historyBench is a hub with a krunctl that copies prepared values instead of reducing records.
type historyBench struct {
	*bench
	Histories
	values string // directory of the prepared values
	random *rand.Rand
}

func newHistoryBench(t *testing.T, at string) *historyBench {
	t.Helper()
	dir := t.TempDir()
	h := &historyBench{bench: newBench(t, at, "m"), values: dir, random: rand.New(rand.NewPCG(2, 2))}
	program := filepath.Join(dir, "krunctl")
	text := "#!/bin/sh\n" +
		"[ $1 = history ] && exec cp " + dir + "/$(basename \"$6\").json \"$5\"\n" +
		"[ $1 = compare ] && exec cp " + dir + "/$(basename \"$6\").compared \"$5\"\n" +
		"mkdir -p \"$5/benchmark=a\" && echo \"$6\" > \"$5/benchmark=a/iterations.parquet\"\n"
	must.Do(t, os.WriteFile(program, []byte(text), 0o755))
	blobs := must.Get(store.OpenDirectory(durable.OS(), filepath.Join(dir, "blobs")))(t)
	h.Histories = Histories{DB: h.bench.DB, Krunctl: program, Log: slog.New(slog.DiscardHandler),
		Cache: &rebuild.Cache{DB: h.bench.DB, Store: blobs, FS: durable.OS(),
			Dir: filepath.Join(dir, "reducing")}}
	return h
}

// ended adds an experiment that has ended, whose executions take about level seconds.
func (h *historyBench) ended(t *testing.T, level float64) (id string) {
	t.Helper()
	id = h.submit(t, "nightly", "m", 1, 0)
	values := make([]float64, 5)
	for i := range values {
		values[i] = level * math.Exp(0.01*h.random.NormFloat64())
	}
	text, err := json.Marshal(history.Values{Unit: "s",
		Versions: []history.Version{{Label: id, Source: "name"}},
		Keys:     []history.Key{{Name: "a:b:c", Machine: "m", Values: [][]float64{values}}}})
	if err == nil {
		err = os.WriteFile(filepath.Join(h.values, id+".json"), text, 0o644)
	}
	must.Do(t, err)
	const record = "a record, which only krunctl reads"
	hash := store.Hash([]byte(record))
	must.Do(t, h.Histories.DB.Announce(t.Context(), []string{hash}))
	must.Do(t, h.Cache.Store.Put(t.Context(), hash, int64(len(record)), strings.NewReader(record)))
	h.update(t, func(tx *sql.Tx) error {
		x, err := h.Histories.DB.Experiment(t.Context(), id)
		x.State = database.Done
		for _, do := range []func() error{
			func() error { return err },
			func() error { return h.Histories.DB.AddBlob(t.Context(), tx, hash, int64(len(record))) },
			func() error {
				return h.Histories.DB.PutShare(t.Context(), tx, database.Share{Experiment: id,
					Machine: h.ids["m"], Count: 1, State: database.Done})
			},
			func() error {
				_, err := h.Histories.DB.AddRecord(t.Context(), tx, database.Record{Experiment: id,
					Machine: h.ids["m"], Attempt: 1, Blob: hash})
				return err
			},
			func() error { return h.Histories.DB.SetState(t.Context(), tx, x) },
		} {
			if err := do(); err != nil {
				return err
			}
		}
		return nil
	})
	return id
}

// look is the job; it returns the notifications.
func (h *historyBench) look(t *testing.T) (notices []string) {
	t.Helper()
	must.Do(t, h.reduceAll(t.Context(), func(_ context.Context, _ *sql.Tx, args river.JobArgs) error {
		notices = append(notices, args.(noticeArgs).Subject)
		return nil
	}))
	return notices
}

// TestHistory: an experiment is reduced once it has ended, a change is notified once, as
// one event. An experiment that cannot be
// reduced does not stop the others.
func TestHistory(t *testing.T) { dbtest.OnEach(t, testHistory) }

func testHistory(t *testing.T, at string) {
	h := newHistoryBench(t, at)
	var notices []string
	for v := range 30 {
		level := 1.0
		if v >= 20 {
			level = 1.1
		}
		id := h.ended(t, level)
		if v == 5 {
			must.Do(t, os.WriteFile(filepath.Join(h.values, id+".json"), []byte("{"), 0o644))
		}
		for range 2 { // the second finds nothing new
			notices = append(notices, h.look(t)...)
		}
	}
	events := must.Get(h.Histories.DB.Events(t.Context(), database.EventFilter{Name: "nightly"}, 0, 10))(t)
	must.Need(t, len(events) == 1, events)
	e := must.Get(h.Histories.DB.Event(t.Context(), nil, events[0].ID))(t)
	must.Be(t, e.Verdict == "undecided" && e.Present && e.State == database.EventNew && e.Machine == "m" &&
		len(e.Keys) == 1 && e.Median > 1.08 && e.Median < 1.12 && e.Experiment != "", e)
	must.Be(t, len(notices) == 1 && strings.Contains(notices[0], "nightly: undecided on m: +"), "notices",
		notices)
	series := must.Get(h.Histories.DB.Series(t.Context(), database.SeriesFilter{Docs: true}, 0, 10))(t)
	must.Need(t, len(series) == 1, series)
	s := series[0]
	must.Be(t, s.Name == "nightly" && s.Versions == 29 && s.Unit == "s" &&
		math.Abs(s.Change-e.Median) < 1e-9, s)
	var k history.KeyHistory
	must.Do(t, json.Unmarshal([]byte(s.Doc), &k))
	must.Be(t, len(k.Changes) == 1 && k.Changes[0].Version == 19, k.Changes) // one of 20 versions is missing
	tables, err := filepath.Glob(filepath.Join(h.values, "blobs", "tables", "name=nightly",
		"experiment=*", "machine=m", "benchmark=a", "iterations.parquet"))
	must.Be(t, err == nil && len(tables) == 30, len(tables), "tables", err)
	entries, err := os.ReadDir(h.Cache.Dir)
	must.Be(t, err == nil && len(entries) == 0, len(entries), "directories are left", err)
}

// TestHistoryOfHostileNames: what the database cannot store of an experiment is an error that is
// stored, not one that is tried again each minute before all others.
func TestHistoryOfHostileNames(t *testing.T) { dbtest.OnEach(t, testHistoryOfHostileNames) }

func testHistoryOfHostileNames(t *testing.T, at string) {
	h := newHistoryBench(t, at)
	const key = `{"key":"a%s","machine":"m","values":[[1]]}`
	for _, keys := range []string{fmt.Sprintf(key, `\u0000`), fmt.Sprintf(key+","+key, "", "")} {
		text := `{"unit":"s","versions":[{"label":"v"}],"keys":[` + keys + `]}`
		must.Do(t, os.WriteFile(filepath.Join(h.values, h.ended(t, 1)+".json"), []byte(text), 0o644))
	}
	h.look(t)
	left, err := h.Histories.DB.Unreduced(t.Context(), 10)
	must.Be(t, err == nil && len(left) == 0, len(left), "experiments are tried again", err)
}
