package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/hubtest"
	"krund/internal/hub/server"
	"krund/internal/hub/store"
	"krund/rig/must"
)

// shipment is a message and its contents.
type shipment struct {
	api.Ship
	contents map[string][]byte
}

// of returns a shipment of an experiment that the machine began by itself, with these records.
func of(name string, contents ...string) shipment {
	s := shipment{api.Ship{Experiment: &api.ShippedExperiment{Name: name, ConfigHash: strings.Repeat("a", 64),
		Created: "2026-11-21T09:00:00Z", Seed: 1}}, map[string][]byte{}}
	for i, text := range contents {
		hash := store.Hash([]byte(text))
		s.contents[hash] = []byte(text)
		s.Entries = append(s.Entries, api.Entry{Slot: i, Attempt: 1, Hash: hash, Size: int64(len(text))})
	}
	return s
}

func (s shipment) send(ctx context.Context, c *api.Client) (api.Receipt, error) {
	return c.Ship(ctx, s.Ship, func(e api.Entry) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(s.contents[e.Hash])), nil
	})
}

func TestShip(t *testing.T) { dbtest.OnEach(t, testShip) }

func testShip(t *testing.T, at string) {
	h := hubtest.On(t, at)
	m := h.Machine(t, "lab1")
	s := of("warmup", "first", "second")
	receipt, err := s.send(t.Context(), m)
	must.Need(t, err == nil && receipt.New == 2 && receipt.Experiment != "", "first shipment", receipt, err,
		"want 2 new records")
	again, err := s.send(t.Context(), m)
	must.Need(t, err == nil && again.New == 0 && again.Experiment == receipt.Experiment, "the same again",
		again, err, "want nothing new in the same experiment")
	have, err := m.Have(t.Context(), receipt.Experiment, 0)
	must.Be(t, err == nil && len(have) == 2 && have[1].Hash == s.Entries[1].Hash, "the hub", have, err)
	content := must.Get(h.Store.Get(t.Context(), s.Entries[0].Hash))(t)
	text, err := io.ReadAll(content)
	must.Be(t, err == nil && string(text) == "first", "the store", text, err)
	_ = content.Close()
}

func TestShipRefused(t *testing.T) { dbtest.OnEach(t, testShipRefused) }

func testShipRefused(t *testing.T, at string) {
	h := hubtest.On(t, at)
	m := h.Machine(t, "lab1")
	first := of("warmup", "first")
	must.Get(first.send(t.Context(), m))(t)
	damaged := of("warmup", "first")
	damaged.contents[damaged.Entries[0].Hash] = []byte("fir$t")
	elsewhere := of("../../etc/passwd", "first")
	foreign := of("warmup", "first")
	foreign.Experiment.ID = "0123456789abcdef"
	for name, test := range map[string]struct {
		shipment
		status int
	}{
		"another record for the same attempt": {of("warmup", "other"), 409},
		"contents with another hash":          {damaged, 400},
		"a name that is a path":               {elsewhere, 400},
		"an experiment of others":             {foreign, 404},
	} {
		_, err := test.send(t.Context(), m)
		var answer *api.Error
		must.Be(t, errors.As(err, &answer) && answer.Status == test.status, name, err, "want status",
			test.status)
	}
}

// TestRoles tries every route with every role; without a token there is none, unless the hub
// permits everyone to read.
func TestRoles(t *testing.T) {
	testRoles(t, server.Anyone, hubtest.New(t))
	testRoles(t, access.Anonymous, hubtest.New(t, func(s *server.Server) { s.Login.Anonymous = true }))
}

func testRoles(t *testing.T, without access.Role, h *hubtest.Hub) {
	clients := map[access.Role]*api.Client{without: {URL: h.URL}, access.Machine: h.Machine(t, "lab1")}
	for _, role := range []access.Role{access.Admin, access.User, access.Reader, access.Join} {
		clients[role] = h.Client(t, "test-"+string(role), role)
	}
	for _, route := range h.Routes() {
		method, path, _ := strings.Cut(route.Pattern, " ")
		path = strings.NewReplacer("{$}", "", "{", "", "}", "").Replace(path)
		for role, client := range clients {
			err := client.Do(t.Context(), method, path, strings.NewReader(""), nil)
			var answer *api.Error
			refused := errors.As(err, &answer) && (answer.Status == 401 || answer.Status == 403)
			want := route.Role != server.Anyone && !role.Includes(route.Role) ||
				strings.HasPrefix(route.Pattern, "POST /hooks/") // it has a signature instead
			must.Equal(t, refused, want, route.Pattern, "as", role, "refused", err)
		}
	}
}

// TestUnserved: a method or an address that the hub does not have is answered in JSON, as every
// error of the API.
func TestUnserved(t *testing.T) {
	h := hubtest.New(t)
	for _, test := range []struct {
		method, path string
		status       int
		text, allow  string
	}{
		{"PATCH", api.PathExperiments, 405, `"PATCH" is not for this address; use GET, HEAD, POST`,
			"GET, HEAD, POST"},
		{"GET", "/api/v1/nothing", 404, "the hub has no such address; see the pages at /", ""},
	} {
		r, err := http.NewRequestWithContext(t.Context(), test.method, h.URL+test.path, nil)
		must.Do(t, err)
		answer := must.Get(http.DefaultClient.Do(r))(t)
		var document struct {
			Error string `json:"error"`
		}
		err = json.NewDecoder(answer.Body).Decode(&document)
		_ = answer.Body.Close()
		must.Be(t, err == nil && answer.StatusCode == test.status && document.Error == test.text &&
			answer.Header.Get("Allow") == test.allow &&
			answer.Header.Get("Content-Type") == "application/json", test.method, test.path, answer.Status,
			answer.Header, document, err)
	}
}
