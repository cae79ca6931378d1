package database_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"krund/internal/hub/database"
	"krund/rig/must"
)

// TestPoints: a history is read from its newest version on, whole versions only, and in order.
func TestPoints(t *testing.T) {
	both(t, func(t *testing.T, open func() *database.DB) {
		db := open()
		for v := range 3 {
			update(t, db, func(tx *sql.Tx) error {
				x := database.Experiment{ID: fmt.Sprint("x", v), Name: "nightly", State: database.Done}
				if err := db.AddExperiment(t.Context(), tx, x); err != nil {
					return err
				}
				var points []database.Point
				for _, key := range []string{"a", "b"} {
					points = append(points, database.Point{Version: fmt.Sprint("v", v), Order: int64(v),
						Key: key, Machine: "m", Values: []float64{100, 200}}) // 9 bytes
				}
				return db.PutPoints(t.Context(), tx, x, points, "")
			})
		}
		for limit, want := range map[int]string{1000: "v0 a v0 b v1 a v1 b v2 a v2 b",
			54: "v0 a v0 b v1 a v1 b v2 a v2 b", 53: "v1 a v1 b v2 a v2 b", 40: "v1 a v1 b v2 a v2 b",
			36: "v1 a v1 b v2 a v2 b", 35: "v2 a v2 b", 17: ""} {
			points, err := db.Points(t.Context(), "nightly", limit)
			var got []string
			for _, p := range points {
				got = append(got, p.Version, p.Key)
			}
			text := strings.Join(got, " ")
			must.Be(t, err == nil && text == want, limit, "bytes", text, err, "want", want)
		}
	})
}

// TestHistoryOfOneMoment: a page of a history shows what one look at it has found: its versions and
// its series are never of two, however often another look replaces them meanwhile.
func TestHistoryOfOneMoment(t *testing.T) {
	both(t, func(t *testing.T, open func() *database.DB) {
		db := open()
		x := database.Experiment{ID: "x", Name: "nightly", State: database.Done}
		update(t, db, func(tx *sql.Tx) error {
			return errors.Join(db.AddExperiment(t.Context(), tx, x),
				db.PutPoints(t.Context(), tx, x, nil, ""))
		})
		find := func(n int) {
			update(t, db, func(tx *sql.Tx) error {
				_, err := db.PutHistory(t.Context(), tx, database.History{Name: x.Name, Changed: int64(n),
					Versions: fmt.Sprint(n)}, []database.Series{{Name: x.Name, Versions: n, Doc: "{}"}})
				return err
			})
		}
		find(1)
		var writer sync.WaitGroup
		stop := make(chan struct{})
		writer.Go(func() {
			for n := 2; ; n++ {
				select {
				case <-stop:
					return
				default:
					find(n)
				}
			}
		})
		for range 300 {
			h, list, _, err := db.Found(t.Context(), database.SeriesFilter{Name: "nightly"}, 0, 10, 10)
			must.Be(t, err == nil && len(list) == 1 && fmt.Sprint(list[0].Versions) == h.Versions, h, list,
				err)
		}
		close(stop)
		writer.Wait()
	})
}
