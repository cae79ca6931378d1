package server_test

import (
	"database/sql"
	"net/http"
	"slices"
	"strings"
	"testing"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/hubtest"
	"krund/internal/hub/server"
	"krund/rig/must"
)

// serves are the roles of who asks that each role of a route serves.
var serves = map[string]string{"anonymous": "anonymous reader user admin", "reader": "reader user admin",
	"user": "user admin", "admin": "admin", "machine": "machine", "join": "join admin"}

// TestEveryRoute walks the description of the API: who has no token, or a stranger's, an anonymous
// reader and each role are answered by every operation that the description permits, and refused
// by all others. What was read with a permission does not even say without one whether it has
// changed.
func TestEveryRoute(t *testing.T) {
	const nobody = "nobody"
	for _, open := range []bool{false, true} {
		h := hubtest.New(t, func(s *server.Server) { s.Login.Anonymous = open })
		machine := h.Machine(t, "lab1")
		id := submitted(t, h, "lab1")
		must.Get(of("warmup", "first", "second").send(t.Context(), machine))(t)
		must.Do(t, h.DB.Update(t.Context(), func(tx *sql.Tx) error { return putFound(t, h, tx, id) }))
		reader := h.Client(t, "eve", access.Reader)
		tokens := map[string]string{"reader": reader.Token, "machine": machine.Token,
			"user": h.Client(t, "ulf", access.User).Token, "join": h.Client(t, "", access.Join).Token,
			"stranger": "krun_" + strings.Repeat("x", 43), "admin": h.Client(t, "boss", access.Admin).Token,
			nobody: ""}
		var d struct {
			Paths map[string]map[string]struct{ Description string }
		}
		must.Do(t, reader.Do(t.Context(), http.MethodGet, "/api/v1/openapi.json", nil, &d))
		ask := func(method, path, token, tag string) *http.Response {
			r := must.Get(http.NewRequestWithContext(t.Context(), method, h.URL+path, nil))(t)
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			if tag != "" {
				r.Header.Set("If-None-Match", tag)
			}
			response := must.Get(http.DefaultTransport.RoundTrip(r))(t)
			must.Do(t, response.Body.Close())
			return response
		}
		asked, tags := 0, map[string]string{}
		named := map[string]string{"machines": "lab1", "users": "none", "pools": "lab", "history": "warmup"}
		for path, methods := range d.Paths {
			kind := strings.Split(path, "/")[3]
			at := strings.NewReplacer("{name}", named[kind], "{hash}", strings.Repeat("0", 64), "{id}",
				map[bool]string{true: "v1", false: id}[kind == "events"]).Replace(path)
			for method, o := range methods {
				role, _, _ := strings.Cut(strings.TrimPrefix(o.Description, "For the role "), ",")
				must.Be(t, serves[role] != "", method, path, o.Description)
				for who, token := range tokens {
					if method == "delete" && (who == "admin" || who == "user") {
						continue // the others need it
					}
					asked++
					code := ask(strings.ToUpper(method), at, token, "").StatusCode
					permitted := slices.Contains(strings.Fields(serves[role]), who) ||
						who == nobody && open && role == string(access.Anonymous)
					refused := code == http.StatusForbidden || code == http.StatusUnauthorized
					must.Be(t, permitted != refused, who, "asks", method, path, "for", role, code, open)
				}
				response := ask("GET", at, reader.Token, "")
				if tag := response.Header.Get("ETag"); tag != "" {
					tags[at] = tag
					response = ask("GET", at, reader.Token, tag)
					must.Equal(t, response.StatusCode, http.StatusNotModified, at)
					must.Contain(t, response.Header.Get("Cache-Control"), "private", at)
				}
			}
		}
		must.Be(t, asked > 150 && len(tags) > 8, asked, len(tags))
		boss := &api.Client{URL: h.URL, Token: tokens["admin"]}
		must.Do(t, boss.DoJSON(t.Context(), http.MethodDelete, api.PathUsers+"/eve", nil, nil))
		for at, tag := range tags {
			must.Equal(t, ask("GET", at, reader.Token, tag).StatusCode, http.StatusUnauthorized, at)
			if !open {
				must.Equal(t, ask("GET", at, "", tag).StatusCode, http.StatusUnauthorized, at)
			}
		}
	}
}
