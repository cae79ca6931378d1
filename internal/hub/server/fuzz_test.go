package server_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/hubtest"
	"krund/rig/must"
)

// FuzzRequests sends any body to any path, as everyone: the hub answers, and does not fail.
func FuzzRequests(f *testing.F) { fuzzRequests(f, dbtest.SQLite(f)) }

// FuzzRequestsPostgres does the same with PostgreSQL, which refuses texts that SQLite stores.
func FuzzRequestsPostgres(f *testing.F) { fuzzRequests(f, dbtest.Postgres(f)) }

func fuzzRequests(f *testing.F, at string) {
	h := hubtest.On(f, at)
	handler := h.Handler()
	tokens := []string{"", h.Machine(f, "lab1").Token, h.Client(f, "ada", access.User).Token,
		h.Client(f, "boss", access.Admin).Token, h.Client(f, "", access.Join).Token}
	var ship bytes.Buffer
	s := of("warmup", "first")
	must.Do(f, api.WriteShip(&ship, s.Ship, func(e api.Entry) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(s.contents[e.Hash])), nil
	}))
	f.Add(uint8(1), "POST", "/api/v1/ship", ship.Bytes())
	f.Add(uint8(1), "POST", "/api/v1/ship", []byte(`{"status":{"facts":{"a":[{}]},"warnings":["<b>"]}}`+"\n"))
	f.Add(uint8(4), "POST", "/api/v1/join", []byte(`{"name":"lab2"}`))
	f.Add(uint8(1), "GET", "/api/v1/records?experiment=x&after=-1", []byte{})
	f.Add(uint8(1), "GET", "/api/v1/blobs/"+strings.Repeat("a", 64), []byte{})
	f.Add(uint8(1), "POST", "/api/v1/ship", []byte(`{"status":{"boot_id":"\u0000"}}`+"\n"))
	hostile := []byte("label=%00&owner=%ff&role=reader&priority=%00&token=%00&name=%00")
	for _, route := range h.Routes() {
		method, path, _ := strings.Cut(route.Pattern, " ")
		f.Add(uint8(3), method, strings.NewReplacer("{$}", "", "{", "", "}", "").Replace(path), []byte("{}"))
		parts := regexp.MustCompile(`\{[^$}]*\}`)
		for _, text := range []string{"%00", "%ff", "x"} {
			path := strings.ReplaceAll(parts.ReplaceAllString(path, text), "{$}", "")
			f.Add(uint8(3), method, path+"?name=%00&a=%ff&key=%00&after=1&experiment=%00", hostile)
			f.Add(uint8(3), method, path, hostile)
		}
	}
	f.Fuzz(func(t *testing.T, who uint8, method, path string, body []byte) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://hub/", bytes.NewReader(body))
		if err != nil {
			return
		}
		if r.URL, err = r.URL.Parse(path); err != nil || !strings.HasPrefix(r.URL.Path, "/") {
			return
		}
		if strings.HasSuffix(r.URL.Path, "/live") {
			return // a stream of events does not end
		}
		r.RemoteAddr = "192.0.2.1:1"
		if bytes.HasPrefix(body, []byte("label=")) {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		if token := tokens[int(who)%len(tokens)]; token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		must.Be(t, answer.Code != http.StatusInternalServerError, method, path, "as", who%5, answer.Code,
			answer.Body)
	})
}
