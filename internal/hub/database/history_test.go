package database_test

import (
	"database/sql"
	"fmt"
	"strings"
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
