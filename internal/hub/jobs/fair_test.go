package jobs

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/rig/must"
)

// TestFair: a person's experiment does not wait behind fifty of others. Machine time goes to users
// and series by weight: a user with weight 3 gets three of four turns; priorities count only among
// a user's own.
func TestFair(t *testing.T) { dbtest.OnEach(t, testFair) }

func testFair(t *testing.T, at string) {
	b := newBench(t, at, "lab1")
	add := func(owner, name string, n int, priority int64) {
		for range n {
			b.now = b.now.Add(time.Second)
			b.update(t, func(tx *sql.Tx) (err error) {
				_, err = b.Submit(t.Context(), tx, database.Experiment{Name: name, Owner: owner, Bundle: "b",
					Target: "pool", ToPool: true, Parts: 1, Priority: priority})
				return err
			})
		}
	}
	serve := func(n int) string { // an hour each
		var list []string
		for range n {
			_, next := b.ask(t, "lab1")
			must.Need(t, next != nil, "nothing waits")
			b.now = b.now.Add(time.Hour)
			b.report(t, next.Experiment, "lab1", api.Progress{Slots: 1, Completed: 1, Ended: true})
			list = append(list, next.Name)
		}
		return strings.Join(list, " ")
	}
	add("ann", "fifty", 50, 9)
	must.Equal(t, serve(2), "fifty fifty")
	add("ben", "quick", 1, 0)
	must.Equal(t, serve(2), "quick fifty")
	b.Weights = Weights{Users: []Weight{{"c*", 3}}, Series: []Weight{{"rare", 0.5}}}
	b.now = b.now.Add(FairTime) // what was used before does not count
	add("cat", "often", 20, 0)
	add("cat", "rare", 20, 0)
	add("cat", "urgent", 1, 1)
	got := serve(16)
	must.Equal(t, fmt.Sprint(strings.Count(got, "fifty"), strings.Count(got, "urgent"), strings.Count(got,
		"often"),
		strings.Count(got, "rare")), "4 1 7 4", got)
	must.Be(t, strings.Index(got, "urgent") < strings.Index(got, "often"), got)
}
