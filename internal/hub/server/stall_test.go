package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/hubtest"
	"krund/internal/hub/server"
	"krund/internal/hub/store"
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
	var answer *api.Error
	_, err := m.Ship(t.Context(), api.Ship{}, nil)
	must.Be(t, errors.As(err, &answer) && answer.Status == http.StatusServiceUnavailable && !answer.Refused(),
		"another request at the same time", err)
	must.Get(h.Machine(t, "lab2").Ship(t.Context(), api.Ship{}, nil))(t, "another machine")
	must.Do(t, first.Close())
	for { // until the hub has noticed
		_, err := m.Ship(t.Context(), api.Ship{}, nil)
		if err == nil {
			break
		}
		must.Need(t, errors.As(err, &answer) && answer.Status == http.StatusServiceUnavailable, err)
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
