package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"krund/internal/hub/api"
	"krund/rig/must"
)

// flaky is a proxy before a hub. The first requests for each path are answered by fail.
func flaky(t *testing.T, h *aHub, times int, fail func(http.ResponseWriter, *http.Request)) *aHub {
	t.Helper()
	to := must.Get(url.Parse(h.url))(t)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	var mu sync.Mutex
	seen := map[string]int{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.URL.Path]++
		failing := seen[r.URL.Path] <= times
		mu.Unlock()
		if failing {
			fail(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return &aHub{url: web.URL, users: h.users, machines: h.machines}
}

// unavailable is the answer of a hub whose database is away.
func unavailable(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = io.WriteString(w, `{"error": "the hub could not do this"}`)
}

// cut ends the connection.
func cut(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// TestSubmitTriesAgain: a hub that cannot answer for a moment does not make a job fail: what is
// submitted arrives, once and whole.
func TestSubmitTriesAgain(t *testing.T) {
	real := newHub(t)
	for name, fail := range map[string]func(http.ResponseWriter, *http.Request){
		"unavailable": unavailable, "cut": cut} {
		h := flaky(t, real, 2, fail)
		a := h.app(t, "ann")
		var stdout, stderr bytes.Buffer
		a.stdout, a.stderr = &stdout, &stderr
		err := a.submit(t.Context(), repository(t), submitOptions{to: "lab1", machines: 1},
			&leaps{now: time.Now()})
		if err != nil || strings.Count(stderr.String(), "trying again") != 4 {
			t.Errorf("%s: %v\n%s", name, err, stderr.String())
			continue
		}
		c := &api.Client{URL: real.url, Token: real.users["ann"]}
		must.Get(c.Experiment(t.Context(), strings.TrimSpace(stdout.String())))(t, name)
	}
	refused := flaky(t, real, 1000, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
	})
	r := refused.krunctl(t, "ann", "hub", "submit", repository(t), "--to", "lab1")
	must.Be(t, r.code == exitError && !strings.Contains(r.stderr, "again"), r.text())
}

// TestFetchTriesAgain: a part whose bundle did not arrive, or not whole, is not reported as failed,
// and begun when the hub answers again.
func TestFetchTriesAgain(t *testing.T) {
	real := newHub(t)
	half := func(w http.ResponseWriter, r *http.Request) { // as if it were whole
		answer, err := (&api.Client{URL: real.url, Token: strings.TrimPrefix(r.Header.Get("Authorization"),
			"Bearer ")}).Blob(r.Context(), strings.TrimPrefix(r.URL.Path, api.PathBlob))
		if err != nil {
			t.Error(err)
			return
		}
		defer answer.Close() // it was only read
		_, err = io.CopyN(w, answer, 100)
		must.Be(t, err == nil, err)
	}
	for name, fail := range map[string]func(http.ResponseWriter, *http.Request){
		"unavailable": unavailable, "half": half, "cut": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			cut(w, r)
		}} {
		trace := fakeKrund(t, "")
		id := strings.TrimSpace(real.krunctl(t, "ann", "hub", "submit", repository(t), "--to", "lab1").stdout)
		h := flaky(t, real, 1, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, api.PathBlob) {
				fail(w, r)
				return
			}
			r.RequestURI, r.URL.Scheme, r.URL.Host = "", "http", strings.TrimPrefix(real.url, "http://")
			answer, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Error(err)
				return
			}
			defer answer.Body.Close() // it was only read
			w.WriteHeader(answer.StatusCode)
			_, _ = io.Copy(w, answer.Body)
		})
		a := h.machineOf(t, "lab1")
		runApp(a, "hub", "ship").says(t, exitError, "", "tries again", name)
		runApp(a, "hub", "ship").says(t, exitOK, "", "", name, "then")
		state, err := (&api.Client{URL: real.url, Token: real.users["ann"]}).Experiment(t.Context(), id)
		must.Be(t, err == nil && len(state.Shares) == 1 && state.Shares[0].State == "running", name, state,
			err)
		text := source(t, trace)
		must.Equal(t, strings.Count(text, "run "), 1, name, "krund was called", text)
		real.end(t, "lab1", id)
	}
}

// end reports that a machine has ended its part.
func (h *aHub) end(t *testing.T, machine, id string) {
	t.Helper()
	x := &api.ShippedExperiment{ID: id, Name: "x", ConfigHash: strings.Repeat("a", 64),
		Progress: api.Progress{Slots: 1, Completed: 1, Ended: true}}
	must.Get(h.machines[machine].Ship(t.Context(), api.Ship{Experiment: x}, nil))(t)
}
