package pages

import (
	"database/sql"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"krund/internal/hub/access"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/rig/must"
)

// TestMute: the owner of the experiment mutes a change that was found with it, and only an admin
// that a machine does not report: others rely on it.
func TestMute(t *testing.T) { dbtest.OnEach(t, testMute) }

func testMute(t *testing.T, at string) {
	h := newTestHub(t, at, fakeKrunctl) // e1 is of anna, e2 of berta
	h.update(func(tx *sql.Tx) error {
		for _, id := range []string{"e1", "e2"} {
			_, err := h.db.AddChange(t.Context(), tx, database.Alert{Subject: id, Experiment: id})
			if err != nil {
				return err
			}
		}
		_, err := h.db.Raise(t.Context(), tx, database.Alert{Kind: "overdue", Subject: "bench-1",
			Machine: h.machine, Experiment: "e1"})
		return err
	})
	alerts, err := h.db.Alerts(t.Context(), "", 10)
	must.Need(t, err == nil && len(alerts) == 3, alerts, err)
	for _, who := range []access.Identity{{Name: "anna", Role: access.User},
		{Name: "berta", Role: access.User}, {Name: "anna", Role: access.Reader},
		{Name: "", Role: access.User}, {Name: "boss", Role: access.Admin}} {
		h.who = who
		_, page := h.get("/alerts")
		for _, a := range alerts {
			owner := map[string]string{"e1": "anna", "e2": "berta"}[a.Subject] // "": that of the machine
			want := who.Role == access.Admin || who.Role == access.User && owner != "" && who.Name == owner
			for _, what := range []string{"mute", "unmute"} {
				response, _ := h.do(http.MethodPost, "/alerts/"+a.ID+"/"+what, url.Values{})
				got := response.StatusCode == http.StatusSeeOther
				must.Be(t, got == want && (got || response.StatusCode == http.StatusForbidden), who.Role,
					who.Name, what, "s", a.Subject, response.Status)
			}
			must.Be(t, strings.Contains(page, "/alerts/"+a.ID+"/mute") == want, "the page offers", who.Role,
				who.Name, "to mute", a.Subject, !want)
		}
	}
}
