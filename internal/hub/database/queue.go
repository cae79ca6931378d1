package database

import (
	"context"
	"database/sql"
	"time"
)

// Waiting returns the experiments of which the machine may get the next part: those for it or its
// pool that are not held and of which a part is open. There are none if the machine has a part to
// go on with. A machine gets at most one part of an experiment.
func (db *DB) Waiting(ctx context.Context, tx *sql.Tx, m Machine) ([]Experiment, error) {
	return list[Experiment](ctx, tx, `SELECT `+experimentColumns+` FROM experiments x
		WHERE x.state IN ('queued', 'running') AND x.held = 0 AND x.bundle <> ''
		AND (x.target = $1 AND x.to_pool = 0 OR x.target = $2 AND x.to_pool = 1)
		AND NOT EXISTS (SELECT 1 FROM shares s WHERE s.experiment = x.id AND s.machine = $3)
		AND NOT EXISTS (SELECT 1 FROM shares s JOIN experiments y ON y.id = s.experiment
			WHERE s.machine = $3 AND s.state = 'running' AND y.state <> 'stopped'
				AND y.held = 0 AND y.bundle <> '')
		AND (SELECT COUNT(DISTINCT s.idx) FROM shares s WHERE s.experiment = x.id AND s.state <> 'failed')
			< x.parts AND `+openTo("$2", "= x.project"), m.Name, m.Pool, m.ID)
}

// Used is machine time that a user's experiments of one series have used.
type Used struct {
	Owner, Series string
	Time          time.Duration
}

// Used returns the machine time since a time, of experiments that were submitted. tx may be nil.
func (db *DB) Used(ctx context.Context, tx *sql.Tx, since time.Time) (all []Used, err error) {
	type used struct {
		Owner, Series string
		Us            int64
	}
	var from querier = db.Read
	if tx != nil {
		from = tx
	}
	return all, each(ctx, from, func(u used) {
		all = append(all, Used{u.Owner, u.Series, time.Duration(max(u.Us, 0)) * time.Microsecond})
	}, db.cast(`SELECT x.owner, `+seriesOf+`, CAST(SUM(
			(CASE s.state WHEN 'running' THEN $2::BIGINT ELSE s.updated END)
			- (CASE WHEN s.created > $1 THEN s.created ELSE $1::BIGINT END)) AS BIGINT)
		FROM shares s JOIN experiments x ON x.id = s.experiment WHERE (s.updated > $1 OR s.state = 'running')
			AND x.bundle <> '' GROUP BY x.owner, x.project, x.name`), since, db.now())
}

// Lock returns an experiment with its shares, and keeps others from changing them until the
// transaction ends. The error wraps ErrMissing if there is none.
func (db *DB) Lock(ctx context.Context, tx *sql.Tx, id string) (Experiment, []Share, error) {
	x, err := find[Experiment](ctx, tx, "experiment "+id,
		`UPDATE experiments SET updated = updated WHERE id = $1 RETURNING `+experimentColumns, id)
	if err != nil {
		return x, nil, err
	}
	shares, err := list[Share](ctx, tx, `SELECT `+shareColumns+` FROM shares WHERE experiment = $1
		ORDER BY idx, created, machine`, id)
	return x, shares, err
}

// SetState stores the state of an experiment, and whether it is held.
func (db *DB) SetState(ctx context.Context, tx *sql.Tx, x Experiment) error {
	return change(ctx, tx, "experiment "+x.ID,
		`UPDATE experiments SET state = $2, held = $3, updated = $4 WHERE id = $1`, x.ID, x.State, x.Held, db.now())
}

// LockMachine returns a machine, and keeps others from changing it until the transaction ends.
func (db *DB) LockMachine(ctx context.Context, tx *sql.Tx, id string) (Machine, error) {
	return find[Machine](ctx, tx, "machine "+id,
		`UPDATE machines SET last_seen = last_seen WHERE id = $1 RETURNING `+machineColumns, id)
}

// RunningOn returns the experiments of which a machine has a part that has not ended, the newest
// part first.
func (db *DB) RunningOn(ctx context.Context, machine string) ([]string, error) {
	return list[string](ctx, db.Read,
		`SELECT experiment FROM shares WHERE machine = $1 AND state = 'running'
		ORDER BY created DESC, experiment`, machine)
}

// Busy returns the ids of the machines that have a part of an experiment that has not ended.
func (db *DB) Busy(ctx context.Context) ([]string, error) {
	return list[string](ctx, db.Read, `SELECT DISTINCT machine FROM shares WHERE state = 'running'`)
}

// MachineIn returns a machine as the transaction sees it.
func (db *DB) MachineIn(ctx context.Context, tx *sql.Tx, id string) (Machine, error) {
	return find[Machine](ctx, tx, "machine "+id, `SELECT `+machineColumns+` FROM machines WHERE id = $1`, id)
}

// Expect stores when a machine should have asked again; the zero time is never.
func (db *DB) Expect(ctx context.Context, tx *sql.Tx, id string, when time.Time) error {
	return change(ctx, tx, "machine "+id, `UPDATE machines SET eta = $2 WHERE id = $1`, id, when)
}

// Candidates returns how many machines could begin a part of an experiment: those that it is for,
// that have none, and that joined or were seen since the given time, or are busy.
func (db *DB) Candidates(ctx context.Context, tx *sql.Tx, id string, since time.Time) (int64, error) {
	return first[int64](ctx, tx, `SELECT COUNT(*) FROM machines m
		JOIN experiments x ON x.target = CASE x.to_pool WHEN 1 THEN m.pool ELSE m.name END
		WHERE x.id = $1 AND (m.last_seen >= $2 OR m.joined >= $2
			OR EXISTS (SELECT 1 FROM shares s WHERE s.machine = m.id AND s.state = 'running'))
		AND NOT EXISTS (SELECT 1 FROM shares s WHERE s.experiment = x.id AND s.machine = m.id)
		AND `+openTo("m.pool", "= x.project"), id, since)
}

// Targets returns how many machines an experiment of a project for a machine or a pool can run on,
// and which of both the target is.
func (db *DB) Targets(ctx context.Context, tx *sql.Tx, target, project string) (n int64, pool bool,
	err error) {
	type count struct{ Machines, Pools int64 }
	found, err := first[count](ctx, tx, `SELECT (SELECT COUNT(*) FROM machines m WHERE name = $1 AND `+
		openTo("m.pool", "= $2")+`), (SELECT COUNT(*) FROM machines m WHERE pool = $1 AND `+
		openTo("m.pool", "= $2")+`)`, target, project)
	if found.Machines > 0 {
		return found.Machines, false, err
	}
	return found.Pools, true, err
}

// Leased returns the running shares that have a lease, those first whose lease ends first.
func (db *DB) Leased(ctx context.Context) ([]Share, error) {
	return list[Share](ctx, db.Read, `SELECT `+shareColumns+` FROM shares
		WHERE state = 'running' AND lease > 0 ORDER BY lease`)
}

// Looked returns when a process of the hub has looked for overdue shares before, and stores that
// one does now.
func (db *DB) Looked(ctx context.Context, tx *sql.Tx) (before time.Time, err error) {
	const what = "store when leases were looked at"
	at, err := find[int64](ctx, tx, what, `SELECT COALESCE(MAX(at), 0) FROM looks WHERE id = 1`)
	if err != nil {
		return before, err
	}
	return stamped(at), exec(ctx, tx, what, `INSERT INTO looks (id, at) VALUES (1, $1)
		ON CONFLICT (id) DO UPDATE SET at = excluded.at`, db.now())
}

// Unfinished returns the ids of the experiments that have begun and not ended.
func (db *DB) Unfinished(ctx context.Context) ([]string, error) {
	return list[string](ctx, db.Read,
		`SELECT id FROM experiments WHERE state = 'running' ORDER BY created`)
}
