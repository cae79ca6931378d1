package server_test

import (
	"crypto/rand"
	"crypto/rsa"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/hubtest"
	"krund/internal/hub/server"
	"krund/rig/must"
)

// provider is a provider of OpenID Connect that confirms everybody.
type provider struct {
	*httptest.Server
	key       *rsa.PrivateKey
	nonce     string // of the last request
	forged    string // another nonce, if not ""
	challenge string
	named     string // the claim with the user's name in the token
	about     string // subject of the document about the user
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	key := must.Get(rsa.GenerateKey(rand.Reader, 2048))(t)
	p := &provider{key: key, named: "preferred_username", about: "17"}
	mux := http.NewServeMux()
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	answer := func(w http.ResponseWriter, document any) {
		w.Header().Set("Content-Type", "application/json")
		must.Do(t, json.NewEncoder(w).Encode(document))
	}
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"issuer": p.URL, "authorization_endpoint": p.URL + "/auth",
			"token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
			"userinfo_endpoint":                     p.URL + "/user",
			"id_token_signing_alg_values_supported": []string{"RS256"}})
	})
	mux.HandleFunc("/user", func(w http.ResponseWriter, r *http.Request) {
		must.Equal(t, r.Header.Get("Authorization"), "Bearer a", "it was not asked with its token")
		answer(w, map[string]any{"sub": p.about, "email": "ada@example.org"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k",
			Algorithm: "RS256"}}})
	})
	mux.HandleFunc("/auth", func(w http.ResponseWriter, r *http.Request) {
		p.nonce, p.challenge = r.FormValue("nonce"), r.FormValue("code_challenge")
		back := url.Values{"code": {"c"}, "state": {r.FormValue("state")}}
		http.Redirect(w, r, r.FormValue("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		must.Be(t, r.FormValue("code_verifier") != "" && p.challenge != "", "no PKCE")
		answer(w, map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": p.sign(t)})
	})
	return p
}

func (p *provider) sign(t *testing.T) string {
	signer := must.Get(jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: p.key},
		(&jose.SignerOptions{}).WithHeader("kid", "k")))(t)
	if p.forged != "" {
		p.nonce = p.forged
	}
	claims := fmt.Sprintf(`{"iss":%q,"aud":"hub","sub":"17","nonce":%q,%q:"ada","exp":%d,`+
		`"iat":%d}`, p.URL, p.nonce, p.named, time.Now().Add(time.Hour).Unix(), time.Now().Unix())
	signed := must.Get(signer.Sign([]byte(claims)))(t)
	text := must.Get(signed.CompactSerialize())(t)
	return text
}

// TestSilentProvider: a provider that takes the connection and does not answer costs the person who
// wants to log in an error, and not the hub.
func TestSilentProvider(t *testing.T) {
	silent := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer silent.Close()
	h := hubtest.New(t, func(s *server.Server) {
		s.Login.OIDC = &server.OIDCConfig{Issuer: "http://" + silent.Addr().String(), Role: access.User,
			Patience: 50 * time.Millisecond}
	})
	answer := must.Get(http.Get(h.URL + "/login/oidc"))(t)
	defer answer.Body.Close()
	must.Equal(t, answer.StatusCode, http.StatusServiceUnavailable)
}

func TestOIDC(t *testing.T) {
	p := newProvider(t)
	c := &server.OIDCConfig{Issuer: p.URL, ClientID: "hub", Role: access.User}
	h := hubtest.New(t, func(s *server.Server) { s.Login.OIDC = c })
	c.Redirect = h.URL + "/login/oidc/callback"
	get := func(browser *http.Client, path string) (int, string) {
		answer := must.Get(browser.Get(h.URL + path))(t)
		defer answer.Body.Close()
		text := must.Get(io.ReadAll(answer.Body))(t)
		return answer.StatusCode, string(text)
	}
	jar := must.Get(cookiejar.New(nil))(t)
	browser := &http.Client{Jar: jar}
	_, text := get(browser, "/login")
	must.Contain(t, text, `href="/login/oidc"`, "the page to log in has no link to the provider")
	if code, text := get(browser, "/login/oidc"); code != 200 || !strings.Contains(text, "ada") {
		t.Errorf("%d: the page after log-in does not name the user", code)
	}
	user, err := h.DB.FindUser(t.Context(), "ada", "")
	must.Be(t, err == nil && user.Role == access.User && user.Subject == p.URL+" 17", user, err)
	code, _ := get(&http.Client{}, "/login/oidc/callback?code=c&state=x")
	must.Equal(t, code, 400, "a log-in that another browser began: status", "want 400")
	fresh := func() *http.Client {
		jar := must.Get(cookiejar.New(nil))(t)
		return &http.Client{Jar: jar}
	}
	p.named, p.about = "name", "18" // a name that others may have, too
	code, _ = get(fresh(), "/login/oidc")
	must.Equal(t, code, 403, "a document about another user: status", "want 403")
	p.about = "17"
	if code, text := get(fresh(), "/login/oidc"); code != 200 || !strings.Contains(text, "ada") {
		t.Errorf("%d: the name is not in the token, and the page does not name the user", code)
	}
	p.forged = "other"
	code, _ = get(fresh(), "/login/oidc")
	must.Equal(t, code, 403, "another nonce: status", "want 403")
}

// TestProxy: the header counts only from the proxy's addresses, and never changes the role of a
// user.
func TestProxy(t *testing.T) {
	h := hubtest.New(t)
	h.Client(t, "boss", access.Admin)
	ask := func(user string) int {
		r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+"/metrics", nil))(t)
		r.Header.Set("X-Remote-User", user)
		answer := must.Get(http.DefaultClient.Do(r))(t)
		answer.Body.Close()
		return answer.StatusCode
	}
	must.Equal(t, ask("boss"), 401, "without a proxy", "want 401")
	h.Login.Proxy = &server.ProxyConfig{Header: "X-Remote-User", Role: access.Reader,
		From: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	must.Equal(t, ask("boss"), 401, "from another address", "want 401")
	h.Login.Proxy.From = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	for _, name := range []string{"boss", "new"} {
		must.Equal(t, ask(name), 200, "from the proxy", "want 200")
	}
	must.Equal(t, ask("../x"), 403, "a name that is a path", "want 403")
	for name, want := range map[string]access.Role{"boss": access.Admin, "new": access.Reader} {
		user, err := h.DB.FindUser(t.Context(), name, "")
		must.Be(t, err == nil && user.Role == want, user, err)
	}
}

// TestNameOfToken: a user whom a token made blocks the log-in under the name until an admin removes
// that user, with the token. A user cannot remove themselves.
func TestNameOfToken(t *testing.T) {
	p := newProvider(t)
	c := &server.OIDCConfig{Issuer: p.URL, ClientID: "hub", Role: access.User}
	h := hubtest.New(t, func(s *server.Server) { s.Login.OIDC = c })
	c.Redirect = h.URL + "/login/oidc/callback"
	logIn := func() (int, string) {
		jar := must.Get(cookiejar.New(nil))(t)
		answer := must.Get((&http.Client{Jar: jar}).Get(h.URL + "/login/oidc"))(t)
		defer answer.Body.Close()
		text := must.Get(io.ReadAll(answer.Body))(t)
		return answer.StatusCode, string(text)
	}
	token, admin := h.Client(t, "ada", access.User), h.Client(t, "root", access.Admin)
	code, text := logIn()
	must.Be(t, code == 403 && strings.Contains(text, "DELETE /api/v1/users/NAME"), code, text)
	remove := func(name string) error {
		return admin.DoJSON(t.Context(), http.MethodDelete, api.PathUsers+"/"+name, nil, nil)
	}
	err := remove("root")
	must.Equal(t, hubtest.Status(err), 409, "oneself", err)
	must.Do(t, remove("ada"))
	err = remove("ada")
	must.Equal(t, hubtest.Status(err), 404, "a second time", err)
	code, text = logIn()
	must.Be(t, code == 200 && strings.Contains(text, "ada"), code, text)
	err = token.DoJSON(t.Context(), http.MethodGet, api.PathExperiments+"/x", nil, nil)
	must.Equal(t, hubtest.Status(err), 401, "the former user's token", err)
}

// TestSetRole: an admin changes the role of another user, whose tokens follow at once when it is a
// lesser one. Only the roles of users are accepted, and the last admin stays one.
func TestSetRole(t *testing.T) { hubtest.OnEach(t, testSetRole) }

func testSetRole(t *testing.T, h *hubtest.Hub) {
	boss, ann := h.Client(t, "boss", access.Admin), h.Client(t, "ann", access.Admin)
	set := func(c *api.Client, name, role string) int {
		return hubtest.Status(c.DoJSON(t.Context(), http.MethodPut, api.PathUsers+"/"+name,
			api.RoleMessage{Role: role}, nil))
	}
	for _, c := range []struct {
		client     *api.Client
		name, role string
		want       int
	}{
		{boss, "boss", "reader", 409}, {boss, "eve", "reader", 404}, {boss, "ann", "machine", 400},
		{boss, "ann", "join", 400}, {boss, "ann", "", 400}, {boss, "ann", "user", 200},
		{ann, "boss", "reader", 403}, {ann, "ann", "admin", 403}, {boss, "ann", "admin", 200},
		{ann, "boss", "reader", 200},
	} {
		must.Equal(t, set(c.client, c.name, c.role), c.want, c.name, "becomes", c.role)
	}
}

// TestAdminsAtOnce: of two admins who demote or remove each other at the same moment, one succeeds,
// whatever else the other one's request had been permitted before. An admin remains.
func TestAdminsAtOnce(t *testing.T) { hubtest.OnEach(t, testAdminsAtOnce) }

func testAdminsAtOnce(t *testing.T, h *hubtest.Hub) {
	for name, request := range map[string]func(c *api.Client, other string) error{
		"demote": func(c *api.Client, other string) error {
			return c.DoJSON(t.Context(), http.MethodPut, api.PathUsers+"/"+other,
				api.RoleMessage{Role: "reader"}, nil)
		},
		"remove": func(c *api.Client, other string) error {
			return c.Do(t.Context(), http.MethodDelete, api.PathUsers+"/"+other, nil, nil)
		},
	} {
		for round := range 25 {
			names := [2]string{fmt.Sprintf("%s-a%d", name, round), fmt.Sprintf("%s-b%d", name, round)}
			clients := [2]*api.Client{h.Client(t, names[0], access.Admin),
				h.Client(t, names[1], access.Admin)}
			var done atomic.Int32
			var both sync.WaitGroup
			for i, c := range clients {
				both.Go(func() {
					err := request(c, names[1-i])
					switch {
					case err == nil:
						done.Add(1)
					case hubtest.Status(err) != 401 && hubtest.Status(err) != 403:
						t.Errorf("%s, round %d: %v", name, round, err)
					}
				})
			}
			both.Wait()
			must.Equal(t, done.Load(), 1, name, "round", round, "of 2 succeeded")
		}
	}
}

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
func TestTokensNarrow(t *testing.T) { hubtest.OnEach(t, testTokensNarrow) }

func testTokensNarrow(t *testing.T, h *hubtest.Hub) {
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
func TestSessionsEnd(t *testing.T) { hubtest.OnEach(t, testSessionsEnd) }

func testSessionsEnd(t *testing.T, h *hubtest.Hub) {
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
	for name, c := range map[string]*api.Client{"token": ann, "session": session} {
		err := c.Do(t.Context(), http.MethodGet, "/metrics", nil, nil)
		must.Equal(t, hubtest.Status(err), http.StatusUnauthorized, "the", name,
			"that was revoked", err)
	}
	must.Do(t, its.Do(t.Context(), http.MethodGet, "/metrics", nil, nil), "the session of another token")
}

// TestSessionsBounded: of the sessions of a token, the newest stay.
func TestSessionsBounded(t *testing.T) { hubtest.OnEach(t, testSessionsBounded) }

func testSessionsBounded(t *testing.T, h *hubtest.Hub) {
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
func TestTokensBounded(t *testing.T) { hubtest.OnEach(t, testTokensBounded) }

func testTokensBounded(t *testing.T, h *hubtest.Hub) {
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
