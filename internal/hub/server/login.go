package server

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"krund/internal/durable"
	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/pages"
)

// LoginConfig is how people log in, besides tokens: the file login.toml of the hub's data
// directory.
type LoginConfig struct {
	OIDC  *OIDCConfig  `toml:"oidc"`
	Proxy *ProxyConfig `toml:"proxy"`
	// Anonymous permits everyone to see what a reader sees, but tokens.
	Anonymous bool `toml:"anonymous"`
}

// OIDCConfig is a provider of OpenID Connect.
type OIDCConfig struct {
	Issuer       string      `toml:"issuer"` // https://...
	ClientID     string      `toml:"client_id"`
	ClientSecret string      `toml:"client_secret"`
	Redirect     string      `toml:"redirect"` // https://HUB/login/oidc/callback
	Role         access.Role `toml:"role"`     // of users that are new; reader by default

	// Patience is how long the provider may take to answer; 0: providerPatience.
	Patience time.Duration `toml:"-"`
}

// ProxyConfig is a reverse proxy that has found out who asks.
type ProxyConfig struct {
	Header string         `toml:"header"` // with the user's name, such as X-Remote-User
	From   []netip.Prefix `toml:"from"`   // addresses of the proxy; others are not believed
	Role   access.Role    `toml:"role"`   // of users that are new; reader by default
}

// ReadLogin reads the file; without one, people log in with tokens.
func ReadLogin(fsys durable.FS, path string) (LoginConfig, error) {
	var c LoginConfig
	const most = 64 << 10
	text, err := durable.ReadSmallFile(fsys, path, most)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("read how people log in: %w", err)
	}
	meta, err := toml.Decode(string(text), &c)
	if err == nil && len(meta.Undecoded()) > 0 {
		err = fmt.Errorf("there is no key %s; correct its name, or remove it", meta.Undecoded()[0])
	}
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// check completes the configuration and returns what is wrong with it.
func (c *LoginConfig) check() error {
	role := func(of *access.Role) error {
		if *of == "" {
			*of = access.Reader
		}
		if !of.Includes(access.Reader) {
			return fmt.Errorf("role = %q; write reader, user or admin", *of)
		}
		return nil
	}
	if o := c.OIDC; o != nil {
		if o.Issuer == "" || o.ClientID == "" || o.Redirect == "" {
			return errors.New("[oidc] needs issuer, client_id, client_secret and redirect")
		}
		if err := role(&o.Role); err != nil {
			return fmt.Errorf("oidc.%w", err)
		}
	}
	if p := c.Proxy; p != nil {
		if p.Header == "" || len(p.From) == 0 {
			return errors.New("[proxy] needs header and from, the addresses of the proxy")
		}
		if err := role(&p.Role); err != nil {
			return fmt.Errorf("proxy.%w", err)
		}
	}
	return nil
}

// proxied returns the identity that a reverse proxy has found; ok is false without one. The header
// counts only if the request comes from an address of the proxy.
func (s *Server) proxied(r *http.Request) (who access.Identity, ok bool, err error) {
	p := s.Login.Proxy
	if p == nil || r.Header.Get(p.Header) == "" {
		return who, false, nil
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return who, false, nil //nolint:nilerr // an address of another kind is not the proxy's
	}
	for _, prefix := range p.From {
		if prefix.Contains(from.Addr().Unmap()) {
			who, err = s.known(r.Context(), r.Header.Get(p.Header), "", p.Role)
			return who, err == nil, err
		}
	}
	return who, false, nil
}

// known returns the identity of a user, who is added with the role if there is none of this name
// or, with a subject, of this subject. A name that has another subject is not taken over.
func (s *Server) known(ctx context.Context, name, subject string, role access.Role) (access.Identity, error) {
	if !api.ValidName(name) {
		return access.Identity{}, pages.Refuse(http.StatusForbidden,
			"the name %.40q is too long or not printable; ask an administrator", name)
	}
	user, err := s.DB.FindUser(ctx, name, subject)
	if errors.Is(err, database.ErrMissing) {
		err = s.DB.Update(ctx, func(tx *sql.Tx) error {
			return s.DB.AddUser(ctx, tx, database.User{Name: name, Role: role, Subject: subject})
		})
		if err == nil { // whoever has added it
			user, err = s.DB.FindUser(ctx, name, subject)
		}
	}
	if err == nil && user.Subject != subject {
		err = pages.Refuse(http.StatusForbidden, "the name %q belongs to a user who logs in "+
			"otherwise, such as with a token; an administrator of the hub can remove that user and the "+
			"tokens: DELETE %s/NAME, see the hub's documentation of log-in", name, api.PathUsers)
	}
	return user.Identity(), err
}

// removeUser removes a user, so that the name can log in otherwise.
func (s *Server) removeUser(_ http.ResponseWriter, r *http.Request) (any, error) {
	name := r.PathValue("name")
	return words{"removed": name}, s.govern(r, name,
		func(tx *sql.Tx) error { return s.DB.RemoveUser(r.Context(), tx, name) })
}

// setRole changes the role of a user, whose tokens permit no more than it from then on.
func (s *Server) setRole(w http.ResponseWriter, r *http.Request) (any, error) {
	var message api.RoleMessage
	err := s.read(w, r, &message)
	name, role := r.PathValue("name"), access.Role(message.Role)
	if err == nil && !role.Includes(access.Reader) {
		err = refuse(fmt.Errorf("the role must be %s, %s or %s", access.Reader, access.User, access.Admin))
	}
	for project, role := range message.Projects {
		if err == nil && (!access.ValidProject(project) || !access.Role(role).Includes(access.Reader)) {
			err = refuse(fmt.Errorf("projects: %.60q with the role %.60q: write {\"NAME\": \"user\"} with "+
				"lower-case letters, digits and hyphens; the roles are reader, user and admin", project,
				role))
		}
	}
	if err != nil {
		return nil, err
	}
	return words{"name": name, "role": message.Role}, s.govern(r, name,
		func(tx *sql.Tx) error {
			err := s.DB.SetRole(r.Context(), tx, name, role)
			if err == nil && message.Projects != nil {
				err = s.DB.SetProjects(r.Context(), tx, name, message.Projects)
			}
			return err
		})
}

// Projects is who is in which project, and which pools are not open to all.
type Projects struct {
	Members []database.Member `json:"members"` // an admin of the hub in the project "", which is all
	Pools   []database.Pool   `json:"pools"`
}

func (s *Server) projects(_ http.ResponseWriter, r *http.Request) (any, error) {
	members, pools, err := s.DB.Projects(r.Context())
	return Projects{members, pools}, err
}

// setPool says which projects may use the machines of a pool.
func (s *Server) setPool(w http.ResponseWriter, r *http.Request) (any, error) {
	var message api.PoolMessage
	name := r.PathValue("name")
	err := s.read(w, r, &message)
	if err == nil && (!api.ValidMachine(name) || slices.ContainsFunc(message.Projects,
		func(p string) bool { return !access.ValidProject(p) })) {
		err = refuse(errors.New("write {\"projects\": [\"NAME\"]} with lower-case letters, digits and " +
			"hyphens, or [] to open the pool to all"))
	}
	if err != nil {
		return nil, err
	}
	return words{"pool": name}, s.DB.Update(r.Context(),
		func(tx *sql.Tx) error { return s.DB.SetPool(r.Context(), tx, name, message.Projects) })
}

// govern changes another user for an admin.
func (s *Server) govern(r *http.Request, name string, do func(*sql.Tx) error) error {
	return s.DB.Govern(r.Context(), access.From(r.Context()), access.Admin,
		func(tx *sql.Tx, who access.Identity) error {
			if who.Name == name {
				return pages.Refuse(http.StatusConflict,
					"this is your own name; another administrator can change or remove it")
			}
			return do(tx)
		})
}

// providerPatience is how long the provider may take to answer, if OIDCConfig does not say it.
const providerPatience = 10 * time.Second

// provider is the provider of OpenID Connect, found when it is first needed, so that the hub starts
// without it.
func (s *Server) provider(ctx context.Context) (*oidc.Provider, *oauth2.Config, error) {
	s.oidcLock.Lock()
	defer s.oidcLock.Unlock()
	c := s.Login.OIDC
	if s.oidc == nil {
		// The provider keeps the context, and with it the client, for fetching keys later. Others
		// wait for the lock meanwhile.
		client := &http.Client{Timeout: cmp.Or(c.Patience, providerPatience)}
		p, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), client), c.Issuer)
		if err != nil {
			return nil, nil, fmt.Errorf("ask %s how to log in: %w", c.Issuer, err)
		}
		s.oidc = p
	}
	return s.oidc, &oauth2.Config{ClientID: c.ClientID, ClientSecret: c.ClientSecret, RedirectURL: c.Redirect,
		Endpoint: s.oidc.Endpoint(), Scopes: []string{oidc.ScopeOpenID, "profile", "email"}}, nil
}

// oidcCookie holds what must come back from the provider: state, nonce and verifier (PKCE).
const oidcCookie = "krunhub-oidc"

func (s *Server) oidcPart(r *http.Request, value string, seconds int) *http.Cookie {
	return &http.Cookie{Name: oidcCookie, Value: value, Path: "/login/oidc", MaxAge: seconds, HttpOnly: true,
		Secure: s.Pages.Secure(r), SameSite: http.SameSiteLaxMode}
}

// toProvider sends the browser to the provider.
func (s *Server) toProvider(w http.ResponseWriter, r *http.Request) {
	_, config, err := s.provider(r.Context())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	const patience = 10 * time.Minute
	secret := oauth2.GenerateVerifier() // random; the state and the nonce are made of it
	http.SetCookie(w, s.oidcPart(r, secret, int(patience/time.Second)))
	http.Redirect(w, r, config.AuthCodeURL(access.Hash("state "+secret),
		oidc.Nonce(access.Hash("nonce "+secret)), oauth2.S256ChallengeOption(secret)), http.StatusFound)
}

// fromProvider makes a session for whom the provider sends back.
func (s *Server) fromProvider(w http.ResponseWriter, r *http.Request) {
	who, err := s.identified(r)
	http.SetCookie(w, s.oidcPart(r, "", -1))
	if err == nil {
		err = s.Pages.Session(w, r, who)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// identified checks the provider's answer and returns the user that it names.
func (s *Server) identified(r *http.Request) (access.Identity, error) {
	var who access.Identity
	part, err := r.Cookie(oidcCookie)
	if err != nil || r.FormValue("state") != access.Hash("state "+part.Value) {
		return who, pages.Refuse(http.StatusBadRequest,
			"this log-in was not begun in this browser; begin again at /login")
	}
	provider, config, err := s.provider(r.Context())
	if err != nil {
		return who, err
	}
	refused := func(err error) error {
		s.Log.Warn("a log-in was refused", "error", err)
		return pages.Refuse(http.StatusForbidden, "the provider did not confirm who you are; log in again")
	}
	tokens, err := config.Exchange(r.Context(), r.FormValue("code"), oauth2.VerifierOption(part.Value))
	if err != nil {
		return who, refused(err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	id, err := provider.Verifier(&oidc.Config{ClientID: config.ClientID}).Verify(r.Context(), raw)
	if err != nil {
		return who, refused(err)
	}
	if id.Nonce != access.Hash("nonce "+part.Value) {
		return who, refused(errors.New("the nonce is another"))
	}
	name, err := nameOf(r.Context(), provider, id, tokens)
	if err != nil {
		return who, refused(err)
	}
	return s.known(r.Context(), name, id.Issuer+" "+id.Subject, s.Login.OIDC.Role)
}

// nameOf returns the name that a provider has for a user, in the token or else in its document
// about the user (OpenID Connect Core 1.0, section 5.4: there, unless the provider chooses
// otherwise).
func nameOf(ctx context.Context, p *oidc.Provider, id *oidc.IDToken, tokens *oauth2.Token) (string, error) {
	var claims struct {
		Name  string `json:"preferred_username"`
		Email string `json:"email"`
	}
	err := id.Claims(&claims)
	if err == nil && claims.Name == "" && claims.Email == "" && p.UserInfoEndpoint() != "" {
		var info *oidc.UserInfo
		if info, err = p.UserInfo(ctx, oauth2.StaticTokenSource(tokens)); err == nil {
			err = info.Claims(&claims)
		}
		if err == nil && info.Subject != id.Subject {
			err = errors.New("the document about the user is about another one")
		}
	}
	return cmp.Or(claims.Name, claims.Email), err
}

// who returns the identity of who sent the request: by a bearer token, by the session of a browser,
// or by the header of a reverse proxy.
func (s *Server) who(r *http.Request) (access.Identity, error) {
	token, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if c, err := r.Cookie(pages.Cookie); !found && err == nil {
		token, found = c.Value, true
	}
	if !found {
		if who, ok, err := s.proxied(r); ok || err != nil {
			return who, err
		}
		if s.Login.Anonymous {
			return access.Identity{Name: string(access.Anonymous), Role: access.Anonymous}, nil
		}
		return access.Identity{}, pages.Refuse(http.StatusUnauthorized,
			"no token; send the header \"Authorization: Bearer TOKEN\", or log in")
	}
	who, err := s.DB.Who(r.Context(), token)
	if errors.Is(err, database.ErrMissing) {
		err = database.ErrRevoked
	}
	return who, err
}
