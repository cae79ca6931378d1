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

	"krund/internal/analysis/compare"
	"krund/internal/analysis/history"
	"krund/internal/analysis/warmup"
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

// TestLevels: an experiment that machines share has the difference of their levels, e^0.05 and
// e^0.02, for each version; one of a single machine, or that cannot be reduced, has nothing.
func TestLevels(t *testing.T) { dbtest.OnEach(t, testLevels) }

func testLevels(t *testing.T, at string) {
	h := newHistoryBench(t, at)
	at1 := func(level float64) []float64 {
		var values []float64
		for i := range 10 {
			values = append(values, math.Exp(level+0.001*float64(2*(i%2)-1)))
		}
		return values
	}
	shared, single, damaged := h.ended(t, 1), h.ended(t, 1), h.ended(t, 1)
	text, err := json.Marshal(history.Values{Unit: "s",
		Versions: []history.Version{{Label: "old", Source: "revision"}, {Label: "new", Source: "revision"}},
		Keys: []history.Key{
			{Name: "a:b:c", Machine: "m", Values: [][]float64{at1(0), at1(1)}},
			{Name: "a:b:c", Machine: "n", Values: [][]float64{at1(0.05), at1(1.02)}}}})
	if err == nil {
		err = os.WriteFile(filepath.Join(h.values, shared+".json"), text, 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(h.values, damaged+".json"), []byte("{"), 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(h.values, shared+".compared"), []byte(`{"before":{"name":"x","arm":"o"},
			"after":{"name":"x","arm":"n"},"counts":{"worse":1},"changes":[{"key":"a:b:c","verdict":"worse",
			"steady":{"ratio":{"estimate":1.05,"low":1.01,"high":1.09}}}]}`), 0o644)
	}
	must.Do(t, err)
	h.look(t)
	for _, id := range []string{single, damaged, "unknown"} {
		got, err := h.Histories.DB.Answer(t.Context(), id)
		must.Be(t, got.Levels == "" && err == nil, id, got, err)
	}
	alone, err := h.Histories.DB.Answer(t.Context(), single)
	must.Be(t, err == nil && strings.HasPrefix(alone.Text, "1 key in 5 executions: a:b:c ") &&
		alone.Comparison == "", alone, err)
	got, err := h.Histories.DB.Answer(t.Context(), shared)
	must.Be(t, strings.HasPrefix(got.Text, "n is 5.0 % slower than o: ratio 1.05") &&
		strings.Contains(got.Comparison, `"estimate":1.05`), got)
	var l compare.Levels
	if err == nil {
		err = json.Unmarshal([]byte(got.Levels), &l)
	}
	must.Need(t, err == nil && l.Tests == 2 && l.Differ == 2 && len(l.Keys) == 2, got, err)
	for i, want := range []struct {
		key    string
		spread float64
	}{{"a:b:c of old", 0.05}, {"a:b:c of new", 0.02}} {
		k := l.Keys[i]
		near := func(got warmup.Real, log float64) bool {
			return math.Abs(float64(got)-math.Expm1(log)) < 1e-9
		}
		must.Be(t, k.Key == want.key && near(k.Spread, want.spread) && len(k.Levels) == 2 &&
			near(k.Levels[1].Relative, want.spread/2) && k.Levels[1].Machine == "n", k)
	}
}

// TestNights: the hub's history of one revision that is measured each night is what krunctl makes
// of the same experiments: nights are versions, and a change between them is the machine's.
func TestNights(t *testing.T) {
	var points []database.Point
	for night := range 30 {
		for _, key := range []string{"a", "b", "c", "d"} {
			p := database.Point{Experiment: fmt.Sprint("x", night), Version: "rev", Source: "revision",
				Order: int64(night), Key: key, Machine: "m", Unit: "s"}
			for e := range 5 {
				value := 1 + 0.001*float64((7*night+3*e)%5)
				if night >= 20 {
					value *= 1.1
				}
				p.Values = append(p.Values, value)
			}
			points = append(points, p)
		}
	}
	points = append(points, database.Point{Experiment: "other", Version: "next", Source: "revision",
		Key: "a", Machine: "m", Unit: "KiB", Values: []float64{1}})
	v, _ := valuesOf(points)
	must.Be(t, v.Unit == "KiB" && len(v.Versions) == 1, v.Versions)
	v, with := valuesOf(points[:len(points)-1])
	var labels []string
	for _, version := range v.Versions[:3] {
		labels = append(labels, version.Label+" of "+version.Revision)
	}
	must.Equal(t, strings.Join(labels, ", "), "rev of rev, rev, night 2 of rev, rev, night 3 of rev")
	must.Need(t, len(v.Versions) == 30 && len(v.Keys) == 4, len(v.Versions), "versions")
	must.Equal(t, with[[2]string{"rev, night 3", "m"}], "x2")
	h := history.Of(v.Versions, v.Keys, history.Options{})
	must.Need(t, len(h.Events) == 1, len(h.Events), "events")
	e := h.Events[0]
	must.Be(t, e.Verdict == history.ByMachine && len(e.Keys) == 4, e)
	must.Equal(t, h.Versions[e.Version].Label, "rev, night 21")
}

// TestStates: what a state of a machine did to its keys in the history of one name tells that it
// was the machine in that of another one, where each night has another revision: when the state
// comes back, and when it ends. A history does not know an event by itself.
func TestStates(t *testing.T) { dbtest.OnEach(t, testStates) }

func testStates(t *testing.T, at string) {
	b := newBench(t, at, "m")
	r := rand.New(rand.NewPCG(35, 3))
	s := Histories{DB: b.DB, Log: slog.New(slog.DiscardHandler)}
	nights := func(name string, same bool, slow func(night int) bool) []database.Event {
		for night := range 40 {
			x := database.Experiment{ID: fmt.Sprint(name, night), Name: name, State: database.Done,
				Created: b.now}
			var points []database.Point
			revision := fmt.Sprint("v", night)
			if same {
				revision = "v"
			}
			for k := range 24 {
				p := database.Point{Version: revision, Source: "revision",
					Order: int64(night), Key: fmt.Sprint("k", k), Machine: "m", Unit: "s"}
				for range 5 {
					value := math.Exp(0.005 * r.NormFloat64())
					if slow(night) {
						value *= 1 + 0.01*float64(k+3)
					}
					p.Values = append(p.Values, value)
				}
				points = append(points, p)
			}
			b.update(t, func(tx *sql.Tx) error {
				if err := b.DB.AddExperiment(t.Context(), tx, x); err != nil {
					return err
				}
				return b.DB.PutPoints(t.Context(), tx, x, points, "")
			})
		}
		for range 2 { // again, when its own state is stored
			tell := func(context.Context, *sql.Tx, river.JobArgs) error { return nil }
			must.Do(t, s.reduceAll(t.Context(), tell))
			b.update(t, func(tx *sql.Tx) error { return b.DB.Touch(t.Context(), tx, name) })
		}
		return must.Get(b.DB.Events(t.Context(), database.EventFilter{Name: name}, 0, 9))(t)
	}
	list := nights("alone", false, func(night int) bool { return night >= 25 })
	must.Be(t, len(list) == 1 && list[0].Verdict == "undecided", list)
	list = nights("same", true, func(night int) bool { return night >= 25 })
	must.Be(t, len(list) == 1 && list[0].Verdict == "machine", list)
	for begins, want := range map[bool]string{
		true:  "the effects on the keys are those of same with v, night 26",
		false: "it undoes same with v, night 26"} {
		list = nights(fmt.Sprint("other-", begins), false, func(night int) bool {
			return night >= 25 == begins
		})
		must.Need(t, len(list) == 1, list)
		must.Be(t, list[0].Verdict == "machine" && strings.HasPrefix(list[0].Evidence, want), list[0])
	}
}

// TestHistoryAtOnce: River begins the job again when it has run for an hour. The second one does
// nothing: without a client of River, it would panic.
func TestHistoryAtOnce(t *testing.T) {
	var w workers
	w.busy.Lock()
	must.Do(t, w.history(context.Background(), historyArgs{}))
}
