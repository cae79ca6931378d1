package database

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"krund/internal/hub/access"
)

// User is a person or a program that uses the hub.
type User struct {
	Name    string
	Role    access.Role
	Subject string // issuer and subject of OpenID Connect, "" without
	Created time.Time
	// Projects are the roles in projects, as JSON; see access.Identity.
	Projects string
}

// Identity is the user's if no token narrows it.
func (u User) Identity() access.Identity {
	return access.Identity{Name: u.Name, Role: u.Role, Projects: u.Projects}
}

// Errors of [DB.Govern] and of changes of roles.
var (
	ErrRevoked   = errors.New("the token is not known, or has expired or was revoked")
	ErrRole      = errors.New("your role was changed in the meantime, and does not permit this any more")
	ErrLastAdmin = errors.New("no user with the role admin would remain; give another one that role first")
)

// Govern runs do in a transaction during which nobody else changes who may do what. who is the one
// who asks for it, whose identity is read again, because it may have changed since the request was
// permitted: the error is ErrRevoked if it has ended, and ErrRole if its role does not include need
// any more. All changes of users and tokens by requests are made here.
func (db *DB) Govern(ctx context.Context, who access.Identity, need access.Role,
	do func(*sql.Tx, access.Identity) error) error {
	return db.Update(ctx, func(tx *sql.Tx) error {
		if err := db.LockAccess(ctx, tx); err != nil {
			return err
		}
		now, err := db.again(ctx, tx, who)
		switch {
		case errors.Is(err, ErrMissing):
			return ErrRevoked
		case err != nil:
			return err
		case !now.Role.Includes(need):
			return ErrRole
		}
		return do(tx, now)
	})
}

// LockAccess keeps others from changing who may do what until the transaction ends.
func (db *DB) LockAccess(ctx context.Context, tx *sql.Tx) error {
	return db.exclude(ctx, tx, accessLock)
}

// again returns an identity as it is now: that of its token, or of its user if a reverse proxy has
// found out who asks. The error wraps ErrMissing if it has ended.
func (db *DB) again(ctx context.Context, from querier, who access.Identity) (access.Identity, error) {
	if who.Token != "" {
		return db.identity(ctx, from, who.Token)
	}
	u, err := userNamed(ctx, from, who.Name)
	return u.Identity(), err
}

// Permitted reports whether an identity may still read, and see some experiments: its token was not
// revoked and has not expired, and it is of a user who exists.
func (db *DB) Permitted(ctx context.Context, who access.Identity, experiments ...string) (bool, error) {
	var err error
	if who.Role != access.Anonymous {
		who, err = db.again(ctx, db.Read, who)
	}
	for _, id := range experiments {
		if err == nil {
			_, err = db.Experiment(access.With(ctx, who), id)
		}
	}
	if errors.Is(err, ErrMissing) {
		return false, nil
	}
	return err == nil && who.Role.Includes(access.Anonymous), err
}

// AddUser adds a user unless there is one of this name or subject.
func (db *DB) AddUser(ctx context.Context, tx *sql.Tx, u User) error {
	return exec(ctx, tx, "store user "+u.Name, `INSERT INTO users (name, role, subject, created)
		VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`, u.Name, u.Role, u.Subject, db.now())
}

// SetRole changes the role of a user; the caller has locked who may do what. The error wraps
// ErrMissing if there is none of this name, and ErrLastAdmin if no admin would remain.
func (db *DB) SetRole(ctx context.Context, tx *sql.Tx, name string, role access.Role) error {
	err := change(ctx, tx, "user "+name, `UPDATE users SET role = $2 WHERE name = $1`, name, role)
	if err == nil {
		err = db.adminRemains(ctx, tx)
	}
	return err
}

// adminRemains returns ErrLastAdmin if there is no admin.
func (db *DB) adminRemains(ctx context.Context, tx *sql.Tx) error {
	n, err := first[int](ctx, tx, `SELECT COUNT(*) FROM users WHERE role = 'admin'`)
	if err == nil && n == 0 {
		err = ErrLastAdmin
	}
	return err
}

// FindUser returns the user with this subject, or without a subject, of this name. With a subject
// that is unknown, it returns the user of this name, who may have another. The error wraps
// ErrMissing if there is none.
func (db *DB) FindUser(ctx context.Context, name, subject string) (User, error) {
	return find[User](ctx, db.Read, "user "+name, `SELECT name, role, subject, created, projects FROM users
		WHERE name = $1 OR $2 <> '' AND subject = $2
		ORDER BY CASE WHEN subject = $2 THEN 0 ELSE 1 END LIMIT 1`, name, subject)
}

// RemoveUser removes a user with all tokens and sessions; the caller has locked who may do what.
// The error wraps ErrMissing if there is none of this name, and ErrLastAdmin if no admin would
// remain.
func (db *DB) RemoveUser(ctx context.Context, tx *sql.Tx, name string) error {
	err := change(ctx, tx, "user "+name, `DELETE FROM users WHERE name = $1`, name)
	if err == nil {
		err = exec(ctx, tx, "user "+name, `DELETE FROM tokens WHERE owner = $1 AND role <> 'machine'`, name)
	}
	if err == nil {
		err = db.adminRemains(ctx, tx)
	}
	return err
}

// HasUsers reports whether there is any user.
func (db *DB) HasUsers(ctx context.Context, tx *sql.Tx) (bool, error) {
	n, err := first[int](ctx, tx, `SELECT COUNT(*) FROM users`)
	return n > 0, err
}

// UserNamed returns a user; the error wraps ErrMissing if there is none.
func (db *DB) UserNamed(ctx context.Context, name string) (User, error) {
	return userNamed(ctx, db.Read, name)
}

func userNamed(ctx context.Context, from querier, name string) (User, error) {
	return find[User](ctx, from, "user "+name,
		`SELECT name, role, subject, created, projects FROM users WHERE name = $1`, name)
}
