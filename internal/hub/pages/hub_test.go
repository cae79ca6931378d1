package pages

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
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
	"strconv"
	"strings"
	"testing"
	"time"

	"krund/internal/analysis/history"
	"krund/internal/durable"
	"krund/internal/hub/access"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/rebuild"
	"krund/internal/hub/store"
	"krund/internal/hub/watch"
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
		"/":               {"nothing changed; 1 experiment runs; all is well", "No event is open"},
		"/events":         {"There is no such event"},
		"/tokens":         {"Make a token", "<option>join"},
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

// TestEvents: a change in the database is an event of each open page.
func TestEvents(t *testing.T) { onEach(t, testEvents) }

func testEvents(t *testing.T, h *testHub) {
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, h.web.URL+"/live", nil))(t)
	response := must.Get(http.DefaultTransport.RoundTrip(r))(t)
	defer response.Body.Close()
	kind := response.Header.Get("Content-Type")
	must.Need(t, kind == "text/event-stream", response.Status, kind)
	found := make(chan error, 1)
	go func() {
		var text []byte
		for part := make([]byte, 1000); !bytes.Contains(text, []byte("event: change\ndata:\n\n")); {
			n, err := response.Body.Read(part)
			if err != nil {
				found <- fmt.Errorf("%w after %q", err, text)
				return
			}
			text = append(text, part[:n]...)
		}
		found <- nil
	}()
	// The loop looks at the database once before it notices changes: change it until it does.
	for slot := int64(1); ; slot++ {
		h.record(slot)
		select {
		case err := <-found:
			must.Do(t, err)
			return
		default:
		}
	}
}

// putHistory stores a history of 40 versions of "sorting" in which a key changes with v20, and the
// event of that.
func (h *testHub) putHistory() {
	h.t.Helper()
	versions := make([]history.Version, 40)
	values := make([][]float64, 40)
	for v := range versions {
		versions[v] = history.Version{Label: fmt.Sprintf("v%02d", v), Source: "revision"}
		for e := range 5 {
			value := 1 + 0.001*float64((7*v+3*e)%5)
			if v >= 20 {
				value *= 1.5
			}
			values[v] = append(values[v], value)
		}
	}
	of := history.Of(versions, []history.Key{{Name: "a:C:default", Machine: "bench-1", Values: values}},
		history.Options{})
	must.Need(h.t, len(of.Events) == 1, of.Events)
	c := of.Keys[0].Changes[0]
	doc := must.Get(json.Marshal(of.Keys[0]))(h.t)
	labels := must.Get(json.Marshal(versions))(h.t)
	h.update(func(tx *sql.Tx) error {
		err := h.db.PutPoints(h.t.Context(), tx, database.Experiment{ID: "e1", Name: "sorting"}, nil, "")
		if err != nil {
			return err
		}
		_, err = h.db.PutHistory(h.t.Context(), tx, database.History{Name: "sorting", Unit: "s",
			Versions: string(labels), Changed: 1}, []database.Series{{Name: "sorting", Key: "a:C:default",
			Machine: "bench-1", Versions: 40, Value: 1.5, Change: c.Ratio, Trend: []float64{1, 1.5},
			Doc: string(doc)}})
		if err != nil {
			return err
		}
		return h.db.PutEvent(h.t.Context(), tx, database.Event{ID: "v1", Name: "sorting", Machine: "bench-1",
			Verdict: "undecided", Experiment: "e1", Present: true, Finding: database.Finding{
				Version: versions[c.Version].Label, First: versions[c.First].Label,
				Last: versions[c.Last].Label, Found: versions[c.Found].Label,
				Before:  versions[c.First-1].Label,
				Example: "a:C:default", Changed: 1, Of: 1, Median: c.Ratio, Least: c.Ratio, Most: c.Ratio,
				Evidence: "measure again"}, Keys: []database.EventKey{{Key: "a:C:default",
				Found: versions[c.Found].Label, Ratio: c.Ratio, Low: c.Low, High: c.High}}})
	})
}

// TestHistoryPage: what was found in a history is on the front page, on its own pages, and in its
// CSV; a range of versions has what lies in it, and a muted event mutes its changes.
func TestHistoryPage(t *testing.T) { onEach(t, testHistoryPage) }

func testHistoryPage(t *testing.T, h *testHub) {
	h.putHistory()
	for path, want := range map[string]string{
		"/":                         "1 undecided change; 1 experiment runs",
		"/history?text=SORT":        `href="/history/sorting?key=a%3AC%3Adefault&amp;machine=bench-1"`,
		"/history?text=none":        "No experiment with such results has ended",
		"/history?text=%25":         "No experiment with such results has ended",
		"/history/sorting":          "+50 % undecided",
		"/history/sorting?from=v25": "15 versions",
		"/history/sorting?from=v25&machine=bench-1&key=none": "There is no such key",
		"/api/v1/history/sorting/values.csv":                 "a:C:default,bench-1,v20,5,1.5",
		"/history/sorting/badge.svg?key=a:C:default":         "1.5",
		"/events":                                    "+50.0% in a:C:default</bdi>, <bdi>with v20",
		"/events?state=fixed":                        "There is no such event",
		"/events/v1":                                 "krunctl bisect v19 v20 --to bench-1",
		"/experiments/e1":                            `href="/events/v1"`,
		"/api/v1/history?machine=bench-1":            `{"series":[{"name":"sorting","key":"a:C:default",`,
		"/api/v1/history/sorting":                    `"changes":[{"version":20,`,
		"/api/v1/events":                             `"id":"v1","name":"sorting","machine":"bench-1","verdict":"undecided"`,
		"/api/v1/events/v1":                          `"keys":[{"key":"a:C:default","found":`,
		"/api/v1/events/none":                        `{"error":"event none: not found"}`,
		"/api/v1/machines":                           `{"machines":[{"name":"bench-1","page":"/machines/bench-1","pool":"lab"`,
		"/api/v1/machines/bench-1":                   `"counts":[{"state":"completed","flag":"C","slots":1}`,
		"/api/v1/queue":                              `"state":"running","target":"lab"`,
		"/api/v1/experiments":                        `"slots":4`,
		"/api/v1/experiments/e1/result":              `{"id":"e1","name":"sorting","state":"running"`,
		"/api/v1/experiments/e9/result":              `{"error":"experiment e9: not found"}`,
		"/api/v1/alerts":                             `{"alerts":[],"next":""}`,
		"/history/none":                              "There is no such thing",
		"/events/none":                               "There is no such thing",
		"/history/x/badge.svg":                       "There is no such thing",
		"/history/x/graph.svg":                       "There is no such thing",
		"/history/sorting/graph.svg?machine=bench-1": "<title>a:C:default on bench-1</title>",
		"/api/v1/history/sorting/values.parquet":     "PAR1",
		"/api/v1/now":                                `"answer":"1 undecided change; 1 experiment runs`,
		"/api/v1/experiments/e1/progress":            `"failures":[{"slot":1,"attempt":3,"key":"a:C:default"`,
		"/api/v1/tokens":                             `{"tokens":`,
		"/api/v1/compare?before=e9":                  `{"error":"records of experiment e9: not found"}`,
	} {
		_, text := h.get(path)
		must.Contain(t, text, want, path)
	}
	_, text := h.get("/history/sorting?from=v25")
	must.Be(t, !strings.Contains(text, " % undecided<"), "a change outside of the range is drawn")
	response, document := h.get("/api/v1/events")
	must.Be(t, response.Header.Get("ETag") != "" && json.Valid([]byte(document)) &&
		!strings.Contains(document, "<"), response.Header, document)
	response, _ = h.get("/history?name=sorting")
	must.Equal(t, response.Header.Get("Location"), "/history/sorting")
	h.do(http.MethodPost, "/events/v1/mute", url.Values{"days": {"10"}, "reason": {"accepted"}})
	_, text = h.get("/history/sorting")
	must.Contain(t, text, "undecided muted<", "the change is not muted")
	_, text = h.get("/")
	must.Contain(t, text, "nothing changed", "a muted event is on the front page")
}

// TestBisectCommand: no name of a version or machine makes another command of the one to copy.
func TestBisectCommand(t *testing.T) {
	for label, want := range map[string]bool{"v1.0/a_b (2)": true, "a\nreboot": false, "a\trm": false,
		"a(b)": false, "#": false, "*": false, "": false, strings.Repeat("a", 41): false} {
		_, ok := revision(label)
		must.Equal(t, ok, want, label)
	}
	page := EventPage{Bisect: "v1 v2"}
	page.Writes, page.Machine = true, "m;reboot"
	must.Contain(t, render(t, page), "bisect v1 v2 --to &#39;m;reboot&#39; ...")
}

// TestOneNumber: a change of a program on two machines is one, on the first page and in the
// navigation of all pages.
func TestOneNumber(t *testing.T) {
	onEach(t, func(t *testing.T, h *testHub) {
		for _, machine := range []string{"bench-1", "bench-2"} {
			h.update(func(tx *sql.Tx) error {
				return h.db.PutEvent(t.Context(), tx, database.Event{ID: machine, Name: "sorting",
					Machine: machine, Verdict: "program", Present: true,
					Finding: database.Finding{Version: "v20"}})
			})
		}
		_, text := h.get("/")
		must.Contain(t, text, "1 change of a program; ")
		for _, path := range []string{"/", "/events", "/machines"} {
			_, text := h.get(path)
			must.Contain(t, text, `Events <b class="number">1<span`, path)
		}
	})
}

// TestBisectAction: where the hub builds the revisions of an event, a click begins to look for its
// commit, once; elsewhere the page has no such button.
func TestBisectAction(t *testing.T) { onEach(t, testBisectAction) }

func testBisectAction(t *testing.T, h *testHub) {
	h.putHistory()
	h.posts(post{anna, "/events/v1/bisect", "", http.StatusConflict})
	_, text := h.get("/events/v1")
	must.Be(t, !strings.Contains(text, "Find the commit"), text)
	h.builds = []watch.Schedule{{Name: "sorting", Again: "/again.toml"}}
	_, text = h.get("/events/v1")
	must.Contain(t, text, "Find the commit")
	for range 2 {
		response, answer := h.do(http.MethodPost, "/api/v1/events/v1/bisect", nil)
		must.Equal(t, response.StatusCode, http.StatusOK, answer)
		must.Contain(t, answer, "/api/v1/events/v1")
	}
	runs := must.Get(h.db.OpenRuns(t.Context(), "sorting"))(t)
	must.Be(t, len(runs) == 1 && runs[0].Base == "v19" && runs[0].Machine == "bench-1", runs)
	_, text = h.get("/events/v1")
	must.Be(t, !strings.Contains(text, "Find the commit") && strings.Contains(text, "bisection begun"), text)
}

// TestTriage: a user says what an event is, its owner and an admin mute it, and what was changed is
// kept; what is wrong is refused.
func TestTriage(t *testing.T) { onEach(t, testTriage) }

func testTriage(t *testing.T, h *testHub) {
	h.putHistory()
	const good = "&state=confirmed&owner=berta&note=<b>why&link=https://issues.example/7"
	h.posts( // the first value of a name counts
		post{berta, "/events/v1", good, http.StatusSeeOther},
		post{berta, "/events/v1", "state=done" + good, http.StatusBadRequest},
		post{berta, "/events/v1", "link=javascript:alert(1)" + good, http.StatusBadRequest},
		post{berta, "/events/v1", "link=https://issues.example/%FF" + good, http.StatusBadRequest},
		post{berta, "/events/v1", "owner=a/b" + good, http.StatusBadRequest},
		post{berta, "/events/v1", "note=" + strings.Repeat("x", 4001) + good, http.StatusBadRequest},
		post{berta, "/events/none", good, http.StatusNotFound},
		post{berta, "/events/v1/mute", "days=5&reason=known", http.StatusForbidden},
		post{anna, "/events/v1/mute", "days=5", http.StatusBadRequest},
		post{anna, "/events/v1/mute", "days=5000&reason=x", http.StatusBadRequest},
		post{anna, "/events/v1/mute", "days=5&reason=known", http.StatusSeeOther},
		post{anna, "/events/v1/again", "", http.StatusConflict}) // it has no bundle
	e := must.Get(h.db.Event(t.Context(), nil, "v1"))(t)
	must.Be(t, e.State == "confirmed" && e.Assignee == "berta" && e.Note == "<b>why" && e.Reason == "known" &&
		e.Muted.Equal(now.AddDate(0, 0, 5)), e)
	acts := must.Get(h.db.Acts(t.Context(), "v1", 10))(t)
	must.Need(t, len(acts) == 2, acts)
	must.Equal(t, acts[1].Who+": "+acts[1].Text,
		"berta: state: confirmed; owner: berta; note: <b>why; link: https://issues.example/7")
	must.Equal(t, acts[0].Who+": "+acts[0].Text, "anna: muted until: 2026-11-27; reason: known")
	_, text := h.get("/events/v1")
	must.Contain(t, text, "&lt;b&gt;why")
	h.update(func(tx *sql.Tx) (err error) { // what happened long ago is not kept
		for i := 0; i < 1001 && err == nil; i++ {
			err = h.db.AddAct(t.Context(), tx, "v1", "berta", strconv.Itoa(i))
		}
		return err
	})
	acts = must.Get(h.db.Acts(t.Context(), "v1", 2000))(t)
	must.Be(t, len(acts) == 1000 && acts[0].Text == "1000" && acts[999].Text == "1", len(acts))
}
