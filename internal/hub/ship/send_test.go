package ship_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"krund/internal/durable"
	"krund/internal/hub/api"
	"krund/internal/hub/ship"
	"krund/rig/must"
)

// still is a clock on which a wait takes no time, and ends what waits.
type still struct{ now time.Time }

func (c *still) Now() time.Time { return c.now }

func (c *still) Sleep(context.Context, time.Duration) error { return context.DeadlineExceeded }

// limited tells the hub which requests have a limit of half a second.
type limited struct{}

func (limited) RoundTrip(r *http.Request) (*http.Response, error) {
	if end, ok := r.Context().Deadline(); ok && time.Until(end) <= time.Second/2 {
		r.Header.Set("Limited", "yes")
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestSendToSilentHub: after a shipment in vain the next ones only ask whether the hub is there,
// which has half a second to answer; one in half an hour, and the last one, have all their time.
func TestSendToSilentHub(t *testing.T) {
	answers := false
	var asked []string // what reached the hub
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		must.Be(t, err == nil, err)
		what := "is it there"
		if bytes.Contains(text, []byte("config_hash")) {
			what = "all"
		}
		must.Equal(t, r.Header.Get("Limited") != "", (what == "is it there"), what, "limited")
		asked = append(asked, what)
		if !answers {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		must.Do(t, json.NewEncoder(w).Encode(api.Receipt{Experiment: "id"}))
	}))
	defer hub.Close()
	d := begin(t, durable.OS(), t.TempDir())
	clock := &still{time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
	client := &api.Client{URL: hub.URL, Token: "x", HTTP: &http.Client{Transport: limited{}}}
	x := ship.Shipper{Directory: d, Client: client, Name: "warmup"}
	for i, step := range []struct {
		later   time.Duration
		answers bool
		patient bool
		want    string
	}{
		{0, false, false, "all"},
		{time.Minute, false, false, "is it there"},
		{20 * time.Minute, false, false, "is it there"},
		{0, false, true, "all"}, // the last one
		{29 * time.Minute, false, false, "is it there"},
		{time.Minute, false, false, "all"},
		{-time.Hour, false, false, "all"}, // another clock
		{time.Minute, true, false, "is it there, all"},
		{0, true, false, "all"},
		{0, false, false, "all"},
		{0, false, false, "is it there"},
	} {
		clock.now, answers, asked = clock.now.Add(step.later), step.answers, nil
		_, err := x.Send(t.Context(), clock, step.patient)
		if got := strings.Join(asked, ", "); got != step.want || (err == nil) != step.answers {
			t.Errorf("%d: the hub was asked: %s, %v; want %s", i, got, err, step.want)
		}
	}
}
