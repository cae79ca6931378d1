package server_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/hub/api"
	"krund/internal/hub/hubtest"
	"krund/internal/hub/server"
	"krund/internal/hub/watch"
	"krund/rig/must"
)

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
