package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"krund/internal/hub/access"
)

// Version returns a text that changes when a page may have changed, whichever process of the hub
// has changed it, and whatever its clock shows. It reads no large table.
func (db *DB) Version(ctx context.Context) (string, error) {
	var n [9]int64
	// Each message of a machine changes last_seen; what people change is of what runs or waits, or
	// adds, ends or removes rows. The sums are of remainders, so that they do not overflow.
	err := db.Read.QueryRowContext(ctx, `SELECT
		(SELECT COALESCE(MAX(seq), 0) FROM records), (SELECT COUNT(*) FROM experiments),
		(SELECT COALESCE(SUM(updated % 1000000007), 0) FROM experiments WHERE state IN ('queued', 'running')),
		(SELECT COALESCE(SUM(updated % 1000000007), 0) FROM shares WHERE state = 'running'),
		(SELECT COALESCE(SUM(last_seen % 1000000007), 0) FROM machines), (SELECT COUNT(*) FROM machines),
		(SELECT COUNT(*) FROM alerts), (SELECT COALESCE(SUM((muted + closed) % 1000000007), 0) FROM alerts),
		(SELECT COALESCE(SUM((updated + found) % 1000000007), 0) FROM
			(SELECT updated, 0 AS found FROM events UNION ALL SELECT 0, found FROM histories) changes)`).
		Scan(&n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6], &n[7], &n[8])
	if err != nil {
		return "", fmt.Errorf("read the version of the data: %w", err)
	}
	return strings.Trim(fmt.Sprint(n), "[]"), nil
}

// ContentVersion returns a text that changes when records or files of an experiment arrive; "" if
// there are no records.
func (db *DB) ContentVersion(ctx context.Context, experiment string) (string, error) {
	var records, last, files int64
	err := db.Read.QueryRowContext(ctx, `SELECT
		(SELECT COUNT(*) FROM records WHERE experiment = $1),
		(SELECT COALESCE(MAX(seq), 0) FROM records WHERE experiment = $1),
		(SELECT COALESCE(MAX(received), 0) FROM files WHERE experiment = $1)`, experiment).
		Scan(&records, &last, &files)
	if err != nil {
		return "", fmt.Errorf("read the version of experiment %s: %w", experiment, err)
	}
	if records == 0 {
		return "", nil
	}
	return fmt.Sprintf("%d %d %d", records, last, files), nil
}

// Active returns the experiments that run or wait, those that run first, the others in the order in
// which they are served.
func (db *DB) Active(ctx context.Context, skip, limit int) ([]Experiment, error) {
	return list(ctx, db.Read, scanExperiment, `SELECT `+experimentColumns+` FROM experiments
		WHERE state IN ('running', 'queued')
		ORDER BY CASE state WHEN 'running' THEN 0 ELSE 1 END, priority DESC, created, id LIMIT $1 OFFSET $2`,
		limit, skip)
}

// ExperimentsBefore returns at most limit experiments, the newest first: those that were created
// before a time, in microseconds since 1970, or at it with an id after after.
func (db *DB) ExperimentsBefore(ctx context.Context, before int64, after string, limit int) (
	[]Experiment, error) {
	return list(ctx, db.Read, scanExperiment, `SELECT `+experimentColumns+` FROM experiments
		WHERE created < $1 OR created = $1 AND id > $2 ORDER BY created DESC, id LIMIT $3`, before, after,
		limit)
}

// EachShare calls do with each share of several experiments. It must not use the database.
func (db *DB) EachShare(ctx context.Context, experiments []string, do func(Share)) error {
	if len(experiments) == 0 {
		return nil
	}
	places, args := placesOf(experiments)
	return each(ctx, db.Read, func(r row) error {
		s, err := scanShare(r)
		if err == nil {
			do(s)
		}
		return err
	}, `SELECT `+shareColumns+` FROM shares WHERE experiment IN (`+places+`)
		ORDER BY experiment, idx, machine`, args...)
}

// placesOf returns the parameters of a query for several values: "$1, $2".
func placesOf(values []string) (string, []any) {
	places, args := make([]string, len(values)), make([]any, len(values))
	for i, v := range values {
		places[i], args[i] = fmt.Sprintf("$%d", i+1), v
	}
	return strings.Join(places, ", "), args
}

// ShareView is a share with what pages show beside it.
type ShareView struct {
	Share
	Name    string // of the experiment
	Host    string // name of the machine
	Details string // JSON of api.Details: untrusted; "" if Status has them
}

// views calls do with the shares that a condition selects, with their details if that is wanted.
func (db *DB) views(ctx context.Context, details bool, do func(ShareView), condition string,
	args ...any) error {
	column := `''`
	if details {
		column = `s.details`
	}
	columns := "s." + strings.Join(strings.Fields(shareColumns), " s.")
	return each(ctx, db.Read, func(r row) error {
		var v ShareView
		s, err := scanShare(more{r, []any{&v.Name, &v.Host, &v.Details}})
		if v.Share = s; err == nil {
			do(v)
		}
		return err
	}, `SELECT `+columns+`, x.name, m.name, `+column+` FROM shares s
		JOIN experiments x ON x.id = s.experiment JOIN machines m ON m.id = s.machine WHERE `+condition, args...)
}

// more is a row that has more columns than are asked for.
type more struct {
	row
	into []any
}

// Scan implements row.
func (m more) Scan(into ...any) error { return m.row.Scan(append(into, m.into...)...) }

// SharesIn calls do with each share of an experiment by index. It must not use the database.
func (db *DB) SharesIn(ctx context.Context, experiment string, details bool, do func(ShareView)) error {
	return db.views(ctx, details, do, `s.experiment = $1 ORDER BY s.idx, s.machine`, experiment)
}

// SharesOn returns at most limit shares of a machine with their details, the newest first.
func (db *DB) SharesOn(ctx context.Context, machine string, limit int) (all []ShareView, err error) {
	return all, db.views(ctx, true, func(v ShareView) { all = append(all, v) },
		`s.machine = $1 ORDER BY s.created DESC, s.experiment LIMIT $2`, machine, limit)
}

// Newest returns the newest share of a machine, and the newest one that runs, of an experiment that
// has not ended. Those that do not exist have no experiment.
func (db *DB) Newest(ctx context.Context, machine string) (newest, running ShareView, err error) {
	err = db.views(ctx, false, func(v ShareView) { newest = v },
		`s.machine = $1 ORDER BY s.created DESC, s.experiment LIMIT 1`, machine)
	if err == nil {
		err = db.views(ctx, false, func(v ShareView) { running = v }, `s.machine = $1
			AND s.state = 'running' AND x.state IN ('running', 'queued')
			ORDER BY s.created DESC, s.experiment LIMIT 1`, machine)
	}
	return newest, running, err
}

// NewestFile returns the file of this name that a machine sent last; without a hash if there is
// none.
func (db *DB) NewestFile(ctx context.Context, machine, name string) (File, error) {
	all, err := list(ctx, db.Read, scanFile, `SELECT experiment, machine, name, hash, received FROM files
		WHERE machine = $1 AND name = $2 ORDER BY received DESC, experiment LIMIT 1`, machine, name)
	if err != nil || len(all) == 0 {
		return File{}, err
	}
	return all[0], nil
}

// SetPriority changes the priority of an experiment.
func (db *DB) SetPriority(ctx context.Context, tx *sql.Tx, experiment string, priority int64) error {
	result, err := tx.ExecContext(ctx, `UPDATE experiments SET priority = $2, updated = $3 WHERE id = $1`,
		experiment, priority, stamp(db.now()))
	return affected(result, err, "experiment "+experiment)
}

// StopExperiment keeps the parts of an experiment that wait from being begun, and asks the machines
// that run the others to stop. The caller has locked it.
func (db *DB) StopExperiment(ctx context.Context, tx *sql.Tx, experiment string) error {
	now := stamp(db.now())
	if _, err := tx.ExecContext(ctx, `UPDATE shares SET request = 'stop', updated = $2
		WHERE experiment = $1 AND state = 'running'`, experiment, now); err != nil {
		return fmt.Errorf("stop the shares of experiment %s: %w", experiment, err)
	}
	if _, err := tx.ExecContext(ctx, `UPDATE shares SET state = 'stopped', updated = $2
		WHERE experiment = $1 AND state = 'queued'`, experiment, now); err != nil {
		return fmt.Errorf("stop the shares of experiment %s: %w", experiment, err)
	}
	_, err := tx.ExecContext(ctx, `UPDATE experiments SET state = 'stopped', updated = $2
		WHERE id = $1 AND state IN ('queued', 'running')`, experiment, now)
	if err != nil {
		return fmt.Errorf("stop experiment %s: %w", experiment, err)
	}
	return nil
}

// Alert is something that people should know. One is open for each kind and subject.
type Alert struct {
	ID, Kind, Subject   string
	Machine, Experiment string // ids; "" none
	Text                string // untrusted
	State               string // open, closed
	Owner               string // of the experiment, "" none; not stored with it
	Muted               time.Time
	Created, Closed     time.Time
}

// Raise opens an alert about a machine unless one of this kind and subject is open, and reports
// whether people are to be notified: not again, and not if the one before is muted.
func (db *DB) Raise(ctx context.Context, tx *sql.Tx, a Alert) (bool, error) {
	var muted int64
	err := tx.QueryRowContext(ctx, `INSERT INTO alerts
		(id, kind, subject, machine, experiment, text, state, muted,
		created) VALUES ($1, $2, $3, $4, $5, $6, 'open',
			(SELECT COALESCE(MAX(muted), 0) FROM alerts WHERE kind = $2 AND subject = $3), $7)
		ON CONFLICT DO NOTHING RETURNING muted`, access.NewID(), a.Kind, a.Subject, a.Machine, a.Experiment,
		a.Text, stamp(db.now())).Scan(&muted)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("store an alert: %w", err)
	}
	return muted <= stamp(db.now()), nil
}

// Alerts returns at most limit alerts after those that are skipped, open ones first, then the
// newest; those of one experiment unless it is "".
func (db *DB) Alerts(ctx context.Context, experiment string, skip, limit int) ([]Alert, error) {
	return list(ctx, db.Read, scanAlert, `SELECT `+alertColumns+` WHERE $1 = '' OR a.experiment = $1
		ORDER BY CASE a.state WHEN 'open' THEN 0 ELSE 1 END, a.created DESC, a.id LIMIT $2 OFFSET $3`,
		experiment, limit, skip)
}

const alertColumns = `a.id, a.kind, a.subject, a.machine, a.experiment, a.text, a.state, a.muted, a.created,
	a.closed, COALESCE(x.owner, '') FROM alerts a LEFT JOIN experiments x ON x.id = a.experiment`

func scanAlert(r row) (a Alert, err error) {
	var muted, created, closed int64
	err = r.Scan(&a.ID, &a.Kind, &a.Subject, &a.Machine, &a.Experiment, &a.Text, &a.State, &muted,
		&created, &closed, &a.Owner)
	a.Muted, a.Created, a.Closed = stamped(muted), stamped(created), stamped(closed)
	return a, err
}

// Alert returns an alert; the error wraps ErrMissing if there is none.
func (db *DB) Alert(ctx context.Context, tx *sql.Tx, id string) (Alert, error) {
	a, err := scanAlert(tx.QueryRowContext(ctx, `SELECT `+alertColumns+` WHERE a.id = $1`, id))
	return a, missing(err, "alert "+id)
}

// OpenAlerts counts the alerts that are open and not muted.
func (db *DB) OpenAlerts(ctx context.Context) (n int, err error) {
	err = db.Read.QueryRowContext(ctx, `SELECT COUNT(*) FROM alerts WHERE state = 'open' AND muted <= $1`,
		stamp(db.now())).Scan(&n)
	return n, err
}

// MuteAlert mutes an alert until a time; the zero time ends that.
func (db *DB) MuteAlert(ctx context.Context, tx *sql.Tx, id string, until time.Time) error {
	result, err := tx.ExecContext(ctx, `UPDATE alerts SET muted = $2 WHERE id = $1`, id, stamp(until))
	return affected(result, err, "alert "+id)
}
