package database

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"
)

// Series is a key on a machine in the history of a name.
type Series struct {
	Name     string    `json:"name"` // of the experiments
	Key      string    `json:"key"`
	Machine  string    `json:"machine"`
	Unit     string    `json:"unit"`
	Versions int       `json:"versions"` // in which it was measured
	Value    float64   `json:"value"`    // its last level
	Change   float64   `json:"change"`   // ratio of the levels at its last change; 1: none was found
	Trend    []float64 `json:"trend"`    // its last values
	Doc      string    `json:"-"`        // JSON of history.KeyHistory; lists do not have it
}

// History is what was found in the values of a name.
type History struct {
	Name, Unit, Versions string // Versions is JSON: history.Version
	Changed, Found       int64  // they differ if values have changed since
}

// Touch notes that the values of a name have changed.
func (db *DB) Touch(ctx context.Context, tx *sql.Tx, name string) error {
	return exec(ctx, tx, "note that history "+name+" has changed", `INSERT INTO histories (name) VALUES ($1)
		ON CONFLICT (name) DO UPDATE SET changed = histories.changed + 1`, name)
}

// ChangedHistories returns at most limit histories whose values have changed since they were made.
func (db *DB) ChangedHistories(ctx context.Context, limit int) ([]History, error) {
	return list[History](ctx, db.Read, `SELECT name, unit, versions, changed, found FROM histories
		WHERE changed <> found ORDER BY name LIMIT $1`, limit)
}

// Found returns what was found in the values of a name, its series as [DB.Series] does, and at most
// mostEvents of its events with their keys, the newest first. All are of one moment, because series
// number the versions. The error wraps ErrMissing if there are none.
func (db *DB) Found(ctx context.Context, f SeriesFilter, skip, most, mostEvents int) (h History,
	all []Series, events []Event, err error) {
	moment, err := db.Read.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return h, nil, nil, fmt.Errorf("read history %s: %w", f.Name, err)
	}
	defer moment.Rollback() //nolint:errcheck // it only reads
	h, err = find[History](ctx, moment, "history "+f.Name, `SELECT name, unit, versions, changed, found
		FROM histories WHERE name = $1 AND found > 0`, f.Name)
	if err == nil {
		all, err = series(ctx, moment, f, skip, most)
	}
	if err == nil {
		events, err = list[Event](ctx, moment, selectEvents(`e.keys`)+`
			WHERE e.name = $1 ORDER BY e.created DESC, e.id LIMIT $2`, f.Name, mostEvents)
	}
	return h, all, events, err
}

// PutHistory replaces what was found in the values of a name when Changed was h.Changed, and its
// series, and reports whether it did: not if another process has found what came later. Until tx
// ends, no other one changes them. Without series the name has no values any more, and is forgotten
// with its events.
func (db *DB) PutHistory(ctx context.Context, tx *sql.Tx, h History, series []Series) (bool, error) {
	n, err := run(ctx, tx, "history "+h.Name, do(`UPDATE histories SET found = $2, unit = $3, versions = $4
		WHERE name = $1 AND found < $2`, h.Name, h.Changed, h.Unit, h.Versions))
	if err != nil || n == 0 {
		return false, err
	}
	all := []statement{do(`DELETE FROM series WHERE name = $1`, h.Name)}
	if len(series) == 0 {
		all = append(all, do(`DELETE FROM events WHERE name = $1`, h.Name),
			do(`DELETE FROM histories WHERE name = $1 AND changed = found`, h.Name))
	}
	for _, s := range series {
		all = append(all, do(`INSERT INTO series (name, key, machine, versions, value, change, trend, doc)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, s.Name, s.Key, s.Machine, s.Versions, s.Value,
			math.Log(s.Change), s.Trend, s.Doc))
	}
	_, err = run(ctx, tx, "store history "+h.Name, all...)
	return err == nil, err
}

// State is a state of a machine, and what it did to keys.
type State struct {
	Machine, Name, Version string // with which version of the history of a name it began
	At                     int64  // order of that version, see Point
	Effects                map[string]float64
}

// mostStates is how many are compared with an event.
const mostStates = 100

// States returns the newest states that are known of some machines, without those that the history
// of a name has found from a version on: it finds these itself.
func (db *DB) States(ctx context.Context, machines []string, name string, from int64) ([]State, error) {
	places, args := placesOf(machines)
	n := len(args)
	return list[State](ctx, db.Read, `SELECT machine, name, version, at, effects FROM states
		WHERE machine IN (`+places+`) AND NOT (name = `+placeAt(n+1)+` AND at >= `+placeAt(n+2)+`)
		ORDER BY at DESC, name, version LIMIT `+placeAt(n+3), append(args, name, from, mostStates)...)
}

// PutStates replaces the states that the history of a name has found from a version on.
func (db *DB) PutStates(ctx context.Context, tx *sql.Tx, name string, from int64, states []State) error {
	all := []statement{do(`DELETE FROM states WHERE name = $1 AND at >= $2`, name, from)}
	for _, s := range states {
		all = append(all, do(`INSERT INTO states (machine, name, version, at, effects)
			VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`, s.Machine, name, s.Version, s.At, s.Effects))
	}
	_, err := run(ctx, tx, "store the states of machines in history "+name, all...)
	return err
}

// SeriesFilter selects series. Fields that are "" select all.
type SeriesFilter struct {
	Name, Machine, Key string
	Text               string // a part of the name or of the key, in whatever case
	Change             bool   // the largest change first; else by name, key and machine
	Docs               bool   // with Doc, without Trend
}

// Series returns at most limit series, after skip.
func (db *DB) Series(ctx context.Context, f SeriesFilter, skip, limit int) ([]Series, error) {
	return series(ctx, db.Read, f, skip, limit)
}

func series(ctx context.Context, from querier, f SeriesFilter, skip, limit int) ([]Series, error) {
	order := `s.name, s.key, s.machine`
	if f.Change {
		order = `ABS(s.change) DESC, ` + order
	}
	columns := `s.trend, ''`
	if f.Docs {
		columns = `'[]', s.doc`
	}
	all, err := list[Series](ctx, from, `SELECT s.name, s.key, s.machine, h.unit, s.versions, s.value,
		s.change, `+columns+`
		FROM series s JOIN histories h ON h.name = s.name
		WHERE ($1 = '' OR s.name = $1) AND ($2 = '' OR s.machine = $2)
		AND ($3 = '' OR s.key = $3)
		AND ($4 = '' OR LOWER(s.name) LIKE $4 ESCAPE '!' OR LOWER(s.key) LIKE $4 ESCAPE '!')
		ORDER BY `+order+` LIMIT $5 OFFSET $6`, f.Name, f.Machine, f.Key, part(f.Text), limit, skip)
	for i := range all {
		all[i].Change = math.Exp(all[i].Change)
	}
	return all, err
}

// part is a pattern of LIKE for texts that contain one.
func part(text string) string {
	if text == "" {
		return ""
	}
	return "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(strings.ToLower(text)) + "%"
}

// SeriesMachines returns the names of at most limit machines that series have.
func (db *DB) SeriesMachines(ctx context.Context, name string, limit int) ([]string, error) {
	return list[string](ctx, db.Read,
		`SELECT DISTINCT machine FROM series WHERE $1 = '' OR name = $1 ORDER BY machine LIMIT $2`, name, limit)
}
