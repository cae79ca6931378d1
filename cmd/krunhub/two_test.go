package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/store"
	"krund/rig/must"
)

// TestTwoProcesses: two processes of the hub start at the same time on an empty PostgreSQL database
// and one store. Machines ship each record to both at once, while one after the other is killed and
// starts again. No record is lost or there twice, and every experiment ends.
func TestTwoProcesses(t *testing.T) {
	at := dbtest.Postgres(t)
	backend := s3mem.New()
	web := httptest.NewServer(gofakes3.New(backend).Server())
	defer web.Close()
	must.Do(t, backend.CreateBucket("lab"))
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
	blobs := "s3+http://" + strings.TrimPrefix(web.URL, "http://") + "/lab"
	var labs []*lab
	var starts sync.WaitGroup
	for i := range uint64(2) {
		l := &lab{t: t, data: t.TempDir(), token: "made below", database: at, store: blobs,
			up: make(chan struct{}), left: max(*kills/4, 1), rand: rand.New(rand.NewPCG(*seed, i)),
			kill: make(chan struct{})}
		labs = append(labs, l)
		starts.Go(l.start)
	}
	starts.Wait()
	token := tokenOf(t, at)
	done := make(chan struct{})
	var killers, ships sync.WaitGroup
	for _, l := range labs {
		l.token = token
		l.count.Store(1 + l.rand.Int64N(40))
		killers.Go(func() { l.killer(done) })
	}
	parent := t.TempDir()
	for i := range *machines {
		ships.Go(func() {
			must.Do(t, machine(t.Context(), fmt.Sprintf("lab%d", i), parent, labs...), "lab", i)
		})
	}
	ships.Wait()
	close(done)
	killers.Wait()
	killed := 0
	for _, l := range labs {
		killed += max(*kills/4, 1) - l.left
		_ = l.hub.Process.Kill()
		_ = l.hub.Wait()
	}
	must.Be(t, killed != 0, "no process was killed")
	total := labs[0].verify(at, func() (store.Store, error) {
		return store.OpenS3(t.Context(), blobs, t.TempDir())
	})
	t.Logf("%d kills, %d records of %d machines: 0 lost, 0 twice", killed, total, *machines)
}

func tokenOf(t *testing.T, at string) string {
	var token strings.Builder
	must.Do(t, adminToken(t.Context(), at, "admin", &token, io.Discard))
	return strings.TrimSpace(token.String())
}
