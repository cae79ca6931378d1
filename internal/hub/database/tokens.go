package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"krund/internal/hub/access"
)

// Token is what is known of a token; the token itself is not stored.
type Token struct {
	Hash    string // see access.Hash
	Role    access.Role
	Owner   string // name of the user, id of the machine, "" for tokens to join
	Label   string // what it is for
	Created time.Time
	Expires time.Time // zero: never
}

// AddToken makes a token, stores its hash, and returns it.
func (db *DB) AddToken(ctx context.Context, tx *sql.Tx, t Token) (string, error) {
	token := access.NewToken()
	_, err := tx.ExecContext(ctx, `INSERT INTO tokens (hash, role, owner, label, created, expires)
		VALUES ($1, $2, $3, $4, $5, $6)`,
		access.Hash(token), t.Role, t.Owner, t.Label, stamp(db.now()), stamp(t.Expires))
	if err != nil {
		return "", fmt.Errorf("store a token: %w", err)
	}
	return token, nil
}

// Who returns the identity that a token belongs to. The error wraps ErrMissing if there is none, or
// no longer.
func (db *DB) Who(ctx context.Context, token string) (access.Identity, error) {
	return db.identity(ctx, db.Read, access.Hash(token))
}

// identity returns the identity that the token with this hash belongs to now.
func (db *DB) identity(ctx context.Context, from querier, hash string) (access.Identity, error) {
	who := access.Identity{Token: hash}
	var owner, machine, user string
	err := from.QueryRowContext(ctx, `
		SELECT t.role, t.owner, COALESCE(m.name, ''), COALESCE(u.role, '') FROM tokens t
		LEFT JOIN machines m ON t.role = 'machine' AND m.id = t.owner
		LEFT JOIN users u ON t.role NOT IN ('machine', 'join') AND u.name = t.owner
		WHERE t.hash = $1 AND (t.expires = 0 OR t.expires > $2)`, hash, stamp(db.now())).
		Scan(&who.Role, &owner, &machine, &user)
	if err != nil {
		return access.Identity{}, missing(err, "token")
	}
	switch {
	case who.Role == access.Join:
		who.Name = "join"
	case who.Role == access.Machine && machine != "":
		who.Name, who.ID = machine, owner
	case who.Role != access.Machine && user != "":
		who.Name = owner
		// A token permits no more than its user may do now.
		if !access.Role(user).Includes(who.Role) {
			who.Role = access.Role(user)
		}
	default: // the machine or the user is gone
		return access.Identity{}, fmt.Errorf("token: %w", ErrMissing)
	}
	return who, nil
}

// Tokens returns the tokens of a user; of all, machines included, with "".
func (db *DB) Tokens(ctx context.Context, owner string) ([]Token, error) {
	return list(ctx, db.Read, func(r row) (t Token, err error) {
		var created, expires int64
		err = r.Scan(&t.Hash, &t.Role, &t.Owner, &t.Label, &created, &expires)
		t.Created, t.Expires = stamped(created), stamped(expires)
		return t, err
	}, `SELECT hash, role, owner, label, created, expires FROM tokens
		WHERE $1 = '' OR owner = $1 AND role <> 'machine' ORDER BY created, hash`, owner)
}

// RemoveToken revokes the token with this hash if the user owner has it, or any with owner "". The
// error wraps ErrMissing if there is none.
func (db *DB) RemoveToken(ctx context.Context, hash, owner string) error {
	return db.Update(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `DELETE FROM tokens WHERE hash = $1
			AND ($2 = '' OR owner = $2 AND role <> 'machine')`, hash, owner)
		return affected(result, err, "token")
	})
}

// RemoveExpired removes tokens that have expired.
func (db *DB) RemoveExpired(ctx context.Context) error {
	return db.Update(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM tokens WHERE expires > 0 AND expires <= $1`, stamp(db.now()))
		return err
	})
}

// affected returns ErrMissing if no row was changed.
func affected(result sql.Result, err error, what string) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return fmt.Errorf("%s: %w", what, errors.Join(err, ErrMissing))
	}
	return nil
}
