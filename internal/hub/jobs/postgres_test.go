package jobs_test

import (
	"log/slog"
	"testing"
	"time"

	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/hubtest"
	"krund/internal/hub/jobs"
)

// TestPostgres: River's tables are migrated once, and its workers start and stop, on PostgreSQL.
func TestPostgres(t *testing.T) {
	db, err := database.Open(t.Context(), dbtest.Postgres(t), func() time.Time { return hubtest.Now })
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for range 2 { // the second finds nothing to migrate
		j, err := jobs.Open(t.Context(), db, jobs.Config{}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := j.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var n int
	if err := db.Read.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM river_migration`).Scan(&n); n == 0 {
		t.Errorf("%d migrations of River, %v", n, err)
	}
}
