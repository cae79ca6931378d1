package database

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"krund/internal/hub/access"
)

// Experiment is one that was submitted, or that a machine began by itself and ships.
type Experiment struct {
	ID       string
	Name     string
	Owner    string // a user, "" if a machine began it
	Bundle   string // hash
	Config   string // SHA-256 of the configuration's text
	State    string // queued, running, done, stopped, failed
	Priority int64
	Target   string // a machine's name or a pool
	ToPool   bool   // it is a pool
	Parts    int64  // machines that share it, each with a part; 0 is stored as 1
	Held     bool   // no machine begins a part
	Project  string // "" is stored as access.Default
	Created  time.Time
	Updated  time.Time
}

// Series is the name of the experiment's history.
func (x Experiment) Series() string { return access.Series(x.Project, x.Name) }

// seriesOf is the same in a query.
const seriesOf = `CASE x.project WHEN 'default' THEN x.name ELSE x.project || '/' || x.name END`

// The states of experiments and shares.
const (
	Queued  = "queued"
	Running = "running"
	Done    = "done"
	Stopped = "stopped"
	Failed  = "failed"
)

const experimentColumns = `id, name, owner, bundle, config, state, priority, target, to_pool, parts,
	held, project, created, updated`

// Experiments returns at most limit experiments, the newest first.
func (db *DB) Experiments(ctx context.Context, limit int) ([]Experiment, error) {
	return list[Experiment](ctx, db.Read, `SELECT `+experimentColumns+` FROM experiments
		ORDER BY created DESC, id LIMIT $1`, limit)
}

// Experiment returns an experiment; the error wraps ErrMissing if there is none.
func (db *DB) Experiment(ctx context.Context, id string) (Experiment, error) {
	return find[Experiment](ctx, db.Read, "experiment "+id,
		`SELECT `+experimentColumns+` FROM experiments WHERE id = $1`, id)
}

// AddExperiment adds an experiment unless there is one with this id.
func (db *DB) AddExperiment(ctx context.Context, tx *sql.Tx, x Experiment) error {
	now := db.now()
	_, err := run(ctx, tx, "store experiment "+x.Name, insert("experiments", experimentColumns, x.ID, x.Name,
		x.Owner, x.Bundle, x.Config, x.State, x.Priority, x.Target, x.ToPool, max(x.Parts, 1), false,
		cmp.Or(x.Project, access.Default), now, now))
	return err
}

// ErrMany is in the errors for a machine or a user with too many experiments that have not ended.
var ErrMany = errors.New("too many experiments have not ended; end or stop some first")

// RoomForOwn returns an error if a machine has begun so many experiments without the hub that have
// not ended that no other one is stored.
func (db *DB) RoomForOwn(ctx context.Context, tx *sql.Tx, machine string) error {
	return room(ctx, tx, "machine "+machine, `SELECT COUNT(*) FROM shares s JOIN experiments x
		ON x.id = s.experiment WHERE s.machine = $1 AND s.state = 'running' AND x.bundle = ''`, machine)
}

// RoomInQueue returns an error if so many experiments of a user wait that no other one is added.
func (db *DB) RoomInQueue(ctx context.Context, tx *sql.Tx, owner string) error {
	return room(ctx, tx, "user "+owner,
		`SELECT COUNT(*) FROM experiments WHERE state = 'queued' AND owner = $1`, owner)
}

// room returns ErrMany if a query counts too many. Each of them is looked at again and again.
func room(ctx context.Context, tx *sql.Tx, whose, query, arg string) error {
	const most = 1000
	n, err := first[int](ctx, tx, query, arg)
	if err == nil && n >= most {
		err = fmt.Errorf("%s: %d: %w", whose, n, ErrMany)
	}
	return err
}

// Share is a machine's part of an experiment.
type Share struct {
	Experiment, Machine string // ids
	Index, Count        int64
	State               string
	Lease               time.Time // until when the machine has it; zero: for ever
	Status              string    // JSON of api.Progress, without its details: untrusted
	Request             string    // hold, resume or stop
	Missed              int64     // deadlines that have passed since the machine reported last
	Created, Updated    time.Time
}

const shareColumns = `experiment, machine, idx, count, state, lease, status, request, missed,
	created, updated`

// Shares returns the shares of an experiment by index.
func (db *DB) Shares(ctx context.Context, experiment string) ([]Share, error) {
	return list[Share](ctx, db.Read, `SELECT `+shareColumns+` FROM shares WHERE experiment = $1
		ORDER BY idx, machine`, experiment)
}

// Share returns a machine's share of an experiment; the error wraps ErrMissing if it has none.
func (db *DB) Share(ctx context.Context, tx *sql.Tx, experiment, machine string) (Share, error) {
	return find[Share](ctx, tx, "share of experiment "+experiment,
		`SELECT `+shareColumns+` FROM shares WHERE experiment = $1 AND machine = $2`, experiment, machine)
}

// ShareOf returns the newest running share of a machine in an experiment that was submitted with
// this configuration; the error wraps ErrMissing if there is none. What has ended does not count:
// the machine's owner may run the same configuration again.
func (db *DB) ShareOf(ctx context.Context, tx *sql.Tx, machine, config string) (Share, error) {
	return find[Share](ctx, tx, "share", `SELECT `+shareColumns+` FROM shares
		WHERE machine = $1 AND state = 'running' AND
		experiment IN (SELECT id FROM experiments WHERE config = $2 AND bundle <> '')
		ORDER BY created DESC LIMIT 1`, machine, config)
}

// PutShare adds a share or replaces it, except for when it was created.
func (db *DB) PutShare(ctx context.Context, tx *sql.Tx, s Share) error {
	if s.Status == "" {
		s.Status = "{}"
	}
	now := db.now()
	_, err := run(ctx, tx, "store the share of experiment "+s.Experiment, put("shares", "experiment, machine",
		shareColumns, "idx, count, state, lease, status, request, missed, updated", s.Experiment, s.Machine,
		s.Index, s.Count, s.State, s.Lease, s.Status, s.Request, s.Missed, now, now))
	return err
}

// PutDetails replaces the details of a share that is stored: JSON of api.Details.
func (db *DB) PutDetails(ctx context.Context, tx *sql.Tx, s Share, details string) error {
	return change(ctx, tx, "share of experiment "+s.Experiment,
		`UPDATE shares SET details = $3 WHERE experiment = $1 AND machine = $2`, s.Experiment, s.Machine, details)
}

// FailedSince returns at most limit experiments that have failed since a time, the newest first.
func (db *DB) FailedSince(ctx context.Context, since time.Time, limit int) ([]Experiment, error) {
	return list[Experiment](ctx, db.Read, `SELECT `+experimentColumns+` FROM experiments
		WHERE state = 'failed' AND updated >= $1 ORDER BY updated DESC, id LIMIT $2`, since, limit)
}

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
	all, err = list[Used](ctx, db.in(tx), `SELECT x.owner, `+seriesOf+`, CAST(SUM(
			(CASE s.state WHEN 'running' THEN CAST($2 AS BIGINT) ELSE s.updated END)
			- (CASE WHEN s.created > $1 THEN s.created ELSE CAST($1 AS BIGINT) END)) AS BIGINT)
		FROM shares s JOIN experiments x ON x.id = s.experiment WHERE (s.updated > $1 OR s.state = 'running')
			AND x.bundle <> '' GROUP BY x.owner, x.project, x.name`, since, db.now())
	for i := range all {
		all[i].Time = max(all[i].Time, 0) * time.Microsecond
	}
	return all, err
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
	before, err = maybe[time.Time](ctx, tx, `SELECT at FROM looks WHERE id = 1`)
	if err == nil {
		_, err = run(ctx, tx, "store when leases were looked at",
			put("looks", "id", "id, at", "at", 1, db.now()))
	}
	return before, err
}

// Unfinished returns the ids of the experiments that have begun and not ended.
func (db *DB) Unfinished(ctx context.Context) ([]string, error) {
	return list[string](ctx, db.Read,
		`SELECT id FROM experiments WHERE state = 'running' ORDER BY created`)
}
