package database

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
)

// Run is a revision that the hub measures by itself, or because a person has asked for it.
type Run struct {
	Seq      int64     `json:"-"`
	ID       string    `json:"id"` // of its experiment, too
	Schedule string    `json:"schedule"`
	Cause    string    `json:"cause"` // what began it, see RunCause: one run for each
	Revision string    `json:"revision,omitempty"`
	Base     string    `json:"base,omitempty"`   // what it is compared with
	Change   int64     `json:"change,omitempty"` // number of the pull or merge request
	Asked    string    `json:"asked,omitempty"`  // who has asked: untrusted
	Words    string    `json:"-"`                // what the comment says after the command: untrusted
	State    string    `json:"state"`            // one of the states of a run
	Verdict  string    `json:"verdict,omitempty"`
	Text     string    `json:"text,omitempty"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
	// Machine measures it again because of an event; "": it is of the schedule, which has a target.
	Machine string `json:"machine,omitempty"`
}

// RunCause returns what begins a run: "commit REVISION", "night DATE", "comment ID",
// "again BEFORE AFTER MACHINE", or "bisect EVENT STEP".
func RunCause(words ...any) string { return strings.TrimSpace(fmt.Sprintln(words...)) }

// The states of a run.
const (
	RunAsked     = "asked"     // whether it is permitted is not known
	RunWaiting   = "waiting"   // to be built and submitted
	RunMeasuring = "measuring" // its experiment is in the queue or runs
	RunEnded     = "ended"
)

const runColumns = `id, schedule, cause, revision, base, change, asked, words, state, verdict, text,
	created, updated, machine`

// Watched is how far a repository was looked at.
type Watched struct {
	Head  string    // revision; "": never
	Night time.Time // the last time of day that was looked at
}

// Watched returns how far a schedule has looked at its repository.
func (db *DB) Watched(ctx context.Context, schedule string) (Watched, error) {
	return maybe[Watched](ctx, db.Read, `SELECT head, night FROM watched WHERE schedule = $1`, schedule)
}

// SetWatched stores how far a schedule has looked at its repository. Runs that were refused a month
// ago are forgotten.
func (db *DB) SetWatched(ctx context.Context, tx *sql.Tx, schedule string, w Watched) error {
	const month = 30 * 24 * time.Hour
	_, err := run(ctx, tx, "store how far a repository was looked at",
		do(`DELETE FROM runs WHERE schedule = $1 AND verdict = 'refused' AND updated < $2`, schedule,
			db.now().Add(-month)),
		put("watched", "schedule", "schedule, head, night", "head, night", schedule, w.Head, w.Night))
	return err
}

// AddRun adds a run unless there is one of this schedule and cause.
func (db *DB) AddRun(ctx context.Context, tx *sql.Tx, r Run) error {
	now := db.now()
	_, err := run(ctx, tx, "store a run", insert("runs", runColumns, r.ID, r.Schedule, r.Cause, r.Revision,
		r.Base, r.Change, r.Asked, r.Words, r.State, r.Verdict, r.Text, now, now, r.Machine))
	return err
}

// SetRun stores a run if its state is still before; else the error wraps ErrMissing. What is to be
// told then is put into the outbox with it.
func (db *DB) SetRun(ctx context.Context, tx *sql.Tx, r Run, before string, tell ...string) error {
	err := change(ctx, tx, "run "+r.ID, `UPDATE runs SET revision = $3, base = $4, state = $5, verdict = $6,
		text = $7, updated = $8 WHERE id = $1 AND state = $2`, r.ID, before, r.Revision, r.Base, r.State,
		r.Verdict, r.Text, db.now())
	for _, kind := range tell {
		if err == nil {
			_, err = run(ctx, tx, "store what is to be told", insert("outbox", "run, kind", r.ID, kind))
		}
	}
	return err
}

// Run returns a run; the error wraps ErrMissing if there is none.
func (db *DB) Run(ctx context.Context, id string) (Run, error) {
	return find[Run](ctx, db.Read, "run "+id, `SELECT seq, `+runColumns+` FROM runs WHERE id = $1`, id)
}

// RunsOf returns the runs of a schedule whose cause begins with some words, the oldest first.
// tx may be nil.
func (db *DB) RunsOf(ctx context.Context, tx *sql.Tx, schedule string, words ...any) ([]Run, error) {
	cause := RunCause(words...) + " "
	return list[Run](ctx, db.in(tx), `SELECT seq, `+runColumns+` FROM runs WHERE schedule = $1
		AND SUBSTR(cause, 1, $2) = $3 ORDER BY seq`, schedule, len(cause), cause)
}

// Runs returns at most limit runs, the newest first; those of one schedule unless it is "".
func (db *DB) Runs(ctx context.Context, schedule string, skip, limit int) ([]Run, error) {
	return list[Run](ctx, db.Read, `SELECT seq, `+runColumns+` FROM runs WHERE $1 = '' OR schedule = $1
		ORDER BY seq DESC LIMIT $2 OFFSET $3`, schedule, limit, skip)
}

// OpenRuns returns the runs of a schedule that have not ended, the oldest first.
func (db *DB) OpenRuns(ctx context.Context, schedule string) ([]Run, error) {
	return list[Run](ctx, db.Read, `SELECT seq, `+runColumns+` FROM runs
		WHERE schedule = $1 AND state <> 'ended' ORDER BY seq`, schedule)
}

// LastMeasured returns the revision of a schedule's branch that was measured last; "": none.
func (db *DB) LastMeasured(ctx context.Context, schedule string) (string, error) {
	return maybe[string](ctx, db.Read, `SELECT revision FROM runs WHERE schedule = $1
		AND change = 0 AND machine = '' AND state = 'ended' AND verdict IN ('first', 'worse', 'better', 'same', 'unclear')
		ORDER BY seq DESC LIMIT 1`, schedule)
}

// Artifact returns the blob that a build has made of a revision; "": there is none. It counts as
// used now.
func (db *DB) Artifact(ctx context.Context, schedule, revision string) (hash string, err error) {
	return hash, db.Update(ctx, func(tx *sql.Tx) error {
		hash, err = maybe[string](ctx, tx, `UPDATE artifacts SET used = $3 WHERE schedule = $1
			AND revision = $2 RETURNING hash`, schedule, revision, db.now())
		return err
	})
}

// PutArtifact stores what a build has made of a revision: a blob that was announced. Of a schedule,
// the keep artifacts that were used last stay.
func (db *DB) PutArtifact(ctx context.Context, schedule, revision, hash string, size int64, keep int) error {
	const old = `schedule = $1 AND revision NOT IN (SELECT revision FROM artifacts WHERE schedule = $1
		ORDER BY used DESC, revision LIMIT $2)`
	now := db.now()
	return db.Update(ctx, func(tx *sql.Tx) error {
		if err := db.AddBlob(ctx, tx, hash, size); err != nil {
			return err
		}
		_, err := run(ctx, tx, "store what was built of "+revision,
			insert("artifacts", "schedule, revision, hash, created, used", schedule, revision, hash, now,
				now),
			garbage(`DISTINCT hash, CAST($3 AS BIGINT) FROM artifacts WHERE `+old, schedule, keep, now),
			do(`DELETE FROM artifacts WHERE `+old, schedule, keep),
			do(deleteUnreferenced))
		return err
	})
}

// HasAnswer reports whether an experiment was reduced since it changed last.
func (db *DB) HasAnswer(ctx context.Context, x Experiment) (bool, error) {
	n, err := first[int](ctx, db.Read, `SELECT COUNT(*) FROM reduced WHERE experiment = $1 AND updated = $2`,
		x.ID, x.Updated)
	return n > 0, err
}

// Telling is something that is to be told about a run.
type Telling struct {
	Seq   int64
	Kind  string
	Tries int64
	Run
}

// Take returns the next answer to send for one of the schedules. Until the lease ends, no other
// call returns it. The error wraps ErrMissing if there is no answer to send.
func (db *DB) Take(ctx context.Context, schedules []string, lease time.Duration) (t Telling, err error) {
	places, args := placesOf(schedules)
	n := len(args)
	args = append(args, db.now(), db.now().Add(lease))
	now, until := placeAt(n+1), placeAt(n+2)
	return t, db.Update(ctx, func(tx *sql.Tx) error {
		seq, err := find[int64](ctx, tx, "nothing is to be told", `UPDATE outbox SET next = `+until+`, error = '',
			tries = tries + 1
			WHERE seq = (SELECT o.seq FROM outbox o JOIN runs r ON r.id = o.run WHERE o.done = 0
				AND o.next <= `+now+` AND r.schedule IN (`+places+`) ORDER BY o.seq LIMIT 1)
			AND done = 0 AND next <= `+now+` RETURNING seq`, args...)
		if err != nil {
			return err
		}
		columns := "r.seq, r." + strings.Join(strings.Fields(runColumns), " r.")
		t, err = find[Telling](ctx, tx, "what is to be told", `SELECT o.seq, o.kind, o.tries, `+columns+`
			FROM outbox o JOIN runs r ON r.id = o.run WHERE o.seq = $1`, seq)
		return err
	})
}

// Told stores that something was told, if why is ""; else why it was not, and when it is tried
// again: the zero time is never.
func (db *DB) Told(ctx context.Context, t Telling, why string, again time.Time) error {
	done := db.now()
	if why != "" && !again.IsZero() {
		done = time.Time{}
	}
	return db.Update(ctx, func(tx *sql.Tx) error {
		return exec(ctx, tx, "store what was told", `UPDATE outbox SET done = $2, next = $3, error = $4
			WHERE seq = $1`, t.Seq, done, again, why)
	})
}

// ReleaseTold ends the leases of what was being told by a process that has ended, when the other
// side had some time to do what it was asked.
func (db *DB) ReleaseTold(ctx context.Context, after time.Duration) error {
	return db.Update(ctx, func(tx *sql.Tx) error {
		return exec(ctx, tx, "release what was being told", `UPDATE outbox SET next = $1
			WHERE done = 0 AND error = '' AND next > $1`, db.now().Add(after))
	})
}
