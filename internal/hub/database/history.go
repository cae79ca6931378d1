package database

import (
	"context"
	"database/sql"
	"errors"
	"slices"
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
	all := []statement{do(`INSERT INTO reduced (experiment, updated, error) VALUES ($1, $2, $3)
		ON CONFLICT (experiment) DO UPDATE SET updated = excluded.updated, error = excluded.error`,
		x.ID, x.Updated, why), do(`DELETE FROM points WHERE experiment = $1`, x.ID)}
	for _, p := range points {
		all = append(all, do(`INSERT INTO points (experiment, name, version, source, ord, key, machine,
			control, unit, vals) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			x.ID, x.Series(), p.Version, p.Source, p.Order, p.Key, p.Machine, p.Control, p.Unit, p.Values))
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
	for p, err := range rows[sized](ctx, db.Read, `SELECT experiment, version, source, ord, key, machine,
		control, unit, vals, LENGTH(vals) FROM points WHERE name = $1
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
func (db *DB) Answer(ctx context.Context, experiment string) (a Answer, err error) {
	a, err = first[Answer](ctx, db.Read, `SELECT answer, comparison, reduced.machines FROM reduced
		WHERE experiment = $1`, experiment)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return a, err
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
