package pages

import (
	"database/sql"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"krund/internal/hub/access"
	"krund/internal/hub/database"
	"krund/rig/must"
)

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
