package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"krund/internal/durable"
	"krund/internal/experiment/results"
	"krund/internal/hub/hubtest"
	"krund/rig/must"
)

// TestShipHostileDirectory: the account of a benchmark owns the directory, or a link in it, and
// wants to see a file of root on the hub's pages, such as the machine's token. Root sends nothing
// of such a directory and changes nothing through it.
func TestShipHostileDirectory(t *testing.T) {
	must.Root(t, "needs root, whose files are to be stolen")
	h := hubtest.New(t)
	token := h.Machine(t, "lab1").Token
	const benchmark = 65534 // uid
	for _, name := range []string{"noise.json", "decisions.json", "log", "hub.json", "results"} {
		for _, owner := range []int{0, benchmark} {
			a := shipTo(t, h.URL, token, "1s")
			a.uid, a.fsys = 0, durable.OS()
			b := newExperiment(t)
			b.run(results.Completed)
			target := filepath.Join(b.dir(), name)
			b.must(os.RemoveAll(target))
			b.must(os.Symlink(a.hubFile, target))
			b.must(filepath.WalkDir(b.dir(), func(path string, _ os.DirEntry, err error) error {
				b.must(err)
				return os.Lchown(path, owner, owner)
			}))
			before, err := os.ReadFile(a.hubFile)
			b.must(err)
			runApp(a, "hub", "ship", b.dir()).says(t, exitError, "", "", name, owner)
			after, err := os.ReadFile(a.hubFile)
			must.Be(t, err == nil && string(after) == string(before), name, owner, "hub.toml became", after,
				err)
			list, err := h.DB.Experiments(t.Context(), 10)
			must.Need(t, err == nil && len(list) <= 0, name, owner, "the hub", list, err)
		}
	}
}

// TestShipElsewhere: hub.json in the directory names another hub, which gets nothing: the address
// and the token are those of hub.toml.
func TestShipElsewhere(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a request to %s with %q", r.URL, r.Header)
	}))
	defer elsewhere.Close()
	h := hubtest.New(t)
	a := shipTo(t, h.URL, h.Machine(t, "lab1").Token, "5m")
	b := newExperiment(t)
	b.run(results.Completed)
	writeText(t, filepath.Join(b.dir(), "hub.json"),
		`{"format":1,"hub":"`+elsewhere.URL+`","experiment":"x",`+
			`"given":true,"deleted":true,"files":{},"received":[{"attempt":1,"from":0,"to":99}]}`)
	runApp(a, "hub", "ship", b.dir()).says(t, exitOK, "", "")
	list, err := h.DB.Experiments(t.Context(), 10)
	must.Need(t, err == nil && len(list) == 1 && list[0].ID != "x", "the hub of hub.toml", list, err)
	rows, err := h.DB.Records(t.Context(), list[0].ID, "", 0, 10)
	must.Be(t, err == nil && len(rows) == 1, "it has", len(rows), "records", err)
}
