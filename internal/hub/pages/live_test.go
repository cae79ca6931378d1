package pages

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"krund/internal/hub/access"
	"krund/internal/hub/database/dbtest"
	"krund/rig/must"
)

// steps is a clock that the test sets: each sleep ends with the next step.
type steps struct {
	mu   sync.Mutex
	now  time.Time
	next chan time.Duration
}

func (s *steps) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *steps) Sleep(ctx context.Context, _ time.Duration) error {
	select {
	case d := <-s.next:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.now = s.now.Add(d)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// listen opens a stream of events as an identity.
func (h *testHub) listen(who access.Identity) *http.Response {
	h.t.Helper()
	h.who = who
	r := must.Get(http.NewRequestWithContext(h.t.Context(), http.MethodGet, h.web.URL+"/live", nil))(h.t)
	response := must.Get(http.DefaultTransport.RoundTrip(r))(h.t)
	h.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// reader is an identity with a token of its own.
func (h *testHub) reader() access.Identity {
	h.t.Helper()
	return must.Get(h.db.Who(h.t.Context(), h.token(access.Reader, "anna")))(h.t)
}

// TestEventsEnd: the events of a token that was revoked end within half a minute, those of others
// go on.
func TestEventsEnd(t *testing.T) { onEach(t, testEventsEnd) }

func testEventsEnd(t *testing.T, h *testHub) {
	clock := &steps{now: now, next: make(chan time.Duration)}
	h.live.clock = clock
	ends, stays := h.reader(), h.reader()
	ended, other := h.listen(ends), h.listen(stays)
	open := func() int {
		h.live.mu.Lock()
		defer h.live.mu.Unlock()
		return len(h.live.pages)
	}
	step := func(d time.Duration) { clock.next <- d } // received when the loop has looked
	step(time.Second)
	step(25 * time.Second)
	h.update(func(tx *sql.Tx) error { return h.db.RevokeToken(t.Context(), tx, ends.Token, false, ends) })
	step(time.Second)
	must.Equal(t, open(), 2, "streams are open after a second")
	step(30 * time.Second)
	if _, err := io.Copy(io.Discard, ended.Body); err != nil { // without an end, so is the test
		t.Errorf("the stream of the revoked token: %v", err)
	}
	step(time.Second)
	must.Equal(t, open(), 1, "streams are open, want that of the other token")
	response := h.listen(stays)
	must.Be(t, response.StatusCode == http.StatusOK && other.StatusCode == http.StatusOK, response.Status,
		other.Status)
}

// TestEventsOfOneToken: one token and its sessions do not take the places of all.
func TestEventsOfOneToken(t *testing.T) {
	h := newTestHub(t, dbtest.SQLite(t), fakeKrunctl)
	who, other := h.reader(), h.reader()
	for i := range mostOfToken {
		session := who
		session.Token = fmt.Sprint("session ", i) // its root is the token
		response := h.listen(session)
		must.Need(t, response.StatusCode == http.StatusOK, "stream", i, response.Status)
	}
	response := h.listen(who)
	must.Equal(t, response.StatusCode, http.StatusTooManyRequests, "one more", response.Status)
	for name, who := range map[string]access.Identity{"another token": other, "a proxy": boss} {
		response := h.listen(who)
		must.Equal(t, response.StatusCode, http.StatusOK, name, response.Status)
	}
}
