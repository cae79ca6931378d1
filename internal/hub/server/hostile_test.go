package server_test

import (
	"archive/tar"
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"krund/internal/experiment/results"
	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/hubtest"
	"krund/internal/hub/rebuild"
	"krund/internal/hub/store"
	"krund/rig/must"
)

// TestSlowForm: who sends a form slowly does not keep others from writing.
func TestSlowForm(t *testing.T) { dbtest.OnEach(t, testSlowForm) }

func testSlowForm(t *testing.T, at string) {
	h := hubtest.On(t, at)
	ann := h.Client(t, "ann", access.User)
	must.Do(t, h.DB.Update(t.Context(), func(tx *sql.Tx) error {
		return h.DB.AddExperiment(t.Context(), tx, database.Experiment{ID: "x", Name: "x", Owner: "ann",
			State: database.Queued})
	}))
	address := strings.TrimPrefix(h.URL, "http://")
	connection := must.Get(net.Dial("tcp", address))(t)
	defer connection.Close() // it is cut off
	must.Get(fmt.Fprintf(connection, "POST /experiments/x/priority HTTP/1.1\r\nHost: %s\r\n"+
		"Authorization: Bearer %s\r\nContent-Type: application/x-www-form-urlencoded\r\n"+
		"Content-Length: 9\r\nExpect: 100-continue\r\n\r\n", address, ann.Token))(t)
	// The hub asks for the body when it reads it, and gets none.
	line, err := bufio.NewReader(connection).ReadString('\n')
	must.Need(t, strings.Contains(line, "100 Continue"), line, err)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	must.Do(t, h.DB.Update(ctx, func(*sql.Tx) error { return nil }), "nothing can be written meanwhile")
}

// TestSameConfigurationAgain: a machine's owner runs the configuration of an experiment of the hub
// that is done. That is another experiment, with records of its own.
func TestSameConfigurationAgain(t *testing.T) { dbtest.OnEach(t, testSameConfigurationAgain) }

func testSameConfigurationAgain(t *testing.T, at string) {
	h := hubtest.On(t, at)
	m := h.Machine(t, "lab1")
	given := of("warmup", "first")
	must.Do(t, h.DB.Update(t.Context(), func(tx *sql.Tx) error {
		x := database.Experiment{ID: "given", Name: "warmup", Bundle: "b", State: database.Queued,
			Config: given.Experiment.ConfigHash, Target: "lab1"}
		return h.DB.AddExperiment(t.Context(), tx, x)
	}))
	receipt, err := m.Ship(t.Context(), api.Ship{}, nil)
	must.Need(t, err == nil && receipt.Orders.Next != nil, receipt, err)
	given.Experiment.Progress = api.Progress{Slots: 1, Completed: 1, Ended: true}
	receipt, err = given.send(t.Context(), m)
	must.Need(t, err == nil && receipt.Experiment == "given", "a machine that has lost the id", receipt, err)
	own := of("warmup", "another first")
	own.Experiment.Created = "2026-11-22T09:00:00Z"
	own.Experiment.Progress = api.Progress{Slots: 2, Completed: 1, Left: 1}
	receipt, err = own.send(t.Context(), m)
	must.Be(t, err == nil && receipt.Experiment != "given" && receipt.New == 1, "the owner's", receipt, err,
		"want an experiment of its own")
	x, err := h.DB.Experiment(t.Context(), "given")
	must.Be(t, err == nil && x.State == database.Done, "the hub's is", x.State, err, "want done")
}

// TestNamesLikeIDs: a user or a machine whose name is the id of another machine is not taken for
// it.
func TestNamesLikeIDs(t *testing.T) { dbtest.OnEach(t, testNamesLikeIDs) }

func testNamesLikeIDs(t *testing.T, at string) {
	h := hubtest.On(t, at)
	join := h.Client(t, "", access.Join)
	lab1 := must.Get(join.Join(t.Context(), api.JoinRequest{Name: "lab1"}))(t)
	must.Get(join.Join(t.Context(), api.JoinRequest{Name: lab1.ID}))(t)
	m, err := h.DB.Machine(t.Context(), lab1.ID)
	must.Be(t, err == nil && m.Name == "lab1", "the machine with the id is", m.Name, err)
	eve := access.Identity{Name: lab1.ID, Role: access.User}
	list, err := h.DB.Tokens(t.Context(), eve, 0, "", 10)
	must.Be(t, err == nil && len(list) == 0, "a user of this name sees", list, err)
	err = h.DB.Update(t.Context(), func(tx *sql.Tx) error {
		return h.DB.RevokeToken(t.Context(), tx, access.Hash(lab1.Token), true, eve)
	})
	must.Be(t, err != nil, "a user of this name revokes the token of the machine")
}

// TestResultsWithoutParts: files that another request is fetching at the same time are not sent,
// and a list of replaced records that is no list of names does no harm.
func TestResultsWithoutParts(t *testing.T) {
	h := hubtest.New(t)
	s := of("warmup", "first")
	list := strings.Repeat("../../x 00000001.1.json.gz\n", 1000)
	hash := store.Hash([]byte(list))
	s.contents[hash] = []byte(list)
	s.Entries = append(s.Entries, api.Entry{Name: api.FileReplaced, Hash: hash, Size: int64(len(list))})
	receipt := must.Get(s.send(t.Context(), h.Machine(t, "lab1")))(t)
	dir := must.Get(h.Pages.Directory(t.Context(), receipt.Experiment))(t)
	part := filepath.Join(dir, "lab1", "warmup.krun", "config.toml"+rebuild.Part)
	must.Do(t, os.WriteFile(part, nil, 0o600))
	content := must.Get(h.Client(t, "eve", access.Reader).Results(t.Context(), receipt.Experiment))(t)
	defer content.Close() // it was only read
	var names []string
	for in := tar.NewReader(content); ; {
		entry, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must.Do(t, err)
		names = append(names, entry.Name)
	}
	want := "lab1/warmup.krun/results/" + results.Name{Slot: 0, Attempt: 1}.String()
	must.Be(t, len(names) == 1 && names[0] == want, "results", names, want)
}
