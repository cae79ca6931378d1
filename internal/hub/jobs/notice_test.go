package jobs

import (
	"database/sql"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/machine/command"
	"krund/rig/must"
)

// TestNotices: what was found in a project is told to its own addresses, and without these to
// nobody; that a machine is silent is told to the hub's, without what it measured. What is sent
// again has the same id.
func TestNotices(t *testing.T) {
	var told []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m map[string]string
		must.Do(t, json.NewDecoder(r.Body).Decode(&m))
		told = append(told, r.URL.Path+" "+m["id"]+" "+m["experiment"])
		must.Be(t, strings.Contains(m["text"], "secret") == strings.Contains(m["experiment"], "secret"), m)
	}))
	defer server.Close()
	b := newBench(t, dbtest.SQLite(t))
	b.update(t, func(tx *sql.Tx) error {
		for id, project := range map[string]string{"a": "", "b": "jit", "c": "vm"} {
			must.Do(t, b.DB.AddExperiment(t.Context(), tx, database.Experiment{ID: id, Name: "secret" + id,
				State: database.Done, Project: project}))
		}
		return nil
	})
	w := &workers{db: b.DB, log: slog.New(slog.DiscardHandler), config: Config{
		Notify:   command.Notifier{Webhook: server.URL + "/hub"},
		Projects: map[string]command.Notifier{"jit": {Webhook: server.URL + "/jit"}}}}
	for _, kind := range []command.MessageKind{Changed, Overdue} {
		for _, id := range []string{"a", "b", "c", "b"} {
			a := noticeArgs{ID: id + "1", Event: kind, Experiment: id, Subject: "x"}
			must.Do(t, w.notice(t.Context(), a))
		}
	}
	other := "1 of another project"
	must.EqualList(t, told, []string{"/hub a1 secreta", "/jit b1 jit/secretb", "/jit b1 jit/secretb",
		"/hub a1 secreta", "/hub b" + other, "/hub c" + other, "/hub b" + other})
}
