package jobs

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/riverqueue/river"

	"krund/internal/analysis/history"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/rig/must"
)

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
