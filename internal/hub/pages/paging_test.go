package pages_test

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"testing"

	"krund/internal/hub/access"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/hubtest"
	"krund/rig/must"
)

// TestPaging: each of 10,000 experiments is on one page of the list, also those that were submitted
// at the same moment, and those that wait behind the first ones of the queue are counted.
func TestPaging(t *testing.T) { dbtest.OnEach(t, testPaging) }

func testPaging(t *testing.T, at string) {
	const experiments = 10000
	h := hubtest.On(t, at)
	must.Do(t, h.DB.Update(t.Context(), func(tx *sql.Tx) error {
		for i := range experiments {
			x := database.Experiment{ID: fmt.Sprintf("x%05d", i), Name: "x", Owner: "ann", Target: "lab",
				State: database.Queued}
			if err := h.DB.AddExperiment(t.Context(), tx, x); err != nil {
				return err
			}
		}
		return nil
	}))
	token := h.Client(t, "ann", access.User).Token
	get := func(path string) string {
		t.Helper()
		r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+path, nil))(t)
		r.Header.Set("Authorization", "Bearer "+token)
		answer := must.Get(http.DefaultClient.Do(r))(t)
		defer answer.Body.Close() // it was only read
		text, err := io.ReadAll(answer.Body)
		must.Need(t, err == nil && answer.StatusCode == http.StatusOK, path, answer.Status, err)
		return string(text)
	}
	link := regexp.MustCompile(`href="/experiments/(x\d+)"`)
	next := regexp.MustCompile(`rel="next" href="/experiments\?after=(x\d+)&amp;before=(\d+)"`)
	seen := map[string]int{}
	pages := 0
	for path := "/experiments"; path != ""; pages++ {
		text := get(path)
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			seen[match[1]]++
		}
		path = ""
		if match := next.FindStringSubmatch(text); match != nil {
			path = "/experiments?after=" + match[1] + "&before=" + match[2]
		}
	}
	must.Equal(t, len(seen), experiments, "experiments on", pages, "pages")
	for id, n := range seen {
		must.Equal(t, n, 1, id, "is listed", "times")
	}
	if text := get("/queue"); !regexp.MustCompile(`<p>9800 more experiments behind`).MatchString(text) {
		t.Error("the queue does not count what it does not list")
	}
}
