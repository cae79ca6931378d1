package server_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
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
	var refused *api.Error
	err := remove("root")
	must.Be(t, errors.As(err, &refused) && refused.Status == 409, "oneself", err)
	must.Do(t, remove("ada"))
	err = remove("ada")
	must.Be(t, errors.As(err, &refused) && refused.Status == 404, "a second time", err)
	code, text = logIn()
	must.Be(t, code == 200 && strings.Contains(text, "ada"), code, text)
	err = token.DoJSON(t.Context(), http.MethodGet, api.PathExperiments+"/x", nil, nil)
	must.Be(t, errors.As(err, &refused) && refused.Status == 401, "the former user's token", err)
}
