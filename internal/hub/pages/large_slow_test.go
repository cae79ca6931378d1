//go:build slow

package pages

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"krund/internal/analysis/history"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/rig/must"
)

// TestLarge times the pages of 500 series of 400 versions, in 25 names, with 1,000 experiments of
// 1,000 records each and 1,000 events, and states the memory of the process that serves them.
func TestLarge(t *testing.T) {
	const names, keys, nights, experiments, records, events = 25, 20, 400, 1000, 1000, 1000
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
			err := h.db.PutShare(t.Context(), tx, database.Share{Experiment: x.ID, Machine: h.machine,
				Count: 1, State: database.Done, Status: `{"slots":1000,"completed":1000}`})
			if err != nil {
				return err
			}
		}
		result, err := tx.ExecContext(t.Context(), `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n
			WHERE i < $1 - 1) INSERT INTO records (experiment, machine, slot, attempt, blob, received)
			SELECT 'x' || (i % $2), $3, i / $2, 1, (SELECT MIN(hash) FROM blobs), i FROM n`, experiments*records,
			experiments, h.machine)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		must.Equal(t, n, experiments*records, "records")
		return err
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
	h.update(func(tx *sql.Tx) error {
		for n := range events {
			if err := h.db.PutEvent(t.Context(), tx, database.Event{ID: fmt.Sprint("v", n),
				Machine: "bench-1", Name: fmt.Sprint("suite-", n%names), Present: true,
				Verdict: []string{"program", "machine"}[n%2],
				Finding: database.Finding{Version: fmt.Sprint("v", n), Changed: keys, Of: keys,
					Example: "benchmark-7:HotSpot:default", Median: 1.05}}); err != nil {
				return err
			}
		}
		return nil
	})
	for _, path := range []string{"/", "/history", "/history?sort=change",
		"/history?text=mark-7&machine=bench-1", "/history/suite-3",
		"/history/suite-3?key=benchmark-7:HotSpot:default", "/events", "/events/v7",
		"/experiments", "/experiments/x7",
		"/machines", "/machines/bench-1", "/queue", "/compare", "/api/v1/now", "/api/v1/history",
		"/api/v1/history/suite-3", "/api/v1/history/suite-3/values.csv",
		"/api/v1/history/suite-3/values.parquet"} {
		took := make([]time.Duration, 5)
		size := 0
		for i := range took {
			begin := time.Now()
			response, text := h.get(path)
			took[i], size = time.Since(begin), len(text)
			must.Equal(t, response.StatusCode, http.StatusOK, path)
		}
		slices.Sort(took)
		t.Logf("%s: %s (median of 5; %s to %s), %d KB", path, took[2].Round(time.Millisecond),
			took[0].Round(time.Millisecond), took[4].Round(time.Millisecond), size>>10)
	}
	status := string(must.Get(os.ReadFile("/proc/self/status"))(t))
	for line := range strings.Lines(status) {
		if strings.HasPrefix(line, "VmHWM") || strings.HasPrefix(line, "VmRSS") {
			t.Log("this process, which also filled the database:", strings.Join(strings.Fields(line), " "))
		}
	}
}
