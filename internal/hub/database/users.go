package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
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
	_, err := run(ctx, tx, "store user "+u.Name,
		insert("users", "name, role, subject, created", u.Name, u.Role, u.Subject, db.now()))
	return err
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

func userNamed(ctx context.Context, from querier, name string) (User, error) {
	return find[User](ctx, from, "user "+name,
		`SELECT name, role, subject, created, projects FROM users WHERE name = $1`, name)
}

// Token is what is known of a token; the token itself is not stored.
type Token struct {
	Hash  string      `json:"id"` // see access.Hash
	Role  access.Role `json:"role"`
	Owner string      `json:"owner"` // name of the user, id of the machine, "" for tokens to join
	Label string      `json:"label"` // what it is for
	// Parent is the hash of the token that a session was made with, and with which it ends; Maker
	// is of the one that another token was made with; "": none, or not known.
	Parent  string    `json:"-"`
	Maker   string    `json:"-"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"` // zero: never
	Bound   time.Time `json:"-"`       // when tokens that it makes end at the latest; zero: never
	Machine string    `json:"machine"` // name of the machine that it is of; not stored with it
	Makes   int       `json:"made"`    // how many tokens were made with it; not stored with it
}

// AddToken makes a token, stores its hash, and returns it.
func (db *DB) AddToken(ctx context.Context, tx *sql.Tx, t Token) (string, error) {
	token := access.NewToken()
	parent := sql.NullString{String: t.Parent, Valid: t.Parent != ""}
	_, err := run(ctx, tx, "store a token", insert("tokens",
		"hash, role, owner, label, parent, created, expires, bound, maker", access.Hash(token), t.Role,
		t.Owner, t.Label, parent, db.now(), t.Expires, t.Bound, t.Maker))
	return token, err
}

// mostSessions is how many a token, or a user who logs in otherwise, has at the same time.
const mostSessions = 100

// SessionLabel is the label of the token of a browser's session.
const SessionLabel = "session"

// AddSession makes a session, until a time, of an identity that is not one; it permits the same.
// The oldest ones end if there are too many.
func (db *DB) AddSession(ctx context.Context, tx *sql.Tx, who access.Identity, until time.Time) (
	string, error) {
	err := exec(ctx, tx, "end old sessions", `DELETE FROM tokens WHERE hash IN (SELECT hash FROM tokens
		WHERE owner = $1 AND label = '`+SessionLabel+`' AND COALESCE(parent, '') = $2
		ORDER BY created DESC, hash LIMIT 1000000 OFFSET $3)`, who.Name, who.Token, mostSessions-1)
	if err != nil {
		return "", err
	}
	return db.AddToken(ctx, tx, Token{Role: who.Role, Owner: who.Name, Label: SessionLabel, Parent: who.Token,
		Expires: until, Bound: who.Bound})
}

// ErrManyTokens is the error for a user who has too many.
var ErrManyTokens = errors.New("there are 500 tokens of this user; revoke those that are not needed")

// MakeToken makes a token with its user, if there is none of this name. It is not a session.
func (db *DB) MakeToken(ctx context.Context, tx *sql.Tx, t Token) (string, error) {
	const most = 500
	n, err := first[int](ctx, tx, `SELECT COUNT(*) FROM tokens WHERE owner = $1 AND role <> 'machine'
		AND label <> '`+SessionLabel+`'`, t.Owner)
	if err == nil && n >= most {
		err = ErrManyTokens
	}
	if err == nil && t.Owner != "" {
		err = db.AddUser(ctx, tx, User{Name: t.Owner, Role: t.Role})
	}
	if err != nil {
		return "", err
	}
	return db.AddToken(ctx, tx, t)
}

// Who returns the identity that a token belongs to. The error wraps ErrMissing if there is none, or
// no longer.
func (db *DB) Who(ctx context.Context, token string) (access.Identity, error) {
	return db.identity(ctx, db.Read, access.Hash(token))
}

// identity returns the identity that the token with this hash belongs to now.
func (db *DB) identity(ctx context.Context, from querier, hash string) (access.Identity, error) {
	type token struct {
		Role               access.Role
		Owner, Label, Root string
		Ends, Bound        time.Time
		Machine            string
		User               access.Role
		Projects           string
	}
	t, err := find[token](ctx, from, "token", `
		SELECT t.role, t.owner, t.label, COALESCE(t.parent, t.hash), t.expires, t.bound,
			COALESCE(m.name, ''), COALESCE(u.role, ''), COALESCE(u.projects, '') FROM tokens t
		LEFT JOIN machines m ON t.role = 'machine' AND m.id = t.owner
		LEFT JOIN users u ON t.role NOT IN ('machine', 'join') AND u.name = t.owner
		WHERE t.hash = $1 AND (t.expires = 0 OR t.expires > $2)`, hash, db.now())
	if err != nil {
		return access.Identity{}, err
	}
	who := access.Identity{Role: t.Role, Token: hash, Root: t.Root, Session: t.Label == SessionLabel,
		Ends: t.Ends, Bound: t.Bound}
	switch {
	case who.Role == access.Join:
		who.Name = "join"
	case who.Role == access.Machine && t.Machine != "":
		who.Name, who.ID = t.Machine, t.Owner
	case who.Role != access.Machine && t.User != "":
		who.Name, who.Projects = t.Owner, t.Projects
		// A token permits no more than its user may do now.
		if !t.User.Includes(who.Role) {
			who.Role = t.User
		}
	default: // the machine or the user is gone
		return access.Identity{}, fmt.Errorf("token: %w", ErrMissing)
	}
	return who, nil
}

// visible is the condition for the tokens that an identity may see and revoke: an admin's all, else
// its own, and those of its user with a role that its own includes.
const visible = `($1 = 'admin' OR owner = $2 AND role <> 'machine' AND (hash = $3
	OR CASE role WHEN 'reader' THEN 1 WHEN 'user' THEN 2 ELSE 3 END <= $4))`

func visibleArgs(who access.Identity) []any {
	return []any{who.Role, who.Name, who.Token, len(who.Role.Included())}
}

// Tokens returns at most limit tokens that an identity may see, the oldest first: those that were
// made after a time, in microseconds since 1970, or at it with a hash after after.
func (db *DB) Tokens(ctx context.Context, who access.Identity, made int64, after string, limit int) (
	[]Token, error) {
	return list[Token](ctx, db.Read, `SELECT hash, role, owner, label, COALESCE(parent, ''), maker, created,
		expires, bound,
		COALESCE((SELECT name FROM machines m WHERE tokens.role = 'machine' AND m.id = tokens.owner), ''),
		(SELECT COUNT(*) FROM tokens t WHERE t.maker = tokens.hash) FROM tokens WHERE `+visible+` AND (created > $5 OR created = $5 AND hash > $6) ORDER BY created, hash LIMIT $7`,
		append(visibleArgs(who), made, after, limit)...)
}

// RevokeToken ends the token with this hash, and the sessions that were made with it; with made
// also the tokens that were made with it, and with these. The error wraps ErrMissing if there is
// none that the identity may see.
func (db *DB) RevokeToken(ctx context.Context, tx *sql.Tx, hash string, made bool, who access.Identity,
) error {
	if made {
		err := exec(ctx, tx, "revoke the tokens made with a token", `DELETE FROM tokens WHERE hash IN (
			WITH RECURSIVE made (hash) AS (
				SELECT t.hash FROM tokens t WHERE t.maker = $5
					AND EXISTS (SELECT 1 FROM tokens WHERE `+visible+` AND hash = $5)
				UNION SELECT t.hash FROM tokens t JOIN made m ON t.maker = m.hash)
			SELECT hash FROM made)`, append(visibleArgs(who), hash)...)
		if err != nil {
			return err
		}
	}
	return change(ctx, tx, "token", `DELETE FROM tokens WHERE `+visible+` AND hash = $5`,
		append(visibleArgs(who), hash)...)
}

// EndSession ends the session with this hash. That there is none is no error.
func (db *DB) EndSession(ctx context.Context, hash string) error {
	return db.Update(ctx, func(tx *sql.Tx) error {
		return exec(ctx, tx, "end a session",
			`DELETE FROM tokens WHERE hash = $1 AND label = '`+SessionLabel+`'`, hash)
	})
}

// RemoveExpired removes tokens that have expired.
func (db *DB) RemoveExpired(ctx context.Context) error {
	return db.Update(ctx, func(tx *sql.Tx) error {
		return exec(ctx, tx, "remove tokens", `DELETE FROM tokens WHERE expires > 0 AND expires <= $1`, db.now())
	})
}
