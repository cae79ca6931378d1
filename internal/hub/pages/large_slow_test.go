//go:build slow

package pages

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"krund/internal/analysis/history"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/rig/must"
)

// TestLarge times the pages of 500 series of 400 versions, in 25 names, with 1,000 experiments.
func TestLarge(t *testing.T) {
	const names, keys, nights, experiments = 25, 20, 400, 1000
	h := newTestHub(t, dbtest.SQLite(t), fakeKrunctl)
	k := history.KeyHistory{Machine: "bench-1", Levels: []history.Level{{To: nights - 1, Value: 1}},
		Changes: []history.Change{}}
	var versions []history.Version
	for v := range nights {
		versions = append(versions, history.Version{Label: fmt.Sprint("v", v), Source: "revision"})
		k.Points = append(k.Points, history.Point{Version: v, Executions: 5, Value: 1 + float64(v%7)/100,
			Low: 0.9, High: 1.1})
	}
	labels := must.Get(json.Marshal(versions))(t)
	h.update(func(tx *sql.Tx) error {
		for n := range experiments {
			x := database.Experiment{ID: fmt.Sprint("x", n), Name: fmt.Sprint("suite-", n%names),
				State: database.Done}
			if err := h.db.AddExperiment(t.Context(), tx, x); err != nil {
				return err
			}
			if err := h.db.PutPoints(t.Context(), tx, x, nil, ""); err != nil {
				return err
			}
		}
		return nil
	})
	for n := range names {
		name := fmt.Sprint("suite-", n)
		var series []database.Series
		for i := range keys {
			k.Key = fmt.Sprintf("benchmark-%d:HotSpot:default", i)
			series = append(series, database.Series{Name: name, Key: k.Key, Machine: k.Machine,
				Versions: nights, Value: 1, Change: 1, Trend: make([]float64, 60),
				Doc: string(must.Get(json.Marshal(k))(t))})
		}
		h.update(func(tx *sql.Tx) error {
			_, err := h.db.PutHistory(t.Context(), tx, database.History{Name: name, Unit: "s",
				Versions: string(labels), Changed: 1}, series)
			return err
		})
	}
	for _, path := range []string{"/", "/history", "/history?sort=change", "/history/suite-3", "/events",
		"/experiments", "/machines", "/queue"} {
		begin := time.Now()
		response, text := h.get(path)
		must.Equal(t, response.StatusCode, http.StatusOK, path)
		t.Logf("%s: %s, %d KB", path, time.Since(begin).Round(time.Millisecond), len(text)>>10)
	}
}
