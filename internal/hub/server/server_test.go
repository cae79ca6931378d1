package server_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"krund/internal/durable/crashfs"
	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/hubtest"
	"krund/internal/hub/server"
	"krund/internal/hub/store"
	"krund/rig/must"
)

// shipment is a message and its contents.
type shipment struct {
	api.Ship
	contents map[string][]byte
}

// of returns a shipment of an experiment that the machine began by itself, with these records.
func of(name string, contents ...string) shipment {
	s := shipment{api.Ship{Experiment: &api.ShippedExperiment{Name: name, ConfigHash: strings.Repeat("a", 64),
		Created: "2026-11-21T09:00:00Z", Seed: 1}}, map[string][]byte{}}
	for i, text := range contents {
		hash := store.Hash([]byte(text))
		s.contents[hash] = []byte(text)
		s.Entries = append(s.Entries, api.Entry{Slot: i, Attempt: 1, Hash: hash, Size: int64(len(text))})
	}
	return s
}

func (s shipment) send(ctx context.Context, c *api.Client) (api.Receipt, error) {
	return c.Ship(ctx, s.Ship, func(e api.Entry) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(s.contents[e.Hash])), nil
	})
}

func TestShipRefused(t *testing.T) { hubtest.OnEach(t, testShipRefused) }

func testShipRefused(t *testing.T, h *hubtest.Hub) {
	m := h.Machine(t, "lab1")
	first := of("warmup", "first")
	must.Get(first.send(t.Context(), m))(t)
	damaged := of("warmup", "first")
	damaged.contents[damaged.Entries[0].Hash] = []byte("fir$t")
	elsewhere := of("../../etc/passwd", "first")
	foreign := of("warmup", "first")
	foreign.Experiment.ID = "0123456789abcdef"
	for name, test := range map[string]struct {
		shipment
		status int
	}{
		"another record for the same attempt": {of("warmup", "other"), 409},
		"contents with another hash":          {damaged, 400},
		"a name that is a path":               {elsewhere, 400},
		"an experiment of others":             {foreign, 404},
	} {
		_, err := test.send(t.Context(), m)
		must.Equal(t, hubtest.Status(err), test.status, name, err, "want status",
			test.status)
	}
}

// TestRoles tries every route with every role; without a token there is none, unless the hub
// permits everyone to read.
func TestRoles(t *testing.T) {
	testRoles(t, server.Anyone, hubtest.New(t))
	testRoles(t, access.Anonymous, hubtest.New(t, func(s *server.Server) { s.Login.Anonymous = true }))
}

func testRoles(t *testing.T, without access.Role, h *hubtest.Hub) {
	clients := map[access.Role]*api.Client{without: {URL: h.URL}, access.Machine: h.Machine(t, "lab1")}
	for _, role := range []access.Role{access.Admin, access.User, access.Reader, access.Join} {
		clients[role] = h.Client(t, "test-"+string(role), role)
	}
	for _, route := range h.Routes() {
		method, path, _ := strings.Cut(route.Pattern, " ")
		path = strings.NewReplacer("{$}", "", "{", "", "}", "").Replace(path)
		for role, client := range clients {
			err := client.Do(t.Context(), method, path, strings.NewReader(""), nil)
			refused := (hubtest.Status(err) == 401 || hubtest.Status(err) == 403)
			want := route.Role != server.Anyone && !role.Includes(route.Role) ||
				strings.HasPrefix(route.Pattern, "POST /hooks/") // it has a signature instead
			must.Equal(t, refused, want, route.Pattern, "as", role, "refused", err)
		}
	}
}

// TestUnserved: a method or an address that the hub does not have is answered in JSON, as every
// error of the API.
func TestUnserved(t *testing.T) {
	h := hubtest.New(t)
	for _, test := range []struct {
		method, path string
		status       int
		text, allow  string
	}{
		{"PATCH", api.PathExperiments, 405, `"PATCH" is not for this address; use GET, HEAD, POST`,
			"GET, HEAD, POST"},
		{"GET", "/api/v1/nothing", 404, "the hub has no such address; see the pages at /", ""},
	} {
		r, err := http.NewRequestWithContext(t.Context(), test.method, h.URL+test.path, nil)
		must.Do(t, err)
		answer := must.Get(http.DefaultClient.Do(r))(t)
		var document struct {
			Error string `json:"error"`
		}
		err = json.NewDecoder(answer.Body).Decode(&document)
		_ = answer.Body.Close()
		must.Be(t, err == nil && answer.StatusCode == test.status && document.Error == test.text &&
			answer.Header.Get("Allow") == test.allow &&
			answer.Header.Get("Content-Type") == "application/json", test.method, test.path, answer.Status,
			answer.Header, document, err)
	}
}

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

// TestReady: a hub that cannot write is not ready, whatever can be read. It tries at most every ten
// seconds, however many ask.
func TestReady(t *testing.T) {
	disk := crashfs.New("/hub")
	blobs := must.Get(store.OpenDirectory(disk, "/hub/blobs"))(t)
	now := hubtest.Now
	h := hubtest.At(t, dbtest.SQLite(t), func() time.Time { return now },
		func(s *server.Server) { s.Store = blobs })
	expect := func(what string, want int) {
		t.Helper()
		err := (&api.Client{URL: h.URL}).Do(t.Context(), http.MethodGet, "/readyz", nil, nil)
		must.Equal(t, hubtest.Status(err), want, what)
	}
	expect("all is well", http.StatusOK)
	left, _ := disk.ReadDir("/hub/blobs")
	must.Equal(t, len(left), 256, "names are left in the store")
	disk.Inject(crashfs.Fault{Err: syscall.ENOSPC, Permanent: true})
	expect("the disk is full, and was tried just before", http.StatusOK)
	now = now.Add(10 * time.Second)
	expect("the disk is full", http.StatusServiceUnavailable)
	disk.Heal()
	now = now.Add(10 * time.Second)
	expect("there is space again", http.StatusOK)
	must.Get(h.DB.Write.ExecContext(t.Context(), `PRAGMA query_only = 1`))(t)
	now = now.Add(10 * time.Second)
	expect("the database can be read only", http.StatusServiceUnavailable)
}

// TestDatabaseAway: while the database is away, nothing is refused for good: whatever is asked for
// is not to be had now.
func TestDatabaseAway(t *testing.T) { hubtest.OnEach(t, testDatabaseAway) }

func testDatabaseAway(t *testing.T, h *hubtest.Hub) {
	s := of("warmup", "first")
	var ship bytes.Buffer
	must.Do(t, api.WriteShip(&ship, s.Ship, func(e api.Entry) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(s.contents[e.Hash])), nil
	}))
	tokens := map[access.Role]string{access.Machine: h.Machine(t, "lab1").Token}
	for _, role := range []access.Role{access.Join, access.Reader, access.User, access.Admin} {
		tokens[role] = h.Client(t, "the-"+string(role), role).Token
	}
	must.Do(t, errors.Join(h.DB.Read.Close(), h.DB.Write.Close()))
	handler := h.Handler()
	for _, route := range h.Routes() {
		if route.Role == "" {
			continue
		}
		method, path, _ := strings.Cut(route.Pattern, " ")
		path = strings.NewReplacer("{$}", "", "{", "", "}", "").Replace(path)
		r := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(ship.Bytes()))
		r.Header.Set("Authorization", "Bearer "+tokens[route.Role])
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		must.Equal(t, answer.Code, http.StatusServiceUnavailable, route.Pattern, answer.Body)
	}
}

// TestDatabaseComesAndGoes: whatever happens to the connections of the database, a request of a
// machine or a program is answered as always, or is to be sent again.
func TestDatabaseComesAndGoes(t *testing.T) {
	at := dbtest.Postgres(t)
	h := hubtest.On(t, at)
	machines := []*api.Client{h.Machine(t, "lab1"), h.Machine(t, "lab2")}
	ann := h.Client(t, "ann-lab1", access.User)
	id := submitted(t, h, "lab1")
	if _, err := machines[0].Ship(t.Context(), api.Ship{}, nil); err != nil { // it gets the experiment
		t.Fatal(err)
	}
	other := must.Get(sql.Open("pgx", at))(t)
	defer other.Close() // it is of the test
	done := make(chan struct{})
	var killer, all sync.WaitGroup
	killer.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			_, err := other.ExecContext(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE datname = current_database() AND pid <> pg_backend_pid()`)
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	const times = 100
	var failed atomic.Int32
	check := func(what string, err error) {
		var answer *api.Error
		if err != nil {
			failed.Add(1)
		}
		must.Be(t, !errors.As(err, &answer) || !answer.Refused(), what, err)
	}
	for i, m := range machines {
		all.Go(func() {
			for n := range times {
				s := of("warmup", fmt.Sprintf("record %d of %d", n, i))
				s.Entries[0].Slot = n
				_, err := s.send(t.Context(), m)
				check("ship", err)
			}
		})
	}
	all.Go(func() {
		for range times {
			_, err := ann.Experiment(t.Context(), id)
			check("state", err)
			_, err = ann.Submit(t.Context(), api.Submission{Bundle: store.Hash([]byte("lab1")),
				Target: "lab1", Machines: 1})
			check("submit", err)
			check("request", ann.Request(t.Context(), id, api.RequestHold))
			_, err = machines[0].Have(t.Context(), id, 0)
			check("have", err)
		}
	})
	all.Wait()
	close(done)
	killer.Wait()
	must.Be(t, failed.Load() != 0, "no request has met a database that was away")
}
