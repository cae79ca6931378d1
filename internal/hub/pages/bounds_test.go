package pages

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

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
