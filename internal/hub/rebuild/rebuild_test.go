package rebuild_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"krund/internal/durable"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/rebuild"
	"krund/rig/must"
)

// TestSweep: directories that are old, of deleted experiments, or used least recently of too many
// are removed, and so are reports; those in use and what is being made stay.
func TestSweep(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	db := must.Get(database.Open(t.Context(), dbtest.SQLite(t), func() time.Time { return now }))(t)
	defer db.Close()
	before := rebuild.MostBytes
	defer func() { rebuild.MostBytes = before }()
	rebuild.MostBytes = 100 << 10
	c := &rebuild.Cache{DB: db, FS: durable.OS(), Dir: t.TempDir()}
	for name, d := range map[string]struct {
		age     time.Duration
		deleted bool
		bytes   int
	}{
		"asked":              {40 * 24 * time.Hour, false, 10}, // the one that is asked for: it is made again
		"new":                {2 * time.Hour, false, 70 << 10},
		"large":              {3 * time.Hour, false, 70 << 10}, // too much with the former
		"in-use":             {time.Minute, false, 500},
		"old":                {31 * 24 * time.Hour, false, 10},
		"deleted":            {2 * time.Minute, true, 10},
		"reports/new-x":      {2 * time.Minute, true, 10},
		"reports/new-old-x":  {2 * time.Hour, true, 10},
		"reports/old-x":      {31 * 24 * time.Hour, true, 10},
		"reports/gone-x":     {2 * time.Minute, true, 10},
		"reports/new-gone-x": {2 * time.Minute, true, 10},
		"reports/part-12":    {2 * time.Minute, true, 10},
		"reports/work-12":    {2 * time.Minute, true, 10},
	} {
		if !d.deleted {
			must.Do(t, db.Update(t.Context(), func(tx *sql.Tx) error {
				return db.AddExperiment(t.Context(), tx, database.Experiment{ID: name, Name: name,
					State: database.Done})
			}))
		}
		dir := filepath.Join(c.Dir, name)
		err := os.MkdirAll(dir, 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "x"), make([]byte, d.bytes), 0o644)
		}
		if err == nil {
			err = os.Chtimes(dir, now.Add(-d.age), now.Add(-d.age))
		}
		must.Do(t, err)
	}
	must.Get(c.Experiment(t.Context(), "asked"))(t)
	var left []string
	for _, pattern := range []string{"*", "reports/*"} {
		for _, name := range must.Get(filepath.Glob(filepath.Join(c.Dir, pattern)))(t) {
			left = append(left, strings.TrimPrefix(name, c.Dir+"/"))
		}
	}
	must.Equal(t, strings.Join(left, " "),
		"in-use new reports reports/new-old-x reports/new-x reports/part-12 reports/work-12")
}
