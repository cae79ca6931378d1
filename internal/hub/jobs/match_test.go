package jobs

import (
	"testing"
	"time"

	"krund/internal/hub/database"
	"krund/rig/must"
)

// TestMatch: an event keeps its id as long as it shares a change with what is stored, also if keys
// join it; of one that is divided both parts are known; what was an alert is not told again.
func TestMatch(t *testing.T) {
	event := func(id string, keys ...string) database.Event {
		e := database.Event{ID: id, Name: "n", Machine: "m", Present: true}
		for _, k := range keys {
			e.Keys = append(e.Keys, database.EventKey{Key: k, Found: "v9"})
		}
		return e
	}
	until := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	got := match([]database.Event{event("one", "a", "b"), event("gone", "x")},
		[]database.Event{event("", "a", "c"), event("", "b"), event("", "d"), event("", "e")},
		[]database.ToldChange{{Subject: "n · d · m · v9", Muted: until}})
	must.Need(t, len(got) == 5, got)
	must.Be(t, got[0].ID == "one" && !got[0].fresh, "keys joined", got[0])
	must.Be(t, got[1].ID != "one" && got[1].ID != "" && !got[1].fresh, "it was divided", got[1])
	must.Be(t, !got[2].fresh && got[2].Muted.Equal(until), "it was an alert", got[2])
	must.Be(t, got[3].fresh && got[3].Muted.IsZero(), "it is new", got[3])
	must.Be(t, got[4].ID == "gone" && !got[4].Present && !got[4].fresh, "it is not found any more", got[4])
}
