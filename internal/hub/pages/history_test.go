package pages

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"krund/internal/analysis/history"
	"krund/internal/hub/access"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/watch"
	"krund/rig/must"
)

// hasty is a clock whose sleeps end at once.
type hasty struct {
	mu  sync.Mutex
	now time.Time
}

func (h *hasty) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hasty) Sleep(ctx context.Context, d time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
	return ctx.Err()
}

// listen opens a stream of events as an identity.
func (h *testHub) listen(who access.Identity) *http.Response {
	h.t.Helper()
	h.who = who
	r := must.Get(http.NewRequestWithContext(h.t.Context(), http.MethodGet, h.web.URL+"/live", nil))(h.t)
	response := must.Get(http.DefaultTransport.RoundTrip(r))(h.t)
	h.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// reader is an identity with a token of its own.
func (h *testHub) reader() access.Identity {
	h.t.Helper()
	return must.Get(h.db.Who(h.t.Context(), h.token(access.Reader, "anna")))(h.t)
}

// TestEvents: a change in the database is an event of each open page.
func TestEvents(t *testing.T) {
	onEach(t, func(t *testing.T, h *testHub) {
		response := h.listen(h.reader())
		must.Equal(t, response.Header.Get("Content-Type"), "text/event-stream", response.Status)
		lines := bufio.NewReader(response.Body)
		must.Get(lines.ReadString('\n'))(t)
		h.record(7)
		for line := ""; line != "event: change\n"; {
			line = must.Get(lines.ReadString('\n'))(t)
		}
	})
}

// TestEventsEnd: the events of a token that was revoked end, those of others go on.
func TestEventsEnd(t *testing.T) {
	onEach(t, func(t *testing.T, h *testHub) {
		h.live.clock = &hasty{now: now}
		ends, stays := h.reader(), h.reader()
		ended, other := h.listen(ends), h.listen(stays)
		h.update(func(tx *sql.Tx) error { return h.db.RevokeToken(t.Context(), tx, ends.Token, false, ends) })
		_, err := io.Copy(io.Discard, ended.Body) // without an end, so is the test
		must.Do(t, err)
		must.Get(io.CopyN(io.Discard, other.Body, 1<<10))(t, "of another token")
	})
}

// TestEventsOfOneToken: one token and its sessions do not take the places of all.
func TestEventsOfOneToken(t *testing.T) {
	h := newTestHub(t, dbtest.SQLite(t), fakeKrunctl)
	who, other := h.reader(), h.reader()
	for i := range mostOfToken {
		session := who
		session.Token = fmt.Sprint("session ", i) // its root is the token
		must.Equal(t, h.listen(session).StatusCode, http.StatusOK, "stream", i)
	}
	must.Equal(t, h.listen(who).StatusCode, http.StatusTooManyRequests, "one more")
	for name, who := range map[string]access.Identity{"another token": other, "a proxy": boss} {
		must.Equal(t, h.listen(who).StatusCode, http.StatusOK, name)
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
		"/events/v1":                                 "--reverse &#39;v19~..v20&#39; | krunctl bisect",
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
		"/history/none":                              "not found",
		"/events/none":                               "not found",
		"/history/x/badge.svg":                       "not found",
		"/history/x/graph.svg":                       "not found",
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
	h.do(http.MethodPost, "/events/v1/mute", url.Values{"days": {"10"}, "reason": {"accepted"}})
	_, text = h.get("/history/sorting")
	must.Contain(t, text, "undecided muted<", "the change is not muted")
	_, text = h.get("/")
	must.Contain(t, text, "nothing changed", "a muted event is on the front page")
}

// TestBisectCommand: no name of a version or machine makes another command of the one to copy.
func TestBisectCommand(t *testing.T) {
	for label, want := range map[string]bool{"v1.0/a_b, night 2": true, "a\nreboot": false, "a\trm": false,
		"a(b)": false, "#": false, "*": false, "": false, strings.Repeat("a", 41): false} {
		_, ok := revision(label)
		must.Equal(t, ok, want, label)
	}
	e := database.Event{Machine: "m;reboot",
		Keys: []database.EventKey{{Key: "nbody:C:$(reboot)\nreboot"}}}
	page := EventPage{Bisect: bisectCommand(e, "v1", "v2")}
	page.Writes = true
	text := render(t, page)
	must.Contain(t, text, "git rev-list --reverse &#39;v1~..v2&#39; | krunctl bisect event.bisect ")
	must.Contain(t, text, "--to &#39;m;reboot&#39;</code>")
	must.Be(t, strings.Contains(text, "--key &#39;nbody:C:$(reboot)") && !strings.Contains(text, "\nreboot"),
		text)
}

// TestOneNumber: a change of a program on two machines is one, on the first page, in the list of
// events and its parts, and in the navigation of all pages.
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
		_, text = h.get("/events?machine=bench-2")
		must.Be(t, strings.Contains(text, "bench-2") && !strings.Contains(text, "bench-1"), text)
		for n := range 60 { // 20 changes on three machines each
			h.update(func(tx *sql.Tx) error {
				return h.db.PutEvent(t.Context(), tx, database.Event{ID: fmt.Sprintf("x%02d", n),
					Name: "more", Machine: "m", Verdict: "program", Present: true,
					Finding: database.Finding{Version: fmt.Sprint("v", n/3)}})
			})
		}
		rows, links := 0, 0
		for path := "/events?name=more"; path != ""; {
			_, text := h.get(path)
			rows += strings.Count(text, "<li>")
			links += strings.Count(text, `href="/events/x`)
			_, document := h.get("/api/v1" + path)
			var next struct{ Next string }
			must.Do(t, json.Unmarshal([]byte(document), &next))
			path = strings.TrimPrefix(next.Next, "/api/v1")
		}
		must.Be(t, rows == 20 && links == 60, rows, "rows,", links, "links")
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
