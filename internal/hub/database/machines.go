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

// Machine is a machine that has joined.
type Machine struct {
	ID       string
	Name     string // unique
	Pool     string // "": none
	Joined   time.Time
	LastSeen time.Time // by the hub's clock; zero: never
	BootID   string
	Booted   time.Time // when a message of this boot arrived first
	Facts    string    // JSON, of the machine: untrusted
	Status   string    // JSON of api.Status, as sent last: untrusted
	ETA      time.Time
	Power    []PowerAct // the newest ones
}

// PowerAct is what was done to a machine's power.
type PowerAct struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// mostPowerActs is how many of a machine are kept.
const mostPowerActs = 10

const machineColumns = `id, name, pool, joined, last_seen, boot_id, booted, facts, status, eta, power`

// EachMachine calls do with at most limit machines by name, those after a name. It must not use the
// database.
func (db *DB) EachMachine(ctx context.Context, after string, limit int, do func(Machine)) error {
	return each(ctx, db.Read, do,
		`SELECT `+machineColumns+` FROM machines WHERE name > $1 ORDER BY name LIMIT $2`, after, limit)
}

// CountMachines returns how many machines there are.
func (db *DB) CountMachines(ctx context.Context) (int, error) {
	return first[int](ctx, db.Read, `SELECT COUNT(*) FROM machines`)
}

// Machine returns the machine with this id or name; the error wraps ErrMissing if there is none.
func (db *DB) Machine(ctx context.Context, idOrName string) (Machine, error) {
	return find[Machine](ctx, db.Read, "machine "+idOrName, `SELECT `+machineColumns+` FROM machines
		WHERE id = $1 OR name = $1 ORDER BY CASE WHEN id = $1 THEN 0 ELSE 1 END LIMIT 1`, idOrName)
}

// LockMachine returns the machine with this id, and keeps others from changing it until the
// transaction ends; the error wraps ErrMissing if there is none.
func (db *DB) LockMachine(ctx context.Context, tx *sql.Tx, id string) (Machine, error) {
	return find[Machine](ctx, tx, "machine "+id,
		`UPDATE machines SET last_seen = last_seen WHERE id = $1 RETURNING `+machineColumns, id)
}

// MachineNamed is LockMachine for the machine with this name.
func (db *DB) MachineNamed(ctx context.Context, tx *sql.Tx, name string) (Machine, error) {
	return find[Machine](ctx, tx, "machine "+name,
		`UPDATE machines SET last_seen = last_seen WHERE name = $1 RETURNING `+machineColumns, name)
}

// ErrTaken is in the errors for a name or a pool that is one of the other kind.
var ErrTaken = errors.New("it is taken")

// CheckNames refuses what would let an experiment for one machine be given to another one: a pool
// with the name of a machine, and a new machine with the name of a pool or one that differs from
// another machine's only in case. Nobody else adds a machine until the transaction ends. An old
// machine keeps its name, whatever others have joined since. The error wraps ErrTaken.
func (db *DB) CheckNames(ctx context.Context, tx *sql.Tx, name, pool string) error {
	if err := db.exclude(ctx, tx, namesLock); err != nil {
		return err
	}
	type same struct{ Known, Alike, Pools, Machines int }
	n, err := first[same](ctx, tx, `SELECT (SELECT COUNT(*) FROM machines WHERE name = $1),
		(SELECT COUNT(*) FROM machines WHERE LOWER(name) = LOWER($1)),
		(SELECT COUNT(*) FROM machines WHERE LOWER(pool) = LOWER($1)),
		(SELECT COUNT(*) FROM machines WHERE LOWER(name) = LOWER($2))`, name, pool)
	switch {
	case err != nil:
		return err
	case n.Machines > 0 || strings.EqualFold(name, pool):
		return fmt.Errorf("the pool %s has the name of a machine: %w; choose another --pool", pool, ErrTaken)
	case n.Known == 0 && n.Pools > 0:
		return fmt.Errorf("there is a pool %s: %w; choose another --name", name, ErrTaken)
	case n.Known == 0 && n.Alike > 0:
		return fmt.Errorf("there is a machine whose name differs from %s only in case: %w; choose another "+
			"--name", name, ErrTaken)
	}
	return nil
}

// AddMachine adds a machine unless there is one of this name, and reports whether it did.
func (db *DB) AddMachine(ctx context.Context, tx *sql.Tx, name string) (bool, error) {
	n, err := run(ctx, tx, "store machine "+name,
		insert("machines", "id, name, joined", access.NewID(), name, db.now()))
	return n > 0, err
}

// Join registers a machine, or gives one of this name another token: its former tokens end. It
// returns the id and the token.
func (db *DB) Join(ctx context.Context, tx *sql.Tx, name, pool string) (id, token string, err error) {
	id, err = first[string](ctx, tx, `INSERT INTO machines (id, name, pool, joined) VALUES ($1, $2, $3, $4)
		ON CONFLICT (name) DO UPDATE SET pool = excluded.pool, joined = excluded.joined RETURNING id`,
		access.NewID(), name, pool, db.now())
	if err != nil {
		return "", "", fmt.Errorf("store machine %s: %w", name, err)
	}
	if err := exec(ctx, tx, "revoke the tokens of machine "+name,
		`DELETE FROM tokens WHERE owner = $1 AND role = 'machine'`, id); err != nil {
		return "", "", err
	}
	token, err = db.AddToken(ctx, tx, Token{Role: access.Machine, Owner: id})
	return id, token, err
}

// AddPower stores what was done to the power of the machine with this name.
func (db *DB) AddPower(ctx context.Context, name, text string) error {
	return db.Update(ctx, func(tx *sql.Tx) error {
		m, err := db.MachineNamed(ctx, tx, name)
		if err != nil {
			return err
		}
		acts := append(m.Power, PowerAct{db.now().UTC(), text})
		return exec(ctx, tx, "machine "+name, `UPDATE machines SET power = $2 WHERE id = $1`, m.ID,
			acts[max(0, len(acts)-mostPowerActs):])
	})
}

// Seen stores what a machine reports of itself, and closes the alerts about its silence.
func (db *DB) Seen(ctx context.Context, tx *sql.Tx, id, bootID, facts, status string) error {
	err := change(ctx, tx, "machine "+id, `UPDATE machines SET last_seen = $2, status = $4,
		booted = CASE WHEN boot_id = $3 THEN booted ELSE $2 END, boot_id = $3,
		facts = CASE WHEN $5 = '' THEN facts ELSE $5 END WHERE id = $1`, id, db.now(), bootID, status, facts)
	if err != nil {
		return err
	}
	return exec(ctx, tx, "close the alerts of machine "+id, `UPDATE alerts SET state = 'closed', closed = $2
		WHERE machine = $1 AND state = 'open' AND kind <> 'change'`, id, db.now())
}
