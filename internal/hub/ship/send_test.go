package ship_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"krund/internal/durable"
	"krund/internal/hub/api"
	"krund/internal/hub/ship"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(text string) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(text))}
}

// TestSendBriefly: each of five executions, the first and the last one as well, waits less than a
// second for a hub that takes what it is sent and does not answer, and longer only for the network.
// When the hub is back, a brief shipment sends it everything.
func TestSendBriefly(t *testing.T) {
	d := begin(t, durable.OS(), t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		silent := roundTrip(func(r *http.Request) (*http.Response, error) {
			_, err := io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			return nil, errors.Join(err, r.Context().Err())
		})
		x := ship.Shipper{Directory: d, Name: "warmup",
			Client: &api.Client{URL: "http://hub", HTTP: &http.Client{Transport: silent}}}
		send := func(wait, least, most time.Duration) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			began := time.Now()
			comes := began.Add(wait)
			x.Brief, x.Online = true, func() bool { return !time.Now().Before(comes) }
			_, err := x.Send(ctx, sysroot.RealClock{})
			cost := time.Since(began)
			must.Be(t, err != nil && cost >= least && cost < most, "cost", cost, err)
		}
		for slot := range 5 {
			record(t, d, slot, 1)
			send(0, time.Second/2, time.Second)
		}
		send(3*time.Second, 3*time.Second, 6*time.Second)
		send(time.Hour, 30*time.Second, 31*time.Second)
		x.Online, x.Client.HTTP.Transport = nil, roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet { // what the hub has
				return answer("[]"), nil
			}
			_, err := io.Copy(io.Discard, r.Body)
			return answer(`{"experiment":"id"}`), err
		})
		must.Equal(t, must.Get(x.Send(t.Context(), sysroot.RealClock{}))(t).Sent, 5, "records")
	})
}
