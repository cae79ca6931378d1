package database

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Point has the executions of a key in a version of the program on a machine.
type Point struct {
	Experiment      string // id; PutPoints does not use it
	Version, Source string // label, and where it is from: see history.Version
	Order           int64  // of the version; of several of one version, the smallest counts
	Key, Machine    string
	Control         bool
	Unit            string
	Values          []float64 // one per execution
}

const pointColumns = `experiment, version, source, ord, key, machine, control, unit, vals, name`

// Unreduced returns at most limit experiments that have ended, have records and were not reduced
// since they changed last, the oldest first.
func (db *DB) Unreduced(ctx context.Context, limit int) ([]Experiment, error) {
	return list[Experiment](ctx, db.Read, `SELECT `+experimentColumns+` FROM experiments x
		WHERE state IN ('done', 'stopped', 'failed')
		AND EXISTS (SELECT 1 FROM records r WHERE r.experiment = x.id)
		AND NOT EXISTS (SELECT 1 FROM reduced d WHERE d.experiment = x.id AND d.updated = x.updated)
		ORDER BY created, id LIMIT $1`, limit)
}

// PutPoints replaces what an experiment was reduced to. why is why it could not be; "" if it was.
func (db *DB) PutPoints(ctx context.Context, tx *sql.Tx, x Experiment, points []Point, why string) error {
	all := []statement{put("reduced", "experiment", "experiment, updated, error", "updated, error",
		x.ID, x.Updated, why), do(`DELETE FROM points WHERE experiment = $1`, x.ID)}
	for _, p := range points {
		all = append(all, insert("points", pointColumns, x.ID, p.Version, p.Source, p.Order, p.Key, p.Machine,
			p.Control, p.Unit, p.Values, x.Series()))
	}
	if _, err := run(ctx, tx, "store the values of experiment "+x.ID, all...); err != nil {
		return err
	}
	return db.Touch(ctx, tx, x.Series())
}

// Points returns the points of the experiments of a name, in the order of the versions: the newest
// versions whose values have together at most limit bytes.
func (db *DB) Points(ctx context.Context, name string, limit int) (points []Point, err error) {
	type sized struct {
		Point
		Bytes int
	}
	left, cut := limit, int64(-1) // order of the first version that is too much
	columns := strings.Replace(pointColumns, "name", "LENGTH(vals)", 1)
	for p, err := range rows[sized](ctx, db.Read, `SELECT `+columns+` FROM points WHERE name = $1
		ORDER BY ord DESC, experiment DESC, key DESC, machine DESC`, name) {
		if err != nil {
			return nil, err
		}
		if left -= p.Bytes; left < 0 {
			cut = p.Order
			break
		}
		points = append(points, p.Point)
	}
	slices.Reverse(points)
	return slices.DeleteFunc(points, func(p Point) bool { return p.Order == cut }), nil
}

// Answer is what an experiment has shown.
type Answer struct {
	Text       string // a sentence
	Comparison string // JSON of compare.Result, shortened; "" unless it has arms
	Levels     string // JSON of compare.Levels: how much its machines differ; "" unless several share it
}

// PutAnswer stores what an experiment has shown, after PutPoints.
func (db *DB) PutAnswer(ctx context.Context, tx *sql.Tx, experiment string, a Answer) error {
	return exec(ctx, tx, "store what experiment "+experiment+" has shown", `UPDATE reduced
		SET answer = $1, comparison = $2, machines = $3 WHERE experiment = $4`, a.Text, a.Comparison, a.Levels,
		experiment)
}

// Answer returns what PutAnswer stored; it is empty if there is nothing.
func (db *DB) Answer(ctx context.Context, experiment string) (Answer, error) {
	return maybe[Answer](ctx, db.Read, `SELECT answer, comparison, reduced.machines FROM reduced
		WHERE experiment = $1`, experiment)
}

// EachAnswer calls do with the sentences of several experiments. It must not use the database.
func (db *DB) EachAnswer(ctx context.Context, experiments []string, do func(experiment, text string)) error {
	if len(experiments) == 0 {
		return nil
	}
	type answer struct{ Experiment, Text string }
	places, args := placesOf(experiments)
	return each(ctx, db.Read, func(a answer) { do(a.Experiment, a.Text) },
		`SELECT experiment, answer FROM reduced WHERE experiment IN (`+places+`)`, args...)
}

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
		all = append(all, insert("series", "name, key, machine, versions, value, change, trend, doc", s.Name,
			s.Key, s.Machine, s.Versions, s.Value, math.Log(s.Change), s.Trend, s.Doc))
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
		all = append(all, insert("states", "machine, name, version, at, effects", s.Machine, name, s.Version,
			s.At, s.Effects))
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
