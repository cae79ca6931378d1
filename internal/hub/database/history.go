package database

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
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
	return list(ctx, db.Read, scanExperiment, `SELECT `+experimentColumns+` FROM experiments x
		WHERE state IN ('done', 'stopped', 'failed')
		AND EXISTS (SELECT 1 FROM records r WHERE r.experiment = x.id)
		AND NOT EXISTS (SELECT 1 FROM reduced d WHERE d.experiment = x.id AND d.updated = x.updated)
		ORDER BY created, id LIMIT $1`, limit)
}

// PutPoints replaces what an experiment was reduced to. why is why it could not be; "" if it was.
func (db *DB) PutPoints(ctx context.Context, tx *sql.Tx, x Experiment, points []Point, why string) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO reduced (experiment, updated, error) VALUES ($1, $2, $3)
		ON CONFLICT (experiment) DO UPDATE SET updated = excluded.updated, error = excluded.error`,
		x.ID, stamp(x.Updated), why)
	if err == nil {
		_, err = tx.ExecContext(ctx, `DELETE FROM points WHERE experiment = $1`, x.ID)
	}
	for i := range points {
		if err == nil {
			err = addPoint(ctx, tx, x, &points[i])
		}
	}
	if err != nil {
		return fmt.Errorf("store the values of experiment %s: %w", x.ID, err)
	}
	return touch(ctx, tx, x.Name)
}

func addPoint(ctx context.Context, tx *sql.Tx, x Experiment, p *Point) error {
	values, err := json.Marshal(p.Values)
	if err != nil {
		return err
	}
	control := 0
	if p.Control {
		control = 1
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO points (experiment, name, version, source, ord, key, machine,
		control, unit, vals) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		x.ID, x.Name, p.Version, p.Source, p.Order, p.Key, p.Machine, control, p.Unit, string(values))
	return err
}

// Points returns the points of the experiments of a name, in the order of the versions: the newest
// versions whose values have together at most limit bytes.
func (db *DB) Points(ctx context.Context, name string, limit int) (points []Point, err error) {
	left, cut := limit, int64(-1) // order of the first version that is too much
	err = each(ctx, db.Read, func(r row) error {
		var p Point
		var control int64
		var values string
		if err := r.Scan(&p.Experiment, &p.Version, &p.Source, &p.Order, &p.Key, &p.Machine, &control,
			&p.Unit, &values); err != nil {
			return err
		}
		if left -= len(values); left < 0 {
			cut = p.Order
			return errEnough
		}
		p.Control = control != 0
		points = append(points, p)
		return json.Unmarshal([]byte(values), &points[len(points)-1].Values)
	}, `SELECT experiment, version, source, ord, key, machine, control, unit, vals FROM points WHERE name = $1
		ORDER BY ord DESC, experiment DESC, key DESC, machine DESC`, name)
	if errors.Is(err, errEnough) {
		err = nil
	}
	slices.Reverse(points)
	return slices.DeleteFunc(points, func(p Point) bool { return p.Order == cut }), err
}

// errEnough ends the reading of rows.
var errEnough = errors.New("enough")

// Answer is what an experiment has shown.
type Answer struct {
	Text       string // a sentence
	Comparison string // JSON of compare.Result, shortened; "" unless it has arms
	Levels     string // JSON of compare.Levels: how much its machines differ; "" unless several share it
}

// PutAnswer stores what an experiment has shown, after PutPoints.
func (db *DB) PutAnswer(ctx context.Context, tx *sql.Tx, experiment string, a Answer) error {
	_, err := tx.ExecContext(ctx, `UPDATE reduced SET answer = $1, comparison = $2, machines = $3
		WHERE experiment = $4`, a.Text, a.Comparison, a.Levels, experiment)
	return err
}

// Answer returns what PutAnswer stored; it is empty if there is nothing.
func (db *DB) Answer(ctx context.Context, experiment string) (a Answer, err error) {
	err = db.Read.QueryRowContext(ctx, `SELECT answer, comparison, machines FROM reduced
		WHERE experiment = $1`, experiment).Scan(&a.Text, &a.Comparison, &a.Levels)
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
	places, args := placesOf(experiments)
	return each(ctx, db.Read, func(r row) error {
		var id, text string
		err := r.Scan(&id, &text)
		if err == nil {
			do(id, text)
		}
		return err
	}, `SELECT experiment, answer FROM reduced WHERE experiment IN (`+places+`)`, args...)
}
