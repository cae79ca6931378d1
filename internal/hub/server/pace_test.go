package server_test

import (
	"archive/tar"
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"krund/internal/experiment/results"
	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/hubtest"
	"krund/internal/hub/rebuild"
	"krund/internal/hub/server"
	"krund/internal/hub/store"
	"krund/internal/hub/watch"
	"krund/rig/must"
)

// patience is for tests in which nothing is to be cut off: longer than they take.
const patience = 5 * time.Minute

// stall sends the beginning of a request, of which the rest never follows, and returns the
// connection. That the hub reads the body is known from its answer to "Expect: 100-continue".
func stall(t *testing.T, c *api.Client, method, path string, length int64, beginning string) net.Conn {
	t.Helper()
	address := strings.TrimPrefix(c.URL, "http://")
	connection, err := net.Dial("tcp", address)
	must.Do(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	_, err = fmt.Fprintf(connection, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"+
		"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", method, path, address, c.Token, length)
	if err == nil && beginning != "" {
		var line string
		line, err = bufio.NewReader(connection).ReadString('\n')
		must.Need(t, strings.Contains(line, "100 Continue"), line, err)
		_, err = io.WriteString(connection, beginning)
	}
	must.Do(t, err)
	return connection
}

// large announces as many files as there are, each as large as may be.
func large(t *testing.T) (head string, size int64) {
	t.Helper()
	s := of("warmup")
	for _, name := range api.FileNames() {
		s.Entries = append(s.Entries, api.Entry{Name: name, Hash: strings.Repeat("a", 64), Size: api.MaxFile})
		size += api.MaxFile
	}
	text := must.Get(json.Marshal(s.Ship))(t)
	return string(text) + "\n", size + int64(len(text)) + 1
}

// TestStalledShipments: machines that announce all that may be announced, and send nothing, keep no
// other one from shipping.
func TestStalledShipments(t *testing.T) { dbtest.OnEach(t, testStalledShipments) }

func testStalledShipments(t *testing.T, at string) {
	h := hubtest.On(t, at, func(s *server.Server) { s.Patience = patience })
	head, size := large(t)
	for i := range 5 {
		stall(t, h.Machine(t, fmt.Sprintf("stalled%d", i)), http.MethodPost, api.PathShip, size, head)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	m := h.Machine(t, "lab1")
	must.Get(m.Ship(ctx, api.Ship{}, nil))(t, "a machine that is idle")
	s := of("warmup", "first")
	s.contents[store.Hash([]byte("log"))] = []byte("log")
	s.Entries = append(s.Entries, api.Entry{Name: api.FileLog, Hash: store.Hash([]byte("log")), Size: 3})
	must.Get(s.send(ctx, m))(t, "a record and a file")
}

// TestOneRequestOfAMachine: while one request of a machine is received, another one is refused for
// the moment; when the first one is cut off because it stalls, the next one is received.
func TestOneRequestOfAMachine(t *testing.T) {
	h := hubtest.New(t, func(s *server.Server) { s.Patience = patience })
	m := h.Machine(t, "lab1")
	head, size := large(t)
	first := stall(t, m, http.MethodPost, api.PathShip, size, head)
	_, err := m.Ship(t.Context(), api.Ship{}, nil)
	must.Equal(t, hubtest.Status(err), http.StatusServiceUnavailable, "another request at the same time", err)
	must.Get(h.Machine(t, "lab2").Ship(t.Context(), api.Ship{}, nil))(t, "another machine")
	must.Do(t, first.Close())
	for { // until the hub has noticed
		_, err := m.Ship(t.Context(), api.Ship{}, nil)
		if err == nil {
			break
		}
		must.Need(t, hubtest.Status(err) == http.StatusServiceUnavailable, err)
	}
}

// TestStalledBodies: a connection whose sender stalls is cut off, whatever was asked for, and by
// whom. Meanwhile the hub takes the shipment of another machine: a machine that has a request that
// stalls is refused, see TestOneRequestOfAMachine.
func TestStalledBodies(t *testing.T) {
	h := hubtest.New(t, func(s *server.Server) { s.Patience = 50 * time.Millisecond })
	clients := []*api.Client{{URL: h.URL}, h.Machine(t, "lab1"), h.Client(t, "boss", access.Admin)}
	other := h.Machine(t, "lab2")
	var all sync.WaitGroup
	for _, route := range h.Routes() {
		method, path, _ := strings.Cut(route.Pattern, " ")
		path = strings.NewReplacer("{$}", "", "{", "", "}", "").Replace(path)
		if path == "/live" {
			continue // its answer does not end
		}
		for _, c := range clients {
			for _, at := range []string{path, "/none"} {
				connection := stall(t, c, method, at, 1000, "")
				all.Go(func() {
					_, err := io.Copy(io.Discard, connection)
					must.Be(t, err == nil || reset(err), method, at, err)
				})
			}
		}
	}
	head, size := large(t)
	slow := stall(t, other, http.MethodPost, api.PathShip, size, head)
	_, _ = io.Copy(io.Discard, slow) // ends, too
	all.Wait()                       // the end of each connection: without it, the test does not end
}

// reset reports whether a connection was ended by the other side.
func reset(err error) bool { return strings.Contains(err.Error(), "connection reset") }

// pipes is a listener for connections in memory, without a buffer between the two sides.
type pipes struct {
	net.Listener
	made chan net.Conn
}

// Accept implements net.Listener.
func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p.made
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

// watched is a connection that tells its end.
type watched struct {
	net.Conn
	once  sync.Once
	ended chan struct{}
}

// Close implements net.Conn.
func (w *watched) Close() error {
	w.once.Do(func() { close(w.ended) })
	return w.Conn.Close()
}

// TestSlowReader: a connection whose reader stalls is cut off.
func TestSlowReader(t *testing.T) {
	h := hubtest.New(t, func(s *server.Server) { s.Patience = 50 * time.Millisecond })
	real := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	listener := pipes{real, make(chan net.Conn)}
	web := &httptest.Server{Listener: listener, Config: &http.Server{Handler: h.Handler()}}
	web.Start()
	defer web.Close()
	defer close(listener.made)
	near, far := net.Pipe()
	at := &watched{Conn: far, ended: make(chan struct{})}
	listener.made <- at
	must.Get(io.WriteString(near, "GET /healthz HTTP/1.1\r\nHost: hub\r\n\r\n"))(t)
	<-at.ended // nothing was read
}

// TestStalledHooks: senders of messages to webhooks that stall, as many as there are places and
// more, keep no signed message from being taken.
func TestStalledHooks(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	must.Do(t, os.WriteFile(secret, []byte("x"), 0o600))
	h := hubtest.New(t, func(s *server.Server) {
		s.Patience = patience
		s.Watch = &watch.Watcher{DB: s.DB, Schedules: []watch.Schedule{
			{Name: "trunk", Answer: watch.Answer{Forge: "github", Secret: secret}}}}
	})
	for range 40 {
		stall(t, &api.Client{URL: h.URL}, http.MethodPost, "/hooks/trunk", 1000, "{")
	}
	sum := hmac.New(sha256.New, []byte("x"))
	_, _ = sum.Write([]byte("{}"))
	r := must.Get(http.NewRequest(http.MethodPost, h.URL+"/hooks/trunk", strings.NewReader("{}")))(t)
	r.Header.Set("X-Hub-Signature-256", fmt.Sprintf("sha256=%x", sum.Sum(nil)))
	answer := must.Get(http.DefaultClient.Do(r))(t)
	must.Equal(t, answer.StatusCode, http.StatusOK, answer.Status)
	must.Do(t, answer.Body.Close())
}

// TestSlowForm: who sends a form slowly does not keep others from writing.
func TestSlowForm(t *testing.T) { hubtest.OnEach(t, testSlowForm) }

func testSlowForm(t *testing.T, h *hubtest.Hub) {
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
func TestSameConfigurationAgain(t *testing.T) { hubtest.OnEach(t, testSameConfigurationAgain) }

func testSameConfigurationAgain(t *testing.T, h *hubtest.Hub) {
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
func TestNamesLikeIDs(t *testing.T) { hubtest.OnEach(t, testNamesLikeIDs) }

func testNamesLikeIDs(t *testing.T, h *hubtest.Hub) {
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
