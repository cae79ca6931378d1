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
	return exec(ctx, tx, "store experiment "+x.Name, `INSERT INTO experiments (`+experimentColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, $11, $12, $12) ON CONFLICT (id) DO NOTHING`,
		x.ID, x.Name, x.Owner, x.Bundle, x.Config, x.State, x.Priority, x.Target, x.ToPool, max(x.Parts, 1),
		cmp.Or(x.Project, access.Default), db.now())
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
	return exec(ctx, tx, "store the share of experiment "+s.Experiment, `INSERT INTO shares (`+shareColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10) ON CONFLICT (experiment, machine) DO UPDATE SET
		idx = excluded.idx, count = excluded.count, state = excluded.state, lease = excluded.lease,
		status = excluded.status, request = excluded.request, missed = excluded.missed,
		updated = excluded.updated`,
		s.Experiment, s.Machine, s.Index, s.Count, s.State, s.Lease, s.Status, s.Request, s.Missed, db.now())
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
