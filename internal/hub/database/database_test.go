package database_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"krund/internal/hub/access"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/hubtest"
	"krund/rig/must"
)

// both runs a test on each database system. open opens the test's database, again each time.
func both(t *testing.T, test func(t *testing.T, open func() *database.DB)) {
	dbtest.OnEach(t, func(t *testing.T, location string) {
		test(t, func() *database.DB {
			db := must.Get(database.Open(t.Context(), location, func() time.Time { return hubtest.Now }))(t)
			t.Cleanup(func() { _ = db.Close() })
			return db
		})
	})
}

func update(t *testing.T, db *database.DB, do func(*sql.Tx) error) {
	t.Helper()
	must.Do(t, db.Update(t.Context(), do))
}

func TestRecords(t *testing.T) {
	both(t, func(t *testing.T, open func() *database.DB) {
		db := open()
		var machine string
		must.Do(t, db.Announce(t.Context(), []string{"h1", "h2"}))
		update(t, db, func(tx *sql.Tx) (err error) {
			if machine, _, err = db.Join(t.Context(), tx, "lab1", ""); err != nil {
				return err
			}
			if err := db.AddExperiment(t.Context(), tx, database.Experiment{ID: "e", Name: "x",
				State: database.Running}); err != nil {
				return err
			}
			return db.AddBlob(t.Context(), tx, "h1", 5)
		})
		add := func(slot int64, blob string) (added bool, err error) {
			err = db.Update(t.Context(), func(tx *sql.Tx) error {
				if err := db.AddBlob(t.Context(), tx, blob, 5); err != nil {
					return err
				}
				added, err = db.AddRecord(t.Context(), tx, database.Record{Experiment: "e", Machine: machine,
					Slot: slot, Attempt: 1, Blob: blob})
				return err
			})
			return added, err
		}
		for _, test := range []struct {
			slot  int64
			blob  string
			added bool
			err   error
		}{
			{7, "h1", true, nil},
			{7, "h1", false, nil},
			{7, "h2", false, database.ErrConflict},
			{3, "h1", true, nil},
			{1 << 33, "h1", true, nil},
		} {
			added, err := add(test.slot, test.blob)
			must.Be(t, added == test.added && errors.Is(err, test.err), "slot", test.slot, test.blob, added,
				err, "want", test.added, test.err)
		}
		db = open() // again: nothing is left to migrate
		list, err := db.Records(t.Context(), "e", machine, 0, 10)
		must.Be(t, err == nil && len(list) == 3 && list[0].Slot == 7 && list[1].Slot == 3 &&
			list[2].Slot == 1<<33 && list[0].Received.Equal(hubtest.Now), list, err)
		list, err = db.Records(t.Context(), "e", "", list[0].Seq, 1)
		must.Be(t, err == nil && len(list) == 1 && list[0].Slot == 3, "after the first", list, err)
		update(t, db, func(tx *sql.Tx) error {
			f := database.File{Experiment: "e", Machine: machine, Name: "log", Hash: "h3"}
			if err := db.PutFile(t.Context(), tx, f, packed(t, "old")); err != nil {
				return err
			}
			return db.PutFile(t.Context(), tx, f, packed(t, "\x00\xffnew"))
		})
		text, err := db.FileContent(t.Context(), "e", machine, "log", 10)
		must.Equal(t, string(text), "\x00\xffnew", text, err)
		counts, err := db.Counts(t.Context())
		must.Be(t, err == nil && len(counts) == 2, counts, err)
	})
}

func packed(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := database.Pack(&b)
	_, err := io.WriteString(w, text)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTokens(t *testing.T) {
	both(t, func(t *testing.T, open func() *database.DB) {
		db := open()
		var user, old, machine, again string
		update(t, db, func(tx *sql.Tx) (err error) {
			err = db.AddUser(t.Context(), tx, database.User{Name: "ada", Role: access.Reader})
			if err != nil {
				return err
			}
			user, err = db.AddToken(t.Context(), tx, database.Token{Role: access.User, Owner: "ada"})
			if err != nil {
				return err
			}
			if old, err = db.AddToken(t.Context(), tx, database.Token{Role: access.Reader, Owner: "ada",
				Expires: hubtest.Now}); err != nil {
				return err
			}
			if _, machine, err = db.Join(t.Context(), tx, "lab1", "p"); err != nil {
				return err
			}
			_, again, err = db.Join(t.Context(), tx, "lab1", "q")
			return err
		})
		// A token permits no more than its user may.
		ada := access.Identity{Name: "ada", Role: access.Reader, Token: access.Hash(user),
			Root: access.Hash(user), Projects: "{}"}
		who, err := db.Who(t.Context(), user)
		must.Be(t, err == nil && who == ada, who, err)
		who, err = db.Who(t.Context(), again)
		must.Be(t, err == nil && who.Name == "lab1" && who.Role == access.Machine, who, err)
		for name, token := range map[string]string{"expired": old, "of a machine that joined again": machine,
			"unknown": access.NewToken(), "empty": "", "the stored hash": access.Hash(user)} {
			who, err := db.Who(t.Context(), token)
			must.Fail(t, err, database.ErrMissing, name, who, "want ErrMissing")
		}
		eve := access.Identity{Name: "eve", Role: access.User}
		err = db.Update(t.Context(), func(tx *sql.Tx) error {
			return db.RevokeToken(t.Context(), tx, access.Hash(user), true, eve)
		})
		must.Fail(t, err, database.ErrMissing, "another user revokes it")
		must.Do(t, db.RemoveExpired(t.Context()))
		if list, err := db.Tokens(t.Context(), access.Identity{Name: "ada", Role: access.User}, 0, "",
			10); err != nil || len(list) != 1 {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

// TestLeakedToken: a token is revoked alone, or with all that were made with it and with these.
func TestLeakedToken(t *testing.T) {
	both(t, func(t *testing.T, open func() *database.DB) {
		db := open()
		ada := access.Identity{Name: "ada", Role: access.Admin}
		hashes := make([]string, 5)
		update(t, db, func(tx *sql.Tx) error {
			for i, maker := range []int{-1, 0, 1, 1, -1} { // the first makes the second, which makes two
				of := database.Token{Role: access.Admin, Owner: "ada", Label: fmt.Sprint(i)}
				if maker >= 0 {
					of.Maker = hashes[maker]
				}
				token, err := db.MakeToken(t.Context(), tx, of)
				if err != nil {
					return err
				}
				hashes[i] = access.Hash(token)
			}
			return nil
		})
		left := func() string {
			var all []string
			for _, token := range must.Get(db.Tokens(t.Context(), ada, 0, "", 10))(t) {
				all = append(all, fmt.Sprint(token.Label, " makes ", token.Makes))
			}
			slices.Sort(all)
			return strings.Join(all, ", ")
		}
		must.Equal(t, left(), "0 makes 1, 1 makes 2, 2 makes 0, 3 makes 0, 4 makes 0")
		revoke := func(i int, made bool) func(*sql.Tx) error {
			return func(tx *sql.Tx) error { return db.RevokeToken(t.Context(), tx, hashes[i], made, ada) }
		}
		update(t, db, revoke(3, false))
		must.Equal(t, left(), "0 makes 1, 1 makes 1, 2 makes 0, 4 makes 0")
		eve := access.Identity{Name: "eve", Role: access.User}
		err := db.Update(t.Context(), func(tx *sql.Tx) error {
			return db.RevokeToken(t.Context(), tx, hashes[0], true, eve)
		})
		must.Fail(t, err, database.ErrMissing, "another user revokes it")
		must.Equal(t, left(), "0 makes 1, 1 makes 1, 2 makes 0, 4 makes 0")
		update(t, db, revoke(0, true))
		must.Equal(t, left(), "4 makes 0")
	})
}

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
