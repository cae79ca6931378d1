package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"krund/internal/experiment/results"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/ship"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// make hub-load sets these.
var (
	loadMachines = flag.Int("load-machines", 0, "machines of TestLoad; 0: it is skipped")
	loadRecords  = flag.Int("load-records", 200, "of each machine")
	loadPostgres = flag.Bool("load-postgres", false, "instead of the embedded database")
	loadBytes    = flag.Int("load-bytes", 40<<10, "of a record: as large as one of 2,000 iterations")
)

// TestLoad measures how many records a hub accepts from many machines at once, what it needs for
// that, and how fast its pages are afterwards.
func TestLoad(t *testing.T) {
	if *loadMachines == 0 {
		t.Skip("run make hub-load")
	}
	l := &lab{t: t, data: t.TempDir(), up: make(chan struct{}), kill: make(chan struct{})}
	if *loadPostgres {
		l.database = dbtest.Postgres(t)
	}
	l.start()
	defer func() { _ = l.hub.Process.Kill(); _ = l.hub.Wait() }()
	parent := t.TempDir()
	var made []ship.Shipper
	for i := range *loadMachines {
		made = append(made, l.prepare(fmt.Sprintf("lab%02d", i), parent))
	}
	began := time.Now()
	ended := make(chan struct{})
	go l.watch(ended)
	var all sync.WaitGroup
	for _, x := range made {
		all.Go(func() {
			_, err := x.Ship(t.Context())
			must.Be(t, err == nil, err)
		})
	}
	all.Wait()
	took := time.Since(began)
	close(ended)
	n := *loadMachines * *loadRecords
	t.Logf("%d records of %d bytes from %d machines in %.1f s: %.0f records/s, %.1f MB/s", n, *loadBytes,
		*loadMachines, took.Seconds(), float64(n)/took.Seconds(), float64(n**loadBytes)/1e6/took.Seconds())
	l.memory()
	for _, path := range []string{"/", "/machines", "/experiments", "/queue", "/metrics"} {
		l.time(path)
	}
}

// watch logs the memory of the hub while it receives.
func (l *lab) watch(ended <-chan struct{}) {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			l.memory()
		case <-ended:
			return
		}
	}
}

// memory logs the memory of the hub: now, and the most until now.
func (l *lab) memory() {
	status := must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/status", l.hub.Process.Pid)))(l.t)
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmRSS") || strings.HasPrefix(line, "VmHWM") {
			l.t.Logf("the hub's memory: %s", strings.TrimSpace(line))
		}
	}
}

// prepare joins a machine and makes its records.
func (l *lab) prepare(name, parent string) ship.Shipper {
	admin := &api.Client{URL: "http://" + l.address, Token: l.token}
	joined := must.Get(admin.Join(l.t.Context(), api.JoinRequest{Name: name}))(l.t)
	d := must.Get(planned(parent, name, *loadRecords))(l.t)
	random := rand.NewChaCha8([32]byte([]byte(fmt.Sprintf("%-32s", name))))
	text := make([]byte, *loadBytes)
	for slot := range *loadRecords {
		_, _ = random.Read(text) // never fails
		file := filepath.Join(d.Results(), results.Name{Slot: slot, Attempt: 1}.String())
		must.Do(l.t, os.WriteFile(file, text, 0o644))
	}
	return ship.Shipper{Directory: d, Name: "load",
		Client: &api.Client{URL: admin.URL, Token: joined.Token}}
}

// time logs the median time of a page.
func (l *lab) time(path string) {
	const times = 9
	var list []time.Duration
	for range times {
		r, err := http.NewRequestWithContext(l.t.Context(), http.MethodGet, "http://"+l.address+path, nil)
		must.Need(l.t, err == nil, err)
		r.Header.Set("Authorization", "Bearer "+l.token)
		began := time.Now()
		answer := must.Get(http.DefaultClient.Do(r))(l.t)
		_, err = io.Copy(io.Discard, answer.Body)
		list = append(list, time.Since(began))
		_ = answer.Body.Close()
		must.Be(l.t, err == nil && answer.StatusCode < http.StatusInternalServerError, path,
			answer.StatusCode, err)
	}
	slices.Sort(list)
	l.t.Logf("%s: %.1f ms (median of %d)", path, list[times/2].Seconds()*1e3, times)
}

// TestMillion measures queries over a million records.
func TestMillion(t *testing.T) {
	if *loadMachines == 0 {
		t.Skip("run make hub-load")
	}
	const experiments, each = 1000, 1000
	db := must.Get(
		database.Open(t.Context(), filepath.Join(t.TempDir(), "hub.sqlite"), sysroot.RealClock{}.Now))(t)
	defer db.Close()
	for _, statement := range []string{
		`INSERT INTO machines (id, name, joined) VALUES ('m', 'lab', 1)`,
		`INSERT INTO blobs (hash, size, created) VALUES ('h', 1, 1)`,
		`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
			INSERT INTO experiments (id, name, state, created, updated)
			SELECT 'e' || i, 'nightly', 'done', i, i FROM n`,
		`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
			INSERT INTO records (experiment, machine, slot, attempt, blob, received)
			SELECT 'e' || x.i, 'm', r.i, 1, 'h', 1 FROM n x, n r`,
	} {
		must.Get(db.Write.ExecContext(t.Context(), statement))(t)
	}
	for name, query := range map[string]func(context.Context) error{
		"newest 100 experiments": func(ctx context.Context) error {
			_, err := db.Experiments(ctx, 100)
			return err
		},
		"count of one experiment": func(ctx context.Context) error {
			version, err := db.ContentVersion(ctx, "e500")
			must.Be(t, strings.HasPrefix(version, fmt.Sprint(each)), "version", version)
			return err
		},
		"records of one experiment": func(ctx context.Context) error {
			_, err := db.Records(ctx, "e500", "m", 0, each)
			return err
		},
		"counts for /metrics": func(ctx context.Context) error { _, err := db.Counts(ctx); return err },
	} {
		began := time.Now()
		must.Do(t, query(t.Context()))
		t.Logf("%d records: %s: %.1f ms", experiments*each, name, time.Since(began).Seconds()*1e3)
	}
}
