package server_test

import (
	"database/sql"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/hubtest"
	"krund/rig/must"
)

// token adds a token of an existing user, and returns its client.
func token(t *testing.T, h *hubtest.Hub, of database.Token) *api.Client {
	t.Helper()
	var text string
	must.Do(t, h.DB.Update(t.Context(), func(tx *sql.Tx) (err error) {
		text, err = h.DB.AddToken(t.Context(), tx, of)
		return err
	}))
	return &api.Client{URL: h.URL, Token: text}
}

// send sends a form, or asks for a page without one, and returns the status, the cookies and the
// text.
func send(t *testing.T, c *api.Client, path string, form url.Values) (int, []*http.Cookie, string) {
	t.Helper()
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	r := must.Get(
		http.NewRequestWithContext(t.Context(), method, c.URL+path, strings.NewReader(form.Encode())))(t)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	answer := must.Get(http.DefaultTransport.RoundTrip(r))(t)
	defer answer.Body.Close() // it was only read
	text := must.Get(io.ReadAll(answer.Body))(t)
	return answer.StatusCode, answer.Cookies(), string(text)
}

// TestTokensNarrow: a token sees, makes and revokes only tokens of its user whose role its own
// includes, whatever the user may do.
func TestTokensNarrow(t *testing.T) { dbtest.OnEach(t, testTokensNarrow) }

func testTokensNarrow(t *testing.T, at string) {
	h := hubtest.On(t, at)
	admin := h.Client(t, "boss", access.Admin)
	dashboard := token(t, h, database.Token{Role: access.Reader, Owner: "boss", Label: "dashboard"})
	other := token(t, h, database.Token{Role: access.Reader, Owner: "boss", Label: "another"})
	ci := token(t, h, database.Token{Role: access.User, Owner: "boss", Label: "ci"})
	join := h.Client(t, "", access.Join)
	ann := h.Client(t, "ann", access.User)
	all := map[string]*api.Client{"admin": admin, "dashboard": dashboard, "another": other, "ci": ci,
		"join": join, "ann": ann, "machine": h.Machine(t, "lab1")}
	for _, test := range []struct {
		name   string
		client *api.Client
		sees   string
		makes  string // roles
	}{
		{"dashboard", dashboard, "another dashboard", ""},
		{"ci", ci, "another ci dashboard", "reader user"},
		{"ann", ann, "ann", "reader user"},
	} {
		_, _, page := send(t, test.client, "/tokens", nil)
		for name, c := range all {
			want := strings.Contains(" "+test.sees+" ", " "+name+" ")
			if strings.Contains(page, access.Hash(c.Token)) != want {
				if name == test.name { // it is shown, without a button
					continue
				}
				t.Errorf("%s sees %s: %v, want %v", test.name, name, !want, want)
			}
			if want {
				continue
			}
			code, _, _ := send(t, test.client, "/tokens/"+access.Hash(c.Token)+"/revoke", url.Values{})
			must.Equal(t, code, http.StatusNotFound, test.name, "revokes", name)
		}
		for _, role := range []string{"reader", "user", "admin", "join", "machine"} {
			code, _, _ := send(t, test.client, "/tokens", url.Values{"label": {"x"}, "role": {role}})
			want := strings.Contains(" "+test.makes+" ", " "+role+" ")
			must.Be(t, (code == http.StatusOK) == want, test.name, "makes a token with the role", role, code,
				want)
		}
	}
	for name, c := range all {
		must.Get(h.DB.Who(t.Context(), c.Token))(t, name)
	}
	for _, revoked := range []*api.Client{other, dashboard} { // one of the same role, and itself
		code, _, _ := send(t, dashboard, "/tokens/"+access.Hash(revoked.Token)+"/revoke", url.Values{})
		if _, err := h.DB.Who(t.Context(), revoked.Token); code != http.StatusSeeOther || err == nil {
			t.Errorf("a reader revokes a token of a reader: %d, %v", code, err)
		}
	}
}

// TestSessionsEnd: a session ends with the token that it was made with, lasts no longer, and makes
// no other session.
func TestSessionsEnd(t *testing.T) { dbtest.OnEach(t, testSessionsEnd) }

func testSessionsEnd(t *testing.T, at string) {
	h := hubtest.On(t, at)
	admin, ann := h.Client(t, "boss", access.Admin), h.Client(t, "ann", access.User)
	logIn := func(c *api.Client) *api.Client {
		t.Helper()
		code, cookies, text := send(t, &api.Client{URL: h.URL}, "/login", url.Values{"token": {c.Token}})
		must.Need(t, code == http.StatusSeeOther && len(cookies) == 1, "log", code, text)
		return &api.Client{URL: h.URL, Token: cookies[0].Value}
	}
	session, its := logIn(ann), logIn(admin)
	code, _, _ := send(t, &api.Client{URL: h.URL}, "/login", url.Values{"token": {session.Token}})
	must.Equal(t, code, http.StatusBadRequest, "log in with a session")
	short := token(t, h, database.Token{Role: access.User, Owner: "ann", Expires: hubtest.Now.Add(time.Hour)})
	who, err := h.DB.Who(t.Context(), logIn(short).Token)
	must.Be(t, err == nil && who.Ends.Equal(hubtest.Now.Add(time.Hour)),
		"the session of a token that ends in an hour", who, err)
	code, _, _ = send(t, admin, "/tokens/"+access.Hash(ann.Token)+"/revoke", url.Values{})
	must.Need(t, code == http.StatusSeeOther, "revoke", code)
	var refused *api.Error
	for name, c := range map[string]*api.Client{"token": ann, "session": session} {
		err := c.Do(t.Context(), http.MethodGet, "/metrics", nil, nil)
		must.Be(t, errors.As(err, &refused) && refused.Status == http.StatusUnauthorized, "the", name,
			"that was revoked", err)
	}
	must.Do(t, its.Do(t.Context(), http.MethodGet, "/metrics", nil, nil), "the session of another token")
}

// TestSessionsBounded: of the sessions of a token, the newest stay.
func TestSessionsBounded(t *testing.T) { dbtest.OnEach(t, testSessionsBounded) }

func testSessionsBounded(t *testing.T, at string) {
	h := hubtest.On(t, at)
	ann, eve := h.Client(t, "ann", access.User), h.Client(t, "eve", access.Reader)
	send(t, &api.Client{URL: h.URL}, "/login", url.Values{"token": {ann.Token}})
	const more = 120
	for range more {
		send(t, &api.Client{URL: h.URL}, "/login", url.Values{"token": {eve.Token}})
	}
	count := map[string]int{}
	rows := must.Get(
		h.DB.Read.QueryContext(t.Context(), `SELECT owner FROM tokens WHERE label = 'session'`))(t)
	defer rows.Close() // Err has the error
	for rows.Next() {
		var owner string
		must.Do(t, rows.Scan(&owner))
		count[owner]++
	}
	err := rows.Err()
	must.Be(t, err == nil && count["ann"] == 1 && count["eve"] == 100, count, err)
}

// TestMadeTokensEnd: a token that another one makes ends no later than that one, also if a session
// is in between. One that is for making others, such as the first token, does not bound them.
func TestMadeTokensEnd(t *testing.T) {
	h := hubtest.New(t)
	h.Client(t, "boss", access.Admin)
	in := func(days int) time.Time { return hubtest.Now.Add(time.Duration(days) * 24 * time.Hour) }
	for name, test := range map[string]struct {
		maker database.Token
		days  string
		want  time.Time
		code  int
	}{
		"no end":              {database.Token{}, "", time.Time{}, 200},
		"three days":          {database.Token{}, "3", in(3), 200},
		"its maker's end":     {database.Token{Expires: in(2), Bound: in(2)}, "", in(2), 200},
		"its maker's, sooner": {database.Token{Expires: in(2), Bound: in(2)}, "3", in(2), 200},
		"sooner than that":    {database.Token{Expires: in(2), Bound: in(2)}, "1", in(1), 200},
		"of the first token":  {database.Token{Expires: in(2)}, "", time.Time{}, 200},
		"no number":           {database.Token{}, "x", time.Time{}, 400},
		"no day":              {database.Token{}, "0", time.Time{}, 400},
		"too many days":       {database.Token{}, "99999999999999", time.Time{}, 400},
	} {
		test.maker.Role, test.maker.Owner = access.Admin, "boss"
		maker := token(t, h, test.maker)
		_, cookies, _ := send(t, &api.Client{URL: h.URL}, "/login", url.Values{"token": {maker.Token}})
		for i, c := range []*api.Client{maker, {URL: h.URL, Token: cookies[0].Value}} {
			code, _, page := send(t, c, "/tokens", url.Values{"label": {"x"}, "role": {"user"},
				"days": {test.days}})
			must.Equal(t, code, test.code, name, i)
			if code != http.StatusOK {
				continue
			}
			_, text, _ := strings.Cut(page, "<code>krun_")
			text, _, _ = strings.Cut(text, "<")
			who, err := h.DB.Who(t.Context(), "krun_"+text)
			must.Be(t, err == nil && who.Ends.Equal(test.want) && who.Bound.Equal(test.want), name, i, who,
				err, test.want)
		}
	}
}

// TestTokensBounded: a user has a bounded number of tokens, and the list of all is in parts.
func TestTokensBounded(t *testing.T) { dbtest.OnEach(t, testTokensBounded) }

func testTokensBounded(t *testing.T, at string) {
	h := hubtest.On(t, at)
	admin, ann := h.Client(t, "boss", access.Admin), h.Client(t, "ann", access.User)
	const most = 500
	must.Do(t, h.DB.Update(t.Context(), func(tx *sql.Tx) error {
		for i := range most - 1 {
			_, err := h.DB.AddToken(t.Context(), tx, database.Token{Role: access.Reader, Owner: "ann",
				Label: "t" + strconv.Itoa(i)})
			if err != nil {
				return err
			}
		}
		return nil
	}))
	code, _, text := send(t, ann, "/tokens", url.Values{"label": {"x"}, "role": {"reader"}})
	must.Be(t, code == http.StatusConflict && strings.Contains(text, "revoke"), "one more", code)
	seen, pages := map[string]int{}, 0
	for path := "/tokens"; path != ""; pages++ {
		_, _, page := send(t, admin, path, nil)
		path = ""
		for _, part := range strings.Split(page, `action="/tokens/`)[1:] {
			seen[part[:64]]++
		}
		if _, next, ok := strings.Cut(page, `rel="next" href="`); ok {
			path, _, _ = strings.Cut(next, `"`)
			path = strings.ReplaceAll(path, "&amp;", "&")
		}
	}
	if len(seen) != most || pages != 3 { // without a button for the admin's own
		t.Errorf("%d tokens on %d pages", len(seen), pages)
	}
}
