package pages

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/rig/must"
)

// worst is the status and the progress of a machine that says as much as the hub accepts.
func worst(t *testing.T) (status, progress, details string) {
	t.Helper()
	texts := slices.Repeat([]string{strings.Repeat("<", api.MaxText)}, 20)
	failure := api.Failure{Key: texts[0], Outcome: texts[0], Reason: texts[0]}
	p := api.Progress{Slots: api.MaxFlags, Completed: 1, Failed: 20, Left: 1, Reason: texts[0],
		Running: texts[0], Flags: strings.Repeat("CERO", api.MaxFlags/4), Unfit: texts,
		Failures: slices.Repeat([]api.Failure{failure}, api.MaxFailures)}
	short, long := p.Details()
	var all []string
	machine := api.Status{Krund: texts[0], Host: texts[0], Warnings: texts}
	for _, document := range []any{machine, short, long} {
		text := must.Get(json.Marshal(document))(t)
		all = append(all, string(text))
	}
	return all[0], all[1], all[2]
}

// TestPagesAreBounded: whatever machines say, and however many there are, no page is large, and
// each machine is on one page of the list.
func TestPagesAreBounded(t *testing.T) { onEach(t, testPagesAreBounded) }

func testPagesAreBounded(t *testing.T, h *testHub) {
	must.Long(t)
	const machines, parts, most = 450, 60, 2 << 20
	status, progress, details := worst(t)
	facts := must.Get(json.Marshal(map[string]string{"cpu": strings.Repeat("<", api.MaxFacts-3)}))(t)
	h.update(func(tx *sql.Tx) error {
		x := database.Experiment{ID: "wide", Name: "wide", Owner: "anna", State: database.Running,
			Parts: parts}
		if err := h.db.AddExperiment(t.Context(), tx, x); err != nil {
			return err
		}
		for i := range machines {
			id, _, err := h.db.Join(t.Context(), tx, fmt.Sprintf("m%03d", i), "")
			if err == nil {
				err = h.db.Seen(t.Context(), tx, id, "boot", string(facts), status)
			}
			share := database.Share{Experiment: x.ID, Machine: id, Index: int64(i), Count: parts,
				State: database.Running, Status: progress}
			if err == nil && i < parts {
				err = errors.Join(h.db.PutShare(t.Context(), tx, share),
					h.db.PutDetails(t.Context(), tx, share, details))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	get := func(path string) string {
		t.Helper()
		response, text := h.get(path)
		must.Be(t, response.StatusCode == http.StatusOK && len(text) <= most, path, response.Status,
			len(text), "bytes")
		return text
	}
	row := regexp.MustCompile(`<th scope="row"><a href="/machines/([^"]*)"`)
	seen, pages := map[string]int{}, 0
	for path := "/machines"; path != ""; pages++ {
		text := get(path)
		if !strings.Contains(text, fmt.Sprintf("%d machines", machines+1)) { // with that of every test
			t.Errorf("%s does not count all machines", path)
		}
		for _, m := range row.FindAllStringSubmatch(text, -1) {
			seen[m[1]]++
		}
		path = ""
		if m := regexp.MustCompile(`rel="next" href="([^"]*)"`).FindStringSubmatch(text); m != nil {
			path = m[1]
		}
	}
	must.Be(t, len(seen) == machines+1 && pages == 3, len(seen), "machines on", pages, "pages")
	for name, n := range seen {
		must.Equal(t, n, 1, name, "is listed", "times")
	}
	for path, want := range map[string]string{"/machines/m000": "100000 executions", "/queue": "wide",
		"/experiments": "wide", "/experiments/wide": "25000 completed", "/": "", "/events": "",
		"/tokens": "of a machine", "/compare": "", "/history": ""} {
		must.Contain(t, get(path), want)
	}
}

// TestOldStatus: the page of an experiment shows the strip and the failures of a share that an
// older hub has stored, with its details in the status.
func TestOldStatus(t *testing.T) {
	h := newTestHub(t, dbtest.SQLite(t), fakeKrunctl) // its share is such a one
	for _, path := range []string{"/experiments/e1", "/machines/bench-1"} {
		_, text := h.get(path)
		must.Contain(t, text, "4 executions: 1 completed, 1 error, 1 running", path, "has no strip")
	}
	_, text := h.get("/experiments/e1")
	must.Contain(t, text, "&lt;b&gt;signal", "no failure")
}

// TestMute: only an admin mutes that a machine does not report: others rely on it.
func TestMute(t *testing.T) { onEach(t, testMute) }

func testMute(t *testing.T, h *testHub) {
	h.update(func(tx *sql.Tx) error {
		_, err := h.db.Raise(t.Context(), tx, database.Alert{Kind: "overdue", Subject: "bench-1",
			Machine: h.machine, Experiment: "e1"})
		return err
	})
	alerts, err := h.db.Alerts(t.Context(), 0, 10)
	must.Need(t, err == nil && len(alerts) == 1, alerts, err)
	for _, who := range []access.Identity{anna, {Name: "anna", Role: access.Reader},
		{Role: access.User}, boss} {
		h.who = who
		_, page := h.get("/")
		want := who.Role == access.Admin
		for _, what := range []string{"mute", "unmute"} {
			response, _ := h.do(http.MethodPost, "/alerts/"+alerts[0].ID+"/"+what, url.Values{})
			got := response.StatusCode == http.StatusSeeOther
			must.Be(t, got == want && (got || response.StatusCode == http.StatusForbidden), who.Role,
				who.Name, what, "s", response.Status)
		}
		must.Be(t, strings.Contains(page, "/alerts/"+alerts[0].ID+"/mute") == want, "the page offers",
			who.Role, who.Name, "to mute", !want)
	}
}

// TestLevels: the page of an experiment shows what the job stored of its machines, and nothing
// before that.
func TestLevels(t *testing.T) { dbtest.OnEach(t, testLevels) }

func testLevels(t *testing.T, at string) {
	h := newTestHub(t, at, "#!/bin/sh\nexit 1\n")
	const head = "Machine effect"
	_, text := h.get("/experiments/e1")
	must.Be(t, !strings.Contains(text, head), "there is no effect yet", text)
	h.update(func(tx *sql.Tx) error {
		err := h.db.PutPoints(t.Context(), tx, database.Experiment{ID: "e1", Name: "sorting"}, nil, "")
		if err != nil {
			return err
		}
		return h.db.PutAnswer(t.Context(), tx, "e1", database.Answer{
			Text: "x: o to n: 1 key worse", Comparison: `{"changes":[{"key":"<b>k","verdict":"worse",
			"steady":{"ratio":{"estimate":1.05,"low":1.01,"high":1.09}}}]}`, Levels: `{"tests":12,"differ":4,"omitted":11,"keys":[
			{"key":"a:C:x","spread":0.031,"spread_low":0.012,"spread_high":0.0504,"p":1e-5,"p_corrected":0.00012,
			"levels":[{"machine":"<b>m","relative":0.0154,"low":null,"high":null},
			{"machine":"n","relative":-0.0152,"low":-0.0263,"high":-0.004}]}]}`})
	})
	_, text = h.get("/experiments/e1")
	for _, want := range []string{head, `<p class="answer"><bdi>x: o to n: 1 key worse</bdi>.`, `class="worse"`, "&lt;b&gt;k",

		"<bdi>the machines differ by up to 3.1 % (1.2, 5.04) in a:C:x; 4 of 12 keys differ</bdi>.",
		"<bdi>&lt;b&gt;m +1.54 %</bdi>", "<bdi>n -1.52 % (-2.63, -0.4)</bdi>", ">0.00012<", "11 keys"} {
		must.Contain(t, text, want, "is missing")
	}
}

// TestDelete: what was made of an experiment goes with it, whatever else was made stays.
func TestDelete(t *testing.T) {
	h := newTestHub(t, dbtest.SQLite(t), fakeKrunctl)
	h.update(func(tx *sql.Tx) error {
		err := h.db.PutShare(t.Context(), tx, database.Share{Experiment: "e1", Machine: h.machine, Count: 1,
			State: database.Done})
		for _, id := range []string{"e1", "e2"} {
			err = errors.Join(err, h.db.SetState(t.Context(), tx, database.Experiment{ID: id,
				State: database.Done}))
		}
		return err
	})
	response, _ := h.get("/experiments/e1/report/index.html")
	must.Need(t, response.StatusCode == http.StatusOK, "report", response.Status)
	made := filepath.Join(h.dir, "experiments")
	names := func(dir string) (list []string) {
		entries := must.Get(os.ReadDir(dir))(t)
		for _, e := range entries {
			list = append(list, e.Name())
		}
		return list
	}
	for _, id := range []string{"e2", "e1"} {
		if list := names(made); fmt.Sprint(list) != "[e1 reports]" || len(names(made+"/reports")) != 1 {
			t.Errorf("before %s is deleted: %q, %q", id, list, names(made+"/reports"))
		}
		response, text := h.do(http.MethodPost, "/experiments/"+id+"/delete", url.Values{"confirm": {"yes"}})
		must.Equal(t, response.StatusCode, http.StatusSeeOther, response.Status, text)
	}
	if list := names(made); fmt.Sprint(list) != "[reports]" || len(names(made+"/reports")) != 0 {
		t.Errorf("afterwards: %q, %q", list, names(made+"/reports"))
	}
}

// TestTooManyReports: one user cannot fill the queue of reports.
func TestTooManyReports(t *testing.T) {
	h := newTestHub(t, dbtest.SQLite(t), "#!/bin/sh\nexit 1\n")
	for range cap(h.reports.slots) { // none is made meanwhile
		h.reports.slots <- struct{}{}
	}
	for i := range mostOfUser + 1 {
		_, _, err := h.reports.start(wanted{key: fmt.Sprint(i)}, "anna")
		must.Equal(t, err != nil, (i == mostOfUser), "report", i, "of anna", err)
	}
	must.Get2(h.reports.start(wanted{key: "0"}, "anna"))(t, "one that is being made")
	for i := range mostQueued - mostOfUser + 1 {
		_, _, err := h.reports.start(wanted{key: fmt.Sprint("other", i)}, fmt.Sprint("user", i))
		must.Equal(t, err != nil, (i == mostQueued-mostOfUser), "report", i, "of others", err)
	}
}
