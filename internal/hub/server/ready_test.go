package server_test

import (
	"errors"
	"net/http"
	"syscall"
	"testing"
	"time"

	"krund/internal/durable/crashfs"
	"krund/internal/hub/api"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/hubtest"
	"krund/internal/hub/server"
	"krund/internal/hub/store"
	"krund/rig/must"
)

// TestReady: a hub that cannot write is not ready, whatever can be read. It tries at most every ten
// seconds, however many ask.
func TestReady(t *testing.T) {
	disk := crashfs.New("/hub")
	blobs := must.Get(store.OpenDirectory(disk, "/hub/blobs"))(t)
	now := hubtest.Now
	h := hubtest.At(t, dbtest.SQLite(t), func() time.Time { return now },
		func(s *server.Server) { s.Store = blobs })
	ready := func() int {
		t.Helper()
		err := (&api.Client{URL: h.URL}).Do(t.Context(), http.MethodGet, "/readyz", nil, nil)
		var answer *api.Error
		if errors.As(err, &answer) {
			return answer.Status
		}
		must.Do(t, err)
		return http.StatusOK
	}
	expect := func(what string, want int) {
		t.Helper()
		must.Equal(t, ready(), want, what)
	}
	expect("all is well", http.StatusOK)
	left, _ := disk.ReadDir("/hub/blobs")
	must.Equal(t, len(left), 256, "names are left in the store")
	disk.Inject(crashfs.Fault{Err: syscall.ENOSPC, Permanent: true})
	expect("the disk is full, and was tried just before", http.StatusOK)
	now = now.Add(10 * time.Second)
	expect("the disk is full", http.StatusServiceUnavailable)
	disk.Heal()
	now = now.Add(10 * time.Second)
	expect("there is space again", http.StatusOK)
	must.Get(h.DB.Write.ExecContext(t.Context(), `PRAGMA query_only = 1`))(t)
	now = now.Add(10 * time.Second)
	expect("the database can be read only", http.StatusServiceUnavailable)
}
