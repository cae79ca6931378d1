package database_test

import (
	"database/sql"
	"errors"
	"testing"

	"krund/internal/hub/access"
	"krund/internal/hub/database"
	"krund/internal/hub/hubtest"
	"krund/rig/must"
)

// TestGovern: a change is made for the identity as it is when it is made, and leaves an admin.
func TestGovern(t *testing.T) {
	both(t, func(t *testing.T, open func() *database.DB) {
		db := open()
		who := map[string]access.Identity{}
		update(t, db, func(tx *sql.Tx) error {
			for _, token := range []database.Token{{Role: access.Admin, Owner: "ada", Label: "ada"},
				{Role: access.User, Owner: "ada", Label: "narrow"},
				{Role: access.Admin, Owner: "ada", Label: "expired", Expires: hubtest.Now}} {
				err := db.AddUser(t.Context(), tx, database.User{Name: token.Owner, Role: access.Admin})
				if err != nil {
					return err
				}
				text, err := db.AddToken(t.Context(), tx, token)
				if err != nil {
					return err
				}
				// As they were when the request was permitted.
				who[token.Label] = access.Identity{Name: token.Owner, Role: access.Admin,
					Token: access.Hash(text)}
			}
			return nil
		})
		who["of a proxy"] = access.Identity{Name: "ada", Role: access.Admin}
		who["gone"] = access.Identity{Name: "eve", Role: access.Admin}
		who["revoked"] = access.Identity{Name: "ada", Role: access.Admin, Token: access.Hash("x")}
		for name, want := range map[string]error{"ada": nil, "of a proxy": nil, "narrow": database.ErrRole,
			"expired": database.ErrRevoked, "gone": database.ErrRevoked, "revoked": database.ErrRevoked} {
			done := false
			err := db.Govern(t.Context(), who[name], access.Admin,
				func(_ *sql.Tx, now access.Identity) error {
					done = true
					must.Be(t, now.Name == "ada" && now.Role == access.Admin, name, now)
					return nil
				})
			must.Be(t, errors.Is(err, want) && (err != nil || want == nil) && done == (want == nil), name,
				err, "done", done, "want", want)
		}
		for name, do := range map[string]func(*sql.Tx) error{
			"demote": func(tx *sql.Tx) error { return db.SetRole(t.Context(), tx, "ada", access.User) },
			"remove": func(tx *sql.Tx) error { return db.RemoveUser(t.Context(), tx, "ada") },
		} {
			must.Fail(t, db.Update(t.Context(), do), database.ErrLastAdmin, name, "the last admin")
			u, err := db.FindUser(t.Context(), "ada", "")
			must.Be(t, err == nil && u.Role == access.Admin, name, u, err)
		}
	})
}

// TestAddUser: a user who is there stays as they are, whoever logs in under the name or the subject
// at the same moment.
func TestAddUser(t *testing.T) {
	both(t, func(t *testing.T, open func() *database.DB) {
		db := open()
		first := database.User{Name: "ada", Role: access.Admin, Subject: "p 17"}
		update(t, db, func(tx *sql.Tx) error { return db.AddUser(t.Context(), tx, first) })
		for _, other := range []database.User{{Name: "ada", Role: access.Reader},
			{Name: "ada", Role: access.Reader, Subject: "p 18"},
			{Name: "eve", Role: access.Reader, Subject: "p 17"}} {
			update(t, db, func(tx *sql.Tx) error { return db.AddUser(t.Context(), tx, other) })
		}
		u, err := db.FindUser(t.Context(), "eve", "p 17")
		must.Be(t, err == nil && u.Name == "ada" && u.Role == access.Admin && u.Subject == "p 17", u, err)
	})
}
