package pages

import (
	"database/sql"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
)

// Cookie is the name of the cookie with a browser's session, which is a token.
const Cookie = "krunhub"

// sessionTime is how long a browser stays logged in.
const sessionTime = 14 * 24 * time.Hour

func next(path string) string { return url.Values{"next": {path}}.Encode() }

// local returns the path to go to after log-in: one of this hub, whatever was asked for.
func local(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(path, "/") ||
		strings.ContainsAny(path, "\\\r\n\t") || strings.HasPrefix(path, "//") {
		return "/"
	}
	return u.RequestURI()
}

func (p *Pages) login(w http.ResponseWriter, r *http.Request) {
	p.show(w, r, http.StatusOK, p.loginPage(local(r.FormValue("next")), ""))
}

func (p *Pages) loginPage(next, failed string) Login {
	return Login{Frame: Frame{Title: "Log in", Now: p.db.Now()}, Next: next, Failed: failed,
		Provider: p.Provider}
}

// logIn makes a session for a token. A machine has no pages.
func (p *Pages) logIn(w http.ResponseWriter, r *http.Request) error {
	to := local(r.PostFormValue("next"))
	who, err := p.db.Who(r.Context(), strings.TrimSpace(r.PostFormValue("token")))
	failed := ""
	switch {
	case errors.Is(err, database.ErrMissing):
		failed = "The token is not known, or has expired."
	case err != nil:
		return err
	case !who.Role.Includes(access.Reader):
		failed = "This token is for machines. Log in with the one of a person."
	case who.Session:
		failed = "This is a session of a browser. Log in with a token."
	}
	if failed != "" {
		p.show(w, r, http.StatusBadRequest, p.loginPage(to, failed))
		return nil
	}
	if err = p.Session(w, r, who); err == nil {
		http.Redirect(w, r, to, http.StatusSeeOther)
	}
	return err
}

// Session makes a session of a user, and gives it to the browser. It permits what the identity may
// do, and ends with its token.
func (p *Pages) Session(w http.ResponseWriter, r *http.Request, who access.Identity) error {
	now := p.db.Now()
	until := earlier(now.Add(sessionTime), who.Ends)
	var token string
	err := p.db.Govern(r.Context(), who, access.Reader, func(tx *sql.Tx, who access.Identity) (err error) {
		token, err = p.db.AddSession(r.Context(), tx, who, until)
		return err
	})
	if err == nil {
		http.SetCookie(w, p.sessionCookie(r, token, max(1, int(until.Sub(now)/time.Second))))
	}
	return err
}

// earlier returns the earlier of two times at which something ends; zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// sessionCookie is sent along by this hub's pages and by links to them, not by other sites' forms.
func (p *Pages) sessionCookie(r *http.Request, token string, seconds int) *http.Cookie {
	return &http.Cookie{Name: Cookie, Value: token, Path: "/", MaxAge: seconds, HttpOnly: true,
		Secure: p.Secure(r), SameSite: http.SameSiteLaxMode}
}

// Secure reports whether the browser's connection has TLS, which may end at a reverse proxy.
func (p *Pages) Secure(r *http.Request) bool { return p.secure || r.TLS != nil }

// logOut ends the session.
func (p *Pages) logOut(w http.ResponseWriter, r *http.Request) error {
	if c, err := r.Cookie(Cookie); err == nil {
		if err := p.db.EndSession(r.Context(), access.Hash(c.Value)); err != nil {
			return err
		}
	}
	http.SetCookie(w, p.sessionCookie(r, "", -1))
	http.Redirect(w, r, "/login", http.StatusSeeOther)
	return nil
}

// tokens lists the tokens that the user may see, those that follow ?made=, in microseconds since
// 1970, and ?after=, a hash.
func (p *Pages) tokens(r *http.Request, f Frame) (any, error) {
	return p.tokensPage(r, f, "")
}

func (p *Pages) tokensPage(r *http.Request, f Frame, fresh string) (any, error) {
	f.Title, f.Section = "Tokens", "tokens"
	who := access.From(r.Context())
	page := Tokens{Frame: f, Fresh: fresh, Roles: roles(who.Role), Everyone: who.Role == access.Admin,
		Own: who.Name}
	query := r.URL.Query()
	made, _ := strconv.ParseInt(query.Get("made"), 10, 64) // else from the first one
	list, err := p.db.Tokens(r.Context(), who, made, query.Get("after"), mostListed)
	if err != nil {
		return nil, err
	}
	if len(list) == mostListed {
		last := list[len(list)-1]
		page.Next = r.URL.EscapedPath() + "?" + url.Values{"after": {last.Hash},
			"made": {strconv.FormatInt(last.Created.UnixMicro(), 10)}}.Encode()
	}
	for _, t := range list {
		if t.Role == access.Machine {
			t.Owner = t.Machine
		}
		page.List = append(page.List, Token{t, t.Hash == who.Token})
	}
	return page, nil
}

// roles returns the roles that someone with a role may give: none to a reader.
func roles(role access.Role) []string {
	var list []string
	if role.Includes(access.User) {
		for _, r := range role.Included() {
			list = append(list, string(r))
		}
	}
	return list
}

// makeToken makes a token and shows it. Only an admin makes one for another user, who is added when
// unknown.
func (p *Pages) makeToken(w http.ResponseWriter, r *http.Request) error {
	who := access.From(r.Context())
	t := database.Token{Role: access.Role(r.PostFormValue("role")), Owner: who.Name,
		Label: r.PostFormValue("label")}
	if owner := r.PostFormValue("owner"); owner != "" && who.Role == access.Admin {
		t.Owner = owner
	}
	ends, err := p.endOf(r.PostFormValue("days"))
	switch {
	case err != nil:
		return err
	case !slices.Contains(roles(who.Role), string(t.Role)):
		return Refuse(http.StatusBadRequest, "You may not give this role.")
	case !api.ValidName(t.Owner) || !api.ValidName(t.Label) || t.Label == database.SessionLabel:
		return Refuse(http.StatusBadRequest, "The name of the user or of the token is empty, too long, or "+
			"has other characters than printable ones of ASCII.")
	}
	if t.Role == access.Join {
		t.Owner = ""
	}
	var token string
	err = p.db.Govern(r.Context(), who, access.User, func(tx *sql.Tx, who access.Identity) (err error) {
		if !who.Role.Includes(t.Role) {
			return database.ErrRole
		}
		t.Expires = earlier(ends, who.Bound)
		t.Bound, t.Maker = t.Expires, who.Root
		token, err = p.db.MakeToken(r.Context(), tx, t)
		return err
	})
	if err != nil {
		return err
	}
	page, err := p.tokensPage(r, p.frame(r), token)
	if err == nil {
		p.show(w, r, http.StatusOK, page)
	}
	return err
}

// endOf returns when a token ends that is to last for a number of days; zero for "".
func (p *Pages) endOf(days string) (time.Time, error) {
	if days == "" {
		return time.Time{}, nil
	}
	const most = 3650
	n, err := strconv.Atoi(days)
	if err != nil || n < 1 || n > most {
		return time.Time{}, Refuse(http.StatusBadRequest, "A token lasts 1 to 3650 days, or without an end.")
	}
	return p.db.Now().AddDate(0, 0, n), nil
}

func (p *Pages) revokeToken(w http.ResponseWriter, r *http.Request) error {
	err := p.db.Govern(r.Context(), access.From(r.Context()), access.Reader,
		func(tx *sql.Tx, who access.Identity) error {
			return p.db.RevokeToken(r.Context(), tx, r.PathValue("hash"), r.PostFormValue("made") != "", who)
		})
	if err == nil {
		http.Redirect(w, r, "/tokens", http.StatusSeeOther)
	}
	return err
}
