package database

import (
	"context"
	"database/sql"
	"time"
)

// Event is what happened to a machine, as it was found in the history of a name, with what people
// say of it.
type Event struct {
	ID         string      `json:"id"`
	Name       string      `json:"name"` // of the experiments
	Machine    string      `json:"machine"`
	Verdict    string      `json:"verdict"`    // machine, program or undecided
	Experiment string      `json:"experiment"` // id of the one with which it was found; it may be deleted
	Finding    `db:"json"` // what was found
	Keys       []EventKey  `json:"keys,omitempty"` // the largest change first; lists do not have them
	Present    bool        `json:"present"`        // false: the values do not show it any more
	Triage                 // what people say of it
	Created    time.Time   `json:"created"`
	Updated    time.Time   `json:"updated"`

	Again Again `json:"again,omitzero"` // before people are told of it

	Owner string `json:"experiment_owner"` // of the experiment; "" none; not stored
}

// Again is how an event is measured again before people are told of it. The zero value: they know.
type Again struct {
	Untold bool `json:"untold"` // no notice was sent: the event is not confirmed yet, or too small
	// Before and After are the revisions that Machines measure again; "": nothing is.
	Before   string   `json:"before,omitempty"`
	After    string   `json:"after,omitempty"`
	Machines []string `json:"machines,omitempty"`
	// Shown and ShownBy are the verdict and its evidence when that has ended; "": it has not.
	Shown   string `json:"verdict,omitempty"`
	ShownBy string `json:"evidence,omitempty"`
}

// Finding is what a history says of an event. Versions are labels; see history.Event.
type Finding struct {
	Version  string  `json:"version"`          // the most probable one
	Before   string  `json:"before,omitempty"` // the one before First; "" unless there is one
	First    string  `json:"first"`            // it happened with one of First
	Last     string  `json:"last"`             // to Last
	Found    string  `json:"found"`            // the one with which it was found
	Example  string  `json:"example"`          // the key with the largest change
	Changed  int     `json:"changed"`          // keys
	Of       int     `json:"of"`               // of these the machine measured
	Median   float64 `json:"median"`           // ratio, of the keys
	Least    float64 `json:"least"`
	Most     float64 `json:"most"`
	Evidence string  `json:"evidence"` // for the verdict: a sentence
}

// EventKey is a key of an event. Key and Found identify the change on the event's machine.
type EventKey struct {
	Key   string  `json:"key"`
	Found string  `json:"found"` // version with which its change was found
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Triage is what people say of an event.
type Triage struct {
	State    string    `json:"state"` // one of EventStates
	Assignee string    `json:"owner"` // user name; "": none
	Note     string    `json:"note"`
	Link     string    `json:"link"`        // to an issue; "" or an address of HTTP
	Muted    time.Time `json:"muted_until"` // zero: not
	Reason   string    `json:"mute_reason"`
}

// EventNew is the state of an event that no user has changed.
const EventNew = "new"

// EventStates are the states of an event. The first three are open.
var EventStates = []string{EventNew, "acknowledged", "confirmed", "fixed", "invalid", "machine"}

const openStates = `('new', 'acknowledged', 'confirmed')`

// selectEvents begins a query of events; keys is a column, or '[]' without them.
func selectEvents(keys string) string {
	return `SELECT e.id, e.name, e.machine, e.verdict, e.experiment, e.finding, ` + keys + `, e.present,
		e.state, e.assignee, e.note, e.link, e.muted, e.reason, e.created, e.updated, e.again, COALESCE(x.owner, '')
		FROM events e LEFT JOIN experiments x ON x.id = e.experiment `
}

// EventFilter selects events; fields that are "" select all.
type EventFilter struct {
	Name, Machine, Verdict, State, Experiment string
	Open                                      bool // only those that are not muted, of an open state
}

// Events returns at most limit events, after skip, the newest first. Those that the values do not
// show any more are left out unless a user has changed them.
func (db *DB) Events(ctx context.Context, f EventFilter, skip, limit int) ([]Event, error) {
	return list[Event](ctx, db.Read, selectEvents(`'[]'`)+`
		WHERE (e.present = 1 OR e.state <> 'new' OR e.note <> '') AND ($1 = '' OR e.name = $1)
		AND ($2 = '' OR e.machine = $2) AND ($3 = '' OR e.verdict = $3) AND ($4 = '' OR e.state = $4)
		AND ($5 = '' OR e.experiment = $5)
		AND (CAST($6 AS BIGINT) = 0 OR e.present = 1 AND e.muted <= $7 AND e.state IN `+openStates+`)
		ORDER BY e.created DESC, e.id LIMIT $8 OFFSET $9`,
		f.Name, f.Machine, f.Verdict, f.State, f.Experiment, f.Open, db.now(), limit, skip)
}

// EventsOf returns all events of a name in the transaction.
func (db *DB) EventsOf(ctx context.Context, tx *sql.Tx, name string) ([]Event, error) {
	return list[Event](ctx, tx, selectEvents(`e.keys`)+`
		WHERE e.name = $1 ORDER BY e.created, e.id`, name)
}

// OpenEvents counts the events that are open and not muted, of each verdict.
func (db *DB) OpenEvents(ctx context.Context) ([]Count, error) {
	return list[Count](ctx, db.Read,
		`SELECT verdict, '', COUNT(*) FROM events WHERE present = 1 AND muted <= $1 AND state IN `+openStates+`
		GROUP BY verdict ORDER BY verdict`, db.now())
}

// Event returns an event; the error wraps ErrMissing if there is none. tx may be nil.
func (db *DB) Event(ctx context.Context, tx *sql.Tx, id string) (Event, error) {
	return find[Event](ctx, db.in(tx), "event "+id, selectEvents(`e.keys`)+`WHERE e.id = $1`, id)
}

// PutEvent adds an event, or replaces what was found of it. What people have said of it stays.
func (db *DB) PutEvent(ctx context.Context, tx *sql.Tx, e Event) error {
	now := db.now()
	_, err := run(ctx, tx, "store an event", put("events", "id",
		"id, name, machine, verdict, experiment, finding, keys, present, muted, created, updated, again",
		"verdict, finding, keys, present, again", e.ID, e.Name, e.Machine, e.Verdict, e.Experiment, e.Finding,
		e.Keys, e.Present, e.Muted, now, now, e.Again))
	return err
}

// SetTriage stores the triage of an event, and logs what changes.
func (db *DB) SetTriage(ctx context.Context, tx *sql.Tx, event string, t Triage, who, text string) error {
	if err := change(ctx, tx, "event "+event, `UPDATE events SET state = $2, assignee = $3, note = $4,
		link = $5, muted = $6, reason = $7, updated = $8 WHERE id = $1`, event, t.State, t.Assignee, t.Note,
		t.Link, t.Muted, t.Reason, db.now()); err != nil {
		return err
	}
	return db.AddAct(ctx, tx, event, who, text)
}

// Act is a change of an event by a user.
type Act struct {
	At   time.Time `json:"at"`
	Who  string    `json:"who"`
	Text string    `json:"text"`
}

// mostActs is how many of an event are kept.
const mostActs = 1000

// AddAct stores a change of an event by a user. The oldest ones go if there are too many.
func (db *DB) AddAct(ctx context.Context, tx *sql.Tx, event, who, text string) error {
	_, err := run(ctx, tx, "store what was done to event "+event,
		insert("acts", "event, at, who, text", event, db.now(), who, text),
		do(`DELETE FROM acts WHERE event = $1 AND seq <=
			(SELECT seq FROM acts WHERE event = $1 ORDER BY seq DESC LIMIT 1 OFFSET $2)`, event, mostActs))
	return err
}

// Acts returns what was done to an event, the newest first, at most limit.
func (db *DB) Acts(ctx context.Context, event string, limit int) ([]Act, error) {
	return list[Act](ctx, db.Read,
		`SELECT at, who, text FROM acts WHERE event = $1 ORDER BY seq DESC LIMIT $2`, event, limit)
}

// ToldChange is a change that a hub told before it knew events: one alert for each.
type ToldChange struct {
	Subject string // name · key · machine · version with which it was found
	Muted   time.Time
}

// TakeChanges removes the alerts about changes of the experiments of a name, and returns them.
func (db *DB) TakeChanges(ctx context.Context, tx *sql.Tx, name string) ([]ToldChange, error) {
	return list[ToldChange](ctx, tx, `DELETE FROM alerts WHERE kind = 'change'
		AND experiment IN (SELECT id FROM experiments WHERE name = $1) RETURNING subject, muted`, name)
}
