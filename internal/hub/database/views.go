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
	// Each message of a machine changes last_seen; what people change is of what runs or waits, or
	// adds, ends or removes rows. The sums are of remainders, so that they do not overflow.
	type numbers struct{ A, B, C, D, E, F, G, H, I int64 }
	n, err := first[numbers](ctx, db.Read, `SELECT
		(SELECT COALESCE(MAX(seq), 0) FROM records), (SELECT COUNT(*) FROM experiments),
		(SELECT COALESCE(SUM(updated % 1000000007), 0) FROM experiments WHERE state IN ('queued', 'running')),
		(SELECT COALESCE(SUM(updated % 1000000007), 0) FROM shares WHERE state = 'running'),
		(SELECT COALESCE(SUM(last_seen % 1000000007), 0) FROM machines), (SELECT COUNT(*) FROM machines),
		(SELECT COUNT(*) FROM alerts), (SELECT COALESCE(SUM((muted + closed) % 1000000007), 0) FROM alerts),
		(SELECT COALESCE(SUM((updated + found) % 1000000007), 0) FROM
			(SELECT updated, 0 AS found FROM events UNION ALL SELECT 0, found FROM histories
			UNION ALL SELECT COALESCE(MAX(updated), 0), 0 FROM runs) changes)`)
	if err != nil {
		return "", fmt.Errorf("read the version of the data: %w", err)
	}
	return strings.Trim(fmt.Sprint(n), "{}"), nil
}

// ContentVersion returns a text that changes when records or files of an experiment arrive; "" if
// there are no records.
func (db *DB) ContentVersion(ctx context.Context, experiment string) (string, error) {
	type content struct{ Records, Last, Files int64 }
	n, err := first[content](ctx, db.Read, `SELECT
		(SELECT COUNT(*) FROM records WHERE experiment = $1),
		(SELECT COALESCE(MAX(seq), 0) FROM records WHERE experiment = $1),
		(SELECT COALESCE(MAX(received), 0) FROM files WHERE experiment = $1)`, experiment)
	if err != nil {
		return "", fmt.Errorf("read the version of experiment %s: %w", experiment, err)
	}
	if n.Records == 0 {
		return "", nil
	}
	return fmt.Sprintf("%d %d %d", n.Records, n.Last, n.Files), nil
}

// Active returns the experiments that run or wait, those that run first, the others in the order in
// which they are served.
func (db *DB) Active(ctx context.Context, limit int) ([]Experiment, error) {
	return list[Experiment](ctx, db.Read, `SELECT `+experimentColumns+` FROM experiments
		WHERE state IN ('running', 'queued')
		ORDER BY CASE state WHEN 'running' THEN 0 ELSE 1 END, priority DESC, created, id LIMIT $1`, limit)
}

// ExperimentsBefore returns at most limit experiments, the newest first: those that were created
// before a time, in microseconds since 1970, or at it with an id after after.
func (db *DB) ExperimentsBefore(ctx context.Context, before int64, after string, limit int) (
	[]Experiment, error) {
	return list[Experiment](ctx, db.Read, `SELECT `+experimentColumns+` FROM experiments
		WHERE created < $1 OR created = $1 AND id > $2 ORDER BY created DESC, id LIMIT $3`, before, after,
		limit)
}

// EachShare calls do with each share of several experiments. It must not use the database.
func (db *DB) EachShare(ctx context.Context, experiments []string, do func(Share)) error {
	if len(experiments) == 0 {
		return nil
	}
	places, args := placesOf(experiments)
	return each(ctx, db.Read, do, `SELECT `+shareColumns+` FROM shares WHERE experiment IN (`+places+`)
		ORDER BY experiment, idx, machine`, args...)
}

// placesOf returns the parameters of a query for several values: "$1, $2".
func placesOf(values []string) (string, []any) {
	places, args := make([]string, len(values)), make([]any, len(values))
	for i, v := range values {
		places[i], args[i] = placeAt(i+1), v
	}
	return strings.Join(places, ", "), args
}

func placeAt(n int) string { return fmt.Sprintf("$%d", n) }

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
	return each(ctx, db.Read, do, `SELECT `+columns+`, `+seriesOf+`, m.name, `+column+` FROM shares s
		JOIN experiments x ON x.id = s.experiment JOIN machines m ON m.id = s.machine
		WHERE `+condition, args...)
}

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
	return maybe[File](ctx, db.Read, `SELECT experiment, machine, name, hash, received FROM files
		WHERE machine = $1 AND name = $2 ORDER BY received DESC, experiment LIMIT 1`, machine, name)
}

// SetPriority changes the priority of an experiment.
func (db *DB) SetPriority(ctx context.Context, tx *sql.Tx, experiment string, priority int64) error {
	return change(ctx, tx, "experiment "+experiment,
		`UPDATE experiments SET priority = $2, updated = $3 WHERE id = $1`, experiment, priority, db.now())
}

// StopExperiment keeps the parts of an experiment that wait from being begun, and asks the machines
// that run the others to stop. The caller has locked it.
func (db *DB) StopExperiment(ctx context.Context, tx *sql.Tx, experiment string) error {
	now := db.now()
	_, err := run(ctx, tx, "stop experiment "+experiment,
		do(`UPDATE shares SET request = 'stop', updated = $2 WHERE experiment = $1 AND state = 'running'`,
			experiment, now),
		do(`UPDATE shares SET state = 'stopped', updated = $2 WHERE experiment = $1 AND state = 'queued'`,
			experiment, now),
		do(`UPDATE experiments SET state = 'stopped', updated = $2
			WHERE id = $1 AND state IN ('queued', 'running')`, experiment, now))
	return err
}

// Alert is something that people should know. One is open for each kind and subject.
type Alert struct {
	ID, Kind, Subject   string
	Machine, Experiment string // ids; "" none
	Text                string // untrusted
	State               string // open, closed
	Muted               time.Time
	Created, Closed     time.Time
}

// Raise opens an alert about a machine unless one of this kind and subject is open, and reports
// whether people are to be notified: not again, and not if the one before is muted.
func (db *DB) Raise(ctx context.Context, tx *sql.Tx, a Alert) (bool, error) {
	muted, err := first[time.Time](ctx, tx, `INSERT INTO alerts
		(id, kind, subject, machine, experiment, text, state, muted, created) VALUES ($1, $2, $3, $4, $5, $6, 'open',
			(SELECT COALESCE(MAX(muted), 0) FROM alerts WHERE kind = $2 AND subject = $3), $7)
		ON CONFLICT DO NOTHING RETURNING muted`, access.NewID(), a.Kind, a.Subject, a.Machine, a.Experiment,
		a.Text, db.now())
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("store an alert: %w", err)
	}
	return !muted.After(db.now()), nil
}

// Alerts returns at most limit alerts after those that are skipped, open ones first, then the
// newest.
func (db *DB) Alerts(ctx context.Context, skip, limit int) ([]Alert, error) {
	return list[Alert](ctx, db.Read, `SELECT `+alertColumns+` FROM alerts ORDER BY
		CASE state WHEN 'open' THEN 0 ELSE 1 END, created DESC, id LIMIT $1 OFFSET $2`, limit, skip)
}

const alertColumns = `id, kind, subject, machine, experiment, text, state, muted, created, closed`

// Alert returns an alert; the error wraps ErrMissing if there is none.
func (db *DB) Alert(ctx context.Context, tx *sql.Tx, id string) (Alert, error) {
	return find[Alert](ctx, tx, "alert "+id, `SELECT `+alertColumns+` FROM alerts WHERE id = $1`, id)
}

// MuteAlert mutes an alert until a time; the zero time ends that.
func (db *DB) MuteAlert(ctx context.Context, tx *sql.Tx, id string, until time.Time) error {
	return change(ctx, tx, "alert "+id, `UPDATE alerts SET muted = $2 WHERE id = $1`, id, until)
}
