package pages

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"krund/internal/durable"
	"krund/internal/hub/access"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/rebuild"
	"krund/internal/hub/store"
	"krund/rig/must"
)

// testHub is pages over a database with a machine that runs an experiment, and one that waits.
type testHub struct {
	*Pages
	t       *testing.T
	machine string // id
	dir     string
	who     access.Identity // of each request
	web     *httptest.Server
}

// fakeKrunctl is a program in place of krunctl: it notes that it ran, and its limit of memory.
const fakeKrunctl = `#!/bin/sh
echo run >>"$(dirname "$0")/runs"
for last; do :; done # the last argument
case $1 in report) out=$3/index.html ;; *) out=$(echo "$*" | sed 's/.* -o \([^ ]*\).*/\1/') ;; esac
printf '<!DOCTYPE html><head><title>a report</title><script src="assets/report.js"></script></head>
<body data-pair="1"><header>x</header><img src="../plots/x.svg"><p>%s %s' "$(ulimit -d)" "$(readlink "$last") $last" >"$out"
[ "$1" = compare ] || echo secret >"$3/data.js"
`

func newTestHub(t *testing.T, at, krunctl string) *testHub {
	t.Helper()
	dir := t.TempDir()
	db := must.Get(database.Open(t.Context(), at, func() time.Time { return now }))(t)
	blobs := must.Get(store.OpenDirectory(durable.OS(), filepath.Join(dir, "blobs")))(t)
	program := filepath.Join(dir, "krunctl")
	must.Do(t, os.WriteFile(program, []byte(krunctl), 0o755))
	h := &testHub{t: t, dir: dir, who: access.Identity{Name: "anna", Role: access.Admin}}
	ctx, stop := context.WithCancel(t.Context())
	h.Pages = New(ctx, Options{DB: db, Store: blobs, Log: slog.New(slog.DiscardHandler),
		Dir: filepath.Join(dir, "experiments"), Krunctl: program})
	h.reports.wait = time.Hour // however slow the machine is
	mux := http.NewServeMux()
	routes := h.Routes()
	for _, o := range h.Operations() {
		routes = append(routes, o.Route)
	}
	for _, route := range routes {
		mux.HandleFunc(route.Pattern, func(w http.ResponseWriter, r *http.Request) {
			if route.Role != "" {
				r = r.WithContext(access.With(r.Context(), h.who))
			}
			route.Handler(w, r)
		})
	}
	h.web = httptest.NewServer(mux)
	t.Cleanup(func() { stop(); h.web.CloseClientConnections(); h.web.Close(); _ = db.Close() })
	h.update(func(tx *sql.Tx) (err error) {
		for _, name := range []string{"anna", "boss"} {
			err = db.AddUser(t.Context(), tx, database.User{Name: name, Role: access.Admin})
			if err != nil {
				return err
			}
		}
		if h.machine, _, err = db.Join(t.Context(), tx, "bench-1", "lab"); err != nil {
			return err
		}
		for _, x := range []database.Experiment{
			{ID: "e1", Name: "sorting", Owner: "anna", State: database.Running, Target: "lab"},
			{ID: "e2", Name: hostileTexts[0], Owner: "berta", State: database.Queued, Target: "lab"},
		} {
			if err := db.AddExperiment(t.Context(), tx, x); err != nil {
				return err
			}
		}
		return db.PutShare(t.Context(), tx, database.Share{Experiment: "e1", Machine: h.machine, Count: 1,
			State: database.Running, Status: `{"slots":4,"completed":1,"failed":1,"left":2,"flags":"CERO",
			"failures":[{"slot":1,"attempt":3,"key":"a:C:default","outcome":"error","reason":"<b>signal"}]}`})
	})
	h.record(0)
	return h
}

func (h *testHub) update(do func(tx *sql.Tx) error) {
	h.t.Helper()
	must.Do(h.t, h.db.Update(h.t.Context(), do))
}

// token returns a new token.
func (h *testHub) token(role access.Role, owner string) (token string) {
	h.t.Helper()
	h.update(func(tx *sql.Tx) (err error) {
		token, err = h.db.AddToken(h.t.Context(), tx, database.Token{Role: role, Owner: owner})
		return err
	})
	return token
}

// post is a form that someone sends, and the status of the answer.
type post struct {
	who        access.Identity
	path, form string
	status     int
}

func (h *testHub) posts(list ...post) {
	h.t.Helper()
	for _, p := range list {
		h.who = p.who
		response, text := h.do(http.MethodPost, p.path, must.Get(url.ParseQuery(p.form))(h.t))
		must.Equal(h.t, response.StatusCode, p.status, p.who.Name, p.path, p.form, response.Status, text)
	}
}

// onEach runs a test with the pages of each database.
func onEach(t *testing.T, test func(*testing.T, *testHub)) {
	dbtest.OnEach(t, func(t *testing.T, at string) { test(t, newTestHub(t, at, fakeKrunctl)) })
}

var (
	boss  = access.Identity{Name: "boss", Role: access.Admin}
	anna  = access.Identity{Name: "anna", Role: access.User}
	berta = access.Identity{Name: "berta", Role: access.User}
)

// record ships a record of e1.
func (h *testHub) record(slot int64) {
	h.t.Helper()
	content := fmt.Appendf(nil, "record %d", slot)
	hash := store.Hash(content)
	must.Do(h.t, h.db.Announce(h.t.Context(), []string{hash}))
	must.Do(h.t, h.store.Put(h.t.Context(), hash, int64(len(content)), bytes.NewReader(content)))
	h.update(func(tx *sql.Tx) error {
		if err := h.db.AddBlob(h.t.Context(), tx, hash, int64(len(content))); err != nil {
			return err
		}
		_, err := h.db.AddRecord(h.t.Context(), tx, database.Record{Experiment: "e1", Machine: h.machine,
			Slot: slot, Attempt: 1, Blob: hash})
		return err
	})
}

// get returns the answer to a request without following redirections.
func (h *testHub) get(path string) (*http.Response, string) {
	h.t.Helper()
	return h.do(http.MethodGet, path, nil)
}

func (h *testHub) do(method, path string, form url.Values) (*http.Response, string) {
	h.t.Helper()
	r := must.Get(http.NewRequestWithContext(h.t.Context(), method, h.web.URL+path,
		strings.NewReader(form.Encode())))(h.t)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "text/html")
	response := must.Get(http.DefaultTransport.RoundTrip(r))(h.t)
	defer response.Body.Close()
	text := must.Get(io.ReadAll(response.Body))(h.t)
	return response, string(text)
}

// TestIncomplete: an experiment that ended although executions failed is not well.
func TestIncomplete(t *testing.T) {
	onEach(t, func(t *testing.T, h *testHub) {
		h.update(func(tx *sql.Tx) error {
			x, err := h.db.Experiment(t.Context(), "e1")
			if err != nil {
				return err
			}
			x.State = database.Done
			return h.db.SetState(t.Context(), tx, x)
		})
		_, text := h.get("/")
		must.Contain(t, text, "executions failed", "the first page")
		must.Contain(t, text, "1 thing not well", "the first page")
	})
}

// TestPagesOfAHub: each page shows what the database has, escaped, and forbids scripts within.
func TestPagesOfAHub(t *testing.T) { onEach(t, testPagesOfAHub) }

func testPagesOfAHub(t *testing.T, h *testHub) {
	for path, wants := range map[string][]string{
		"/machines":         {"bench-1", "lab", `href="/experiments/e1"`, "running"},
		"/machines/bench-1": {"sorting", "4 executions: 1 completed, 1 error, 1 running, 1 to do"},
		"/queue": {"sorting", "&lt;script&gt;alert(1)&lt;/script&gt;",
			"2 of 4 executions, 50 %, 1 failure"},
		"/experiments":    {"sorting", "berta"},
		"/experiments/e1": {"&lt;b&gt;signal", "a:C:default", `href="/experiments/e1/report"`},
		"/experiments/e2": {"No machine has begun"},
		"/compare":        {"sorting, 2026-11-22 16:00, running"},
		"/history":        {"No experiment with such results has ended"},
		"/": {"nothing changed; 1 experiment runs; machines and experiments are well",
			"No event is open"},
		"/events": {"There is no such event"},
		"/tokens": {"Make a token", "<option>join"},
	} {
		response, text := h.get(path)
		must.Be(t, response.StatusCode == http.StatusOK &&
			response.Header.Get("Content-Security-Policy") == Policy, path, response.Status, response.Header)
		for _, want := range wants {
			must.Contain(t, text, want, path)
		}
	}
	for _, path := range []string{"/machines/none", "/experiments/none", "/experiments/e2/report/index.html",
		"/compare?before=e2", "/view/none/index.html", "/static/none"} {
		response, _ := h.get(path)
		must.Equal(t, response.StatusCode, http.StatusNotFound, path, response.Status)
	}
}

// TestForms: who may change what, and what that changes.
func TestForms(t *testing.T) { onEach(t, testForms) }

func testForms(t *testing.T, h *testHub) {
	h.update(func(tx *sql.Tx) error {
		err := h.db.AddUser(t.Context(), tx, database.User{Name: "berta", Role: access.User})
		return errors.Join(err, h.db.SetRole(t.Context(), tx, "anna", access.User))
	})
	h.posts(
		post{anna, "/experiments/e1/priority", "priority=7", http.StatusSeeOther},
		post{anna, "/experiments/e1/priority", "priority=1000", http.StatusBadRequest},
		post{anna, "/experiments/e2/priority", "priority=7", http.StatusForbidden},
		post{anna, "/experiments/e2/stop", "", http.StatusForbidden},
		post{anna, "/experiments/e1/stop", "", http.StatusSeeOther},
		post{boss, "/experiments/e2/stop", "", http.StatusSeeOther},
		post{anna, "/tokens", "role=admin&label=x", http.StatusBadRequest},
		post{anna, "/tokens", "role=user&label=", http.StatusBadRequest},
		post{anna, "/tokens", "role=user&label=ci&owner=berta", http.StatusOK},
		post{boss, "/tokens", "role=reader&label=page&owner=carl", http.StatusOK},
		post{anna, "/alerts/none/mute", "", http.StatusNotFound},
		post{anna, "/experiments/e1/delete", "confirm=yes", http.StatusConflict}, // it runs
		post{anna, "/experiments/e2/delete", "confirm=yes", http.StatusForbidden},
		post{boss, "/experiments/e2/delete", "", http.StatusBadRequest})
	e1, err := h.db.Experiment(t.Context(), "e1")
	must.Be(t, err == nil && e1.Priority == 7 && e1.State == database.Stopped, e1, err)
	shares, err := h.db.Shares(t.Context(), "e1")
	must.Be(t, err == nil && shares[0].Request == "stop", shares, err)
	e2, err := h.db.Experiment(t.Context(), "e2")
	must.Be(t, err == nil && e2.State == database.Stopped, e2, err)
	tokens, err := h.db.Tokens(t.Context(), anna, 0, "", 10)
	must.Need(t, err == nil && len(tokens) == 1 && tokens[0].Label == "ci", tokens, err,
		"a user made a token for another one")
	h.posts(post{berta, "/tokens/" + tokens[0].Hash + "/revoke", "", http.StatusNotFound},
		post{anna, "/tokens/" + tokens[0].Hash + "/revoke", "", http.StatusSeeOther})
}

// TestLogIn: a token becomes a session with a cookie that scripts and other sites do not get; only
// paths of the hub follow; logging out ends the session.
func TestLogIn(t *testing.T) { onEach(t, testLogIn) }

func testLogIn(t *testing.T, h *testHub) {
	h.update(func(tx *sql.Tx) error { return h.db.SetRole(t.Context(), tx, "anna", access.User) })
	token, machine := h.token(access.User, "anna"), h.token(access.Machine, h.machine)
	for _, wrong := range []string{"", "krun_none", machine} {
		response, text := h.do(http.MethodPost, "/login", url.Values{"token": {wrong}})
		must.Be(t, response.StatusCode == http.StatusBadRequest && len(response.Cookies()) <= 0 &&
			strings.Contains(text, `role="alert"`), wrong, response.Status)
	}
	for to, want := range map[string]string{"/queue?a=b": "/queue?a=b", "//evil.example": "/",
		"https://evil.example/": "/", `/\evil.example`: "/", "queue": "/", "/\t/evil.example": "/"} {
		response, _ := h.do(http.MethodPost, "/login", url.Values{"token": {token}, "next": {to}})
		must.Need(t, response.Header.Get("Location") == want && len(response.Cookies()) == 1, "next", to,
			response.Status, "to", response.Header.Get("Location"))
		c := response.Cookies()[0]
		must.Be(t, c.HttpOnly && !c.Secure && c.SameSite == http.SameSiteLaxMode && c.Value != token,
			"cookie", c)
		who, err := h.db.Who(t.Context(), c.Value)
		must.Be(t, err == nil && who.Name == "anna" && who.Role == access.User, "session of", who, err)
	}
	h.secure = true // TLS ends at a proxy
	response, _ := h.do(http.MethodPost, "/login", url.Values{"token": {token}})
	c := response.Cookies()[0]
	must.Be(t, c.Secure, "cookie", c, "want Secure")
}

// TestReports: a report is made once for each state of the records, with bounded memory, and has an
// address that lasts. It is served in a sandbox with the hub's head; its scripts and data have
// addresses that cannot be guessed, and end with the token that they were asked with.
func TestReports(t *testing.T) {
	const address = "/experiments/e1/report/index.html"
	h := newTestHub(t, dbtest.SQLite(t), fakeKrunctl)
	runs := func() int {
		text, _ := os.ReadFile(filepath.Join(h.dir, "runs"))
		return strings.Count(string(text), "run")
	}
	response, _ := h.get("/experiments/e1/report")
	must.Need(t, response.StatusCode == http.StatusSeeOther &&
		response.Header.Get("Location") == address, response.Status, response.Header)
	response, text := h.get(address)
	policy := response.Header.Get("Content-Security-Policy")
	must.Be(t, strings.HasPrefix(policy, "sandbox allow-scripts; default-src 'none'") &&
		!strings.Contains(policy, "same-origin"), policy)
	must.Equal(t, response.Header.Get("Cache-Control"), "no-store")
	must.Be(t, strings.Contains(text, fmt.Sprint(rebuild.Memory)) &&
		strings.Contains(text, filepath.Join(h.dir, "experiments", "e1")+" sorting"), text)
	files := regexp.MustCompile(`(?s)<script src="(/view/[\w-]{32}/)assets/report.js"></script>` +
		`<link rel="stylesheet" href="/static/hub.css"></head>\s*<body data-files="(/view/[\w-]{32}/)data/" ` +
		`data-pair="1">.*<a\s+href="/queue">.*<a href="/experiments/e1">.*<header>x.*"/view/[\w-]{32}/plots/x.svg"`).FindStringSubmatch(text)
	must.Need(t, files != nil && files[1] == files[2], text)
	_, again := h.get(address)
	must.Be(t, again == text && runs() == 1, runs(), "runs", again)
	if response, text := h.get(files[1] + "data.js"); text != "secret\n" {
		t.Errorf("data: %s %s", response.Status, text)
	}
	h.record(1)
	if h.get(address); runs() != 2 {
		t.Errorf("%d runs after another record", runs())
	}
	response, text = h.get("/compare?before=e1&arm-before=a&arm-after=b")
	must.Be(t, response.StatusCode == http.StatusOK && runs() == 3 && strings.Contains(text, `href="/queue"`),
		response.Status, "after", runs(), "runs")
	h.who.Token = access.Hash(h.token(access.Reader, "anna"))
	_, text = h.get(address)
	bound := regexp.MustCompile(`/view/[\w-]{32}/`).FindString(text)
	response, _ = h.get(bound + "data.js")
	must.Equal(t, response.StatusCode, http.StatusOK, bound, response.Status)
	h.update(func(tx *sql.Tx) error { return h.db.RevokeToken(t.Context(), tx, h.who.Token, false, h.who) })
	response, _ = h.get(bound + "data.js")
	must.Equal(t, response.StatusCode, http.StatusNotFound, "with a token that was revoked", response.Status)
	for _, base := range []string{files[1], "/experiments/e1/report/"} {
		for _, path := range []string{"none.html", "..%2f..%2fhub.sqlite", "%2e%2e/", "."} {
			response, text := h.get(base + path)
			must.Be(t, response.StatusCode != http.StatusOK, base+path, "is served", text)
		}
	}
	response, _ = h.get(files[1] + "index.html")
	must.Equal(t, response.StatusCode, http.StatusNotFound, "a page without log-in", response.Status)
}

// TestReportFails: what krunctl says is shown as text, and the next request tries again.
func TestReportFails(t *testing.T) {
	h := newTestHub(t, dbtest.SQLite(t), `#!/bin/sh
echo run >>"$(dirname "$0")/runs"
echo 'krunctl: <b>no</b>' >&2
exit 1
`)
	for range 2 {
		response, text := h.get("/experiments/e1/report/index.html")
		must.Be(t, response.StatusCode == http.StatusUnprocessableEntity &&
			strings.Contains(text, "&lt;b&gt;no"), response.Status, text)
	}
	text, _ := os.ReadFile(filepath.Join(h.dir, "runs"))
	must.Equal(t, strings.Count(string(text), "run"), 2, "runs")
}

// TestPartsToCome: an experiment of which machines have begun a part, and finished it, is not done.
func TestPartsToCome(t *testing.T) {
	j := newJob(database.Experiment{State: database.Running, Parts: 3}, access.Identity{})
	for range 2 { // the first machine has failed before it began
		j.add(database.Share{State: database.Failed, Status: `{}`})
	}
	j.add(database.Share{State: database.Done, Status: `{"slots": 32, "completed": 32}`})
	must.Equal(t, j.Progress(), "32 of 96 executions, 33 %")
	j.Ends = false
	must.Equal(t, j.Progress(), "32 executions")
}
