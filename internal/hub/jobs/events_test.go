package jobs

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/compare"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/durable"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/store"
	"krund/internal/hub/watch"
	"krund/internal/hub/watch/watchtest"
	"krund/internal/machine/command"
	"krund/rig/must"
)

// TestMatch: an event keeps its id as long as it shares a change with what is stored, also if keys
// join it; of one that is divided both parts are known; what was an alert is not told again.
func TestMatch(t *testing.T) {
	event := func(id string, keys ...string) database.Event {
		e := database.Event{ID: id, Name: "n", Machine: "m", Present: true}
		for _, k := range keys {
			e.Keys = append(e.Keys, database.EventKey{Key: k, Found: "v9"})
		}
		return e
	}
	until := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	got := match([]database.Event{event("one", "a", "b"), event("gone", "x")},
		[]database.Event{event("", "a", "c"), event("", "b"), event("", "d"), event("", "e")},
		[]database.ToldChange{{Subject: "n · d · m · v9", Muted: until}})
	must.Need(t, len(got) == 5, got)
	must.Be(t, got[0].ID == "one" && !got[0].fresh, "keys joined", got[0])
	must.Be(t, got[1].ID != "one" && got[1].ID != "" && !got[1].fresh, "it was divided", got[1])
	must.Be(t, !got[2].fresh && got[2].Muted.Equal(until), "it was an alert", got[2])
	must.Be(t, got[3].fresh && got[3].Muted.IsZero(), "it is new", got[3])
	must.Be(t, got[4].ID == "gone" && !got[4].Present && !got[4].fresh, "it is not found any more", got[4])
}

// againBench is a hub with a repository, of which nights are simulated.
type againBench struct {
	*bench
	t         *testing.T
	repo      watchtest.Repo
	revisions []string
	watcher   *watch.Watcher
	Histories
	notices    []string
	blocks     int // that were measured again
	random     *rand.Rand
	experiment int
}

const againKeys, againNights, againFrom = 8, 45, 30

func newAgainBench(t *testing.T, names ...string) *againBench {
	t.Helper()
	b := &againBench{bench: newBench(t, dbtest.SQLite(t), "m1", "m2"), t: t, repo: watchtest.NewRepo(t),
		random: rand.New(rand.NewPCG(35, 36))}
	for i := range againNights {
		b.revisions = append(b.revisions, b.repo.Commit(t, "main", fmt.Sprint(i)))
	}
	text := ""
	for _, name := range names {
		one := strings.Replace(b.repo.TOML("commit", "skip", ""), `"vm"`, fmt.Sprintf("%q", name), 1)
		text += strings.Replace(one, `to = "lab"`, fmt.Sprintf("again = %q\nto = \"pool\"", b.repo.Again), 1)
	}
	c := must.Get(ParseConfig(text))(t)
	blobs := must.Get(store.OpenDirectory(durable.OS(), filepath.Join(t.TempDir(), "blobs")))(t)
	b.watcher = &watch.Watcher{DB: b.bench.DB, Store: blobs, Log: slog.New(slog.DiscardHandler),
		Schedules: c.Schedules, Dir: filepath.Join(t.TempDir(), "watch")}
	must.Do(t, os.Mkdir(b.watcher.Dir, 0o700))
	b.Histories = Histories{DB: b.bench.DB, Log: b.watcher.Log, Schedules: c.Schedules}
	return b
}

// night stores an experiment of a name; level is that of a key on a machine.
func (b *againBench) night(name string, version int, level func(machine string, key int) float64) {
	b.t.Helper()
	b.experiment++
	x := database.Experiment{ID: fmt.Sprint("x", b.experiment), Name: name, State: database.Done}
	var points []database.Point
	for _, machine := range []string{"m1", "m2"} {
		night := 0.003 * b.random.NormFloat64()
		for k := range againKeys {
			p := database.Point{Version: b.revisions[version], Source: "revision", Order: int64(version),
				Key: fmt.Sprintf("k%d:vm:v", k), Machine: machine, Unit: "s"}
			for range 5 {
				p.Values = append(p.Values, level(machine, k)*math.Exp(night+0.01*b.random.NormFloat64()))
			}
			points = append(points, p)
		}
	}
	b.update(b.t, func(tx *sql.Tx) error {
		return errors.Join(b.DB.AddExperiment(b.t.Context(), tx, x),
			b.DB.PutPoints(b.t.Context(), tx, x, points, ""))
	})
}

// look is the job that finds events; a notice that cannot be stored is as a hub that is killed.
func (b *againBench) look(killed bool) {
	b.t.Helper()
	gone := errors.New("killed")
	err := b.reduceAll(b.t.Context(), func(_ context.Context, _ *sql.Tx, args river.JobArgs) error {
		if killed {
			return gone
		}
		b.notices = append(b.notices, args.(noticeArgs).Subject)
		return nil
	})
	must.Be(b.t, err == nil || killed && errors.Is(err, gone), err)
}

// measure lets the watcher of a name do what is next, and measures what it has submitted, when
// effect is that of a key between two revisions.
func (b *againBench) measure(s watch.Schedule, effect func(base, revision string, key int) float64) {
	b.t.Helper()
	step := func() {
		b.now = b.now.Add(time.Second)
		for did := true; did; { // each time a new watcher, as after a kill
			did = must.Get((&watch.Watcher{DB: b.watcher.DB, Store: b.watcher.Store, Log: b.watcher.Log,
				Dir: b.watcher.Dir}).Step(b.t.Context(), s))(b.t)
		}
	}
	step()
	for _, r := range must.Get(b.DB.OpenRuns(b.t.Context(), s.Name))(b.t) {
		if r.State != database.RunMeasuring || r.Machine == "" {
			continue
		}
		x := must.Get(b.DB.Experiment(b.t.Context(), r.ID))(b.t)
		must.Be(b.t, x.Name == s.Name+"-again" && x.Target == r.Machine && !x.ToPool, x)
		x.State = database.Done
		result := b.compared(func(key int) float64 { return effect(r.Base, r.Revision, key) })
		text := must.Get(json.Marshal(shortened(result, must.Get(b.isAgain(b.t.Context(), x.ID))(b.t))))(b.t)
		b.update(b.t, func(tx *sql.Tx) error { return b.DB.SetState(b.t.Context(), tx, x) })
		x = must.Get(b.DB.Experiment(b.t.Context(), r.ID))(b.t)
		b.update(b.t, func(tx *sql.Tx) error {
			return errors.Join(b.DB.PutPoints(b.t.Context(), tx, x, nil, ""), b.DB.PutAnswer(b.t.Context(),
				tx, x.ID, database.Answer{Text: "an answer", Comparison: string(text)}))
		})
	}
	step()
}

// compared measures the keys in 20 blocks of two revisions and a copy of the first. Executions
// differ by 1%, and blocks drift by 0.5%.
func (b *againBench) compared(effect func(key int) float64) *compare.Result {
	b.t.Helper()
	d := &dataset.Dataset{Info: dataset.Info{Blocked: true, Arms: []dataset.Arm{{Name: watch.BaseArm},
		{Name: watch.NewArm}, {Name: "again", Null: true}}}}
	for k := range againKeys {
		for n := range 20 {
			block := 0.005 * b.random.NormFloat64()
			b.blocks++
			for _, arm := range d.Arms {
				level := block + 0.01*b.random.NormFloat64()
				if arm.Name == watch.NewArm {
					level += effect(k)
				}
				values := make([]float64, 30)
				for i := range values {
					values[i] = math.Exp(level + 0.002*b.random.NormFloat64())
				}
				d.Add(key.Key{Benchmark: fmt.Sprint("k", k), VM: "vm", Variant: "v", Arm: arm.Name},
					dataset.Execution{Number: n + 1, Outcome: results.Completed, Columns: []dataset.Column{{
						Name: dataset.Wall, Unit: dataset.Seconds, Core: dataset.NoCore, Reals: values}}})
			}
		}
	}
	p := warmup.Default(classify.Relative)
	p.Resamples = 10
	doc := must.Get(warmup.Analyze(d, p, warmup.Options{}))(b.t)
	g := must.Get(compare.Choice{}.Groups(compare.Side{Doc: doc, Data: d}))(b.t)
	return must.Get(compare.OfGroups(g, compare.Options{}))(b.t)
}

// size is the effect of a change: half of the keys are 3 to 6% slower.
func size(key int) float64 {
	if key >= againKeys/2 {
		return 0
	}
	return 0.03 + 0.01*float64(key)
}

// TestAgain: events that the program did not cause are measured again, and no notice is sent; for
// those that it caused one notice is sent, with what measuring again has shown. Both
// machines of the hub measure both revisions. In half of the false ones both machines have changed
// in the same night, so that they agree on the program. A notice that cannot be stored is repeated.
func TestAgain(t *testing.T) {
	trials := must.Often(1, 20)
	var names []string
	for i := range 2 * trials {
		names = append(names, fmt.Sprintf("%s-%d", []string{"false", "true"}[i%2], i/2))
	}
	b := newAgainBench(t, names...)
	told, verdicts := map[string]int{}, map[string]int{}
	for i, s := range b.Schedules {
		real, alone := i%2 == 1, i/2%2 == 0
		b.notices = nil
		for v := range againNights {
			b.night(s.Name, v, func(machine string, key int) float64 {
				if v < againFrom || !real && alone && machine == "m2" {
					return 1
				}
				return math.Exp(size(key))
			})
			if v < againFrom || v%2 == 0 {
				continue
			}
			b.look(v%4 == 1)
			b.measure(s, func(base, revision string, key int) float64 {
				at := func(r string) int { return slices.Index(b.revisions, r) }
				if real && at(base) < againFrom && at(revision) >= againFrom {
					return size(key)
				}
				return 0
			})
		}
		b.look(true)
		b.look(false)
		events := must.Get(b.DB.Events(t.Context(), database.EventFilter{Name: s.Name}, 0, 50))(t)
		must.Be(t, len(events) > 0, s.Name, "has no event")
		for _, e := range events {
			verdicts[fmt.Sprint(real, " ", e.Verdict)]++
		}
		programs := 0
		for _, text := range b.notices {
			if strings.Contains(text, "machine on") {
				continue
			}
			programs++
			must.Contain(t, text, "measured again in blocks")
			must.Contain(t, text, " by +")
		}
		told[fmt.Sprint(real)] += min(programs, 1)
		must.Be(t, len(b.notices) <= len(events), "told twice", b.notices)
	}
	b.bisects()
	t.Logf("of %d each: told of %v; events by truth and verdict: %v; %d blocks of %d keys measured again",
		trials, told, verdicts, b.blocks/againKeys, againKeys)
	must.Be(t, told["false"] <= trials/20 && told["true"] >= trials-trials/10, told, verdicts)
}

// bisects: of the commits between two revisions of a true event, the hub finds the one that made
// it.
func (b *againBench) bisects() {
	b.t.Helper()
	s := b.Schedules[1]
	e := must.Get(b.DB.Events(b.t.Context(), database.EventFilter{Name: s.Name, Verdict: "program"}, 0,
		1))(b.t)[0]
	b.update(b.t, func(tx *sql.Tx) error {
		return b.DB.AddRun(b.t.Context(), tx, watch.BisectRun(&e, b.revisions[10], b.revisions[44]))
	})
	steps := 0
	var acts []database.Act
	for ; len(acts) == 0 && steps < 20; steps++ {
		b.measure(s, func(_, revision string, key int) float64 {
			if slices.Index(b.revisions, revision) < againFrom {
				return 0
			}
			return size(key)
		})
		acts = must.Get(b.DB.Acts(b.t.Context(), e.ID, 10))(b.t)
	}
	must.Need(b.t, len(acts) == 1, acts)
	must.Contain(b.t, acts[0].Text, "bisection: "+b.revisions[againFrom]+" made k")
	b.t.Logf("%d steps: %s", steps, acts[0].Text)
}

// TestNotices: findings of a project go to the project's own addresses, and to nobody if it has
// none. That a machine is silent goes to the addresses of the hub, without what it was measuring. A
// message that is sent again keeps its id.
func TestNotices(t *testing.T) {
	var told []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m map[string]string
		must.Do(t, json.NewDecoder(r.Body).Decode(&m))
		told = append(told, r.URL.Path+" "+m["id"]+" "+m["experiment"])
		must.Be(t, strings.Contains(m["text"], "secret") == strings.Contains(m["experiment"], "secret"), m)
	}))
	defer server.Close()
	b := newBench(t, dbtest.SQLite(t))
	b.update(t, func(tx *sql.Tx) error {
		for id, project := range map[string]string{"a": "", "b": "jit", "c": "vm"} {
			must.Do(t, b.DB.AddExperiment(t.Context(), tx, database.Experiment{ID: id, Name: "secret" + id,
				State: database.Done, Project: project}))
		}
		return nil
	})
	w := &workers{db: b.DB, log: slog.New(slog.DiscardHandler), config: Config{
		Notify:   command.Notifier{Webhook: server.URL + "/hub"},
		Projects: map[string]command.Notifier{"jit": {Webhook: server.URL + "/jit"}}}}
	for _, kind := range []command.MessageKind{Changed, Overdue} {
		for _, id := range []string{"a", "b", "c", "b"} {
			a := noticeArgs{ID: id + "1", Event: kind, Experiment: id, Subject: "x"}
			must.Do(t, w.notice(t.Context(), a))
		}
	}
	other := "1 of another project"
	must.EqualList(t, told, []string{"/hub a1 secreta", "/jit b1 jit/secretb", "/jit b1 jit/secretb",
		"/hub a1 secreta", "/hub b" + other, "/hub c" + other, "/hub b" + other})
}
