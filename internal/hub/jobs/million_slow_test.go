//go:build slow

package jobs

import (
	"database/sql"
	"fmt"
	"os"
	"testing"
	"time"

	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/rig/must"
)

// TestMillion times the histories of 1,000,000 executions, 5 of each key in each version: 25 names
// of 40 keys and 200 versions. It prints the figures of docs/history.md.
func TestMillion(t *testing.T) {
	const names, keys, versions, executions = 25, 40, 200, 5
	h := newHistoryBench(t, dbtest.SQLite(t))
	begin := time.Now()
	for n := range names {
		name := fmt.Sprintf("suite-%d", n)
		for v := range versions {
			h.update(t, func(tx *sql.Tx) error {
				x := database.Experiment{ID: fmt.Sprintf("%s-%d", name, v), Name: name, State: database.Done}
				if err := h.Histories.DB.AddExperiment(t.Context(), tx, x); err != nil {
					return err
				}
				points := make([]database.Point, keys)
				for k := range points {
					points[k] = database.Point{Version: x.ID, Source: "name", Order: int64(v), Unit: "s",
						Key: fmt.Sprintf("benchmark-%d:HotSpot:default", k), Machine: "bench-1"}
					for range executions {
						points[k].Values = append(points[k].Values, 0.1*(1+0.01*h.random.NormFloat64()))
					}
				}
				return h.Histories.DB.PutPoints(t.Context(), tx, x, points, "")
			})
		}
	}
	stored := time.Since(begin)
	info, err := os.Stat(h.at)
	must.Do(t, err)
	t.Logf("%d executions stored in %s; the database has %d MB", names*keys*versions*executions,
		stored.Round(time.Second), info.Size()>>20)
	times := map[string]time.Duration{}
	for n := range 5 {
		name := fmt.Sprintf("suite-%d", 5*n)
		begin = time.Now()
		points, err := h.Histories.DB.Points(t.Context(), name, mostValues)
		must.Need(t, err == nil && len(points) == keys*versions, len(points), "points", err)
		times["points of a name"] += time.Since(begin) / 5
		begin = time.Now()
		must.Do(t, h.find(t.Context(), database.History{Name: name, Changed: versions}, nil))
		times["history of a name, found and stored"] += time.Since(begin) / 5
		begin = time.Now()
		must.Get(h.Histories.DB.Series(t.Context(), database.SeriesFilter{Change: true}, 0, 100))(t)
		times["series, the largest change first"] += time.Since(begin) / 5
	}
	for what, took := range times {
		t.Logf("%s: %s", what, took.Round(time.Millisecond))
	}
}
