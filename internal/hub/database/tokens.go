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
	var who access.Identity
	var owner, machine, user string
	err := db.Read.QueryRowContext(ctx, `
		SELECT t.role, t.owner, COALESCE(m.name, ''), COALESCE(u.role, '') FROM tokens t
		LEFT JOIN machines m ON t.role = 'machine' AND m.id = t.owner
		LEFT JOIN users u ON t.role NOT IN ('machine', 'join') AND u.name = t.owner
		WHERE t.hash = $1 AND (t.expires = 0 OR t.expires > $2)`, access.Hash(token), stamp(db.now())).
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

// Permitted reports whether an identity may still read: its token was not revoked and has not
// expired, and it is of a user who exists.
func (db *DB) Permitted(ctx context.Context, who access.Identity) (bool, error) {
	var n int
	err := db.Read.QueryRowContext(ctx, `SELECT COUNT(*) FROM users WHERE name = $1 AND ($2 = '' OR EXISTS (
		SELECT 1 FROM tokens WHERE hash = $2 AND owner = $1 AND (expires = 0 OR expires > $3)))`,
		who.Name, who.Token, stamp(db.now())).Scan(&n)
	if err != nil {
		return false, fmt.Errorf("token: %w", err)
	}
	return n > 0, nil
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

// User is a person or a program that uses the hub.
type User struct {
	Name    string
	Role    access.Role
	Subject string // issuer and subject of OpenID Connect, "" without
	Created time.Time
}

// PutUser adds a user, or changes the role and the subject of an existing one.
func (db *DB) PutUser(ctx context.Context, tx *sql.Tx, u User) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO users (name, role, subject, created) VALUES ($1, $2, $3, $4)
		ON CONFLICT (name) DO UPDATE SET role = excluded.role, subject = excluded.subject`,
		u.Name, u.Role, u.Subject, stamp(db.now()))
	if err != nil {
		return fmt.Errorf("store user %s: %w", u.Name, err)
	}
	return nil
}

// SetRole changes the role of a user. The error wraps ErrMissing if there is none.
func (db *DB) SetRole(ctx context.Context, name string, role access.Role) error {
	return db.Update(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `UPDATE users SET role = $2 WHERE name = $1`, name, role)
		return affected(result, err, "user "+name)
	})
}

// FindUser returns the user with this subject, or without a subject, of this name. With a subject
// that is unknown, it returns the user of this name, who may have another. The error wraps
// ErrMissing if there is none.
func (db *DB) FindUser(ctx context.Context, tx *sql.Tx, name, subject string) (User, error) {
	u, err := scanUser(tx.QueryRowContext(ctx, `SELECT name, role, subject, created FROM users
		WHERE name = $1 OR $2 <> '' AND subject = $2
		ORDER BY CASE WHEN subject = $2 THEN 0 ELSE 1 END LIMIT 1`, name, subject))
	return u, missing(err, "user "+name)
}

// RemoveUser removes a user with all tokens and sessions. The error wraps ErrMissing if there is
// none.
func (db *DB) RemoveUser(ctx context.Context, name string) error {
	return db.Update(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `DELETE FROM users WHERE name = $1`, name)
		if err = affected(result, err, "user "+name); err == nil {
			_, err = tx.ExecContext(ctx, `DELETE FROM tokens WHERE owner = $1 AND role <> 'machine'`, name)
		}
		return err
	})
}

// Users returns all users by name.
func (db *DB) Users(ctx context.Context) ([]User, error) {
	return list(ctx, db.Read, scanUser, `SELECT name, role, subject, created FROM users ORDER BY name`)
}

// UserNamed returns a user; the error wraps ErrMissing if there is none.
func (db *DB) UserNamed(ctx context.Context, name string) (User, error) {
	u, err := scanUser(db.Read.QueryRowContext(ctx,
		`SELECT name, role, subject, created FROM users WHERE name = $1`, name))
	return u, missing(err, "user "+name)
}

func scanUser(r row) (u User, err error) {
	var created int64
	err = r.Scan(&u.Name, &u.Role, &u.Subject, &created)
	u.Created = stamped(created)
	return u, err
}
