package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"krund/internal/durable"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/ship"
	"krund/internal/hub/store"
	"krund/internal/machine/sysroot"
	"krund/internal/schedule"
	"krund/rig/must"
)

// make hub-kill raises these.
var (
	kills    = flag.Int("kills", 8, "how often the hub is killed")
	machines = flag.Int("machines", 3, "that ship at the same time")
	records  = flag.Int("records", 20, "of each machine")
	commits  = flag.Int("commits", 3, "that the hub measures by itself")
	seed     = flag.Uint64("seed", 1, "of the moments")
)

// TestMain is also the hub that TestKill kills.
func TestMain(m *testing.M) {
	if data := os.Getenv("KRUNHUB_TEST_DATA"); data != "" {
		os.Exit(run(context.Background(), []string{"serve", "--data", data, "--listen",
			os.Getenv("KRUNHUB_TEST_LISTEN"), "--database", os.Getenv("KRUNHUB_TEST_DATABASE"),
			"--store", os.Getenv("KRUNHUB_TEST_STORE")}, os.Stdout, io.Discard))
	}
	os.Exit(m.Run())
}

// lab is a hub in a process of its own, and the countdown to its next end.
type lab struct {
	t       *testing.T
	data    string
	address string // that it listens on: another one after each start
	token   string // of the admin

	database string // its location; "": embedded
	store    string // s3+http://...; "": files

	mu    sync.Mutex
	hub   *exec.Cmd
	up    chan struct{} // closed while the hub runs
	left  int           // kills
	count atomic.Int64  // events until the next kill
	rand  *rand.Rand
	kill  chan struct{}
}

// start starts the hub and waits until it listens.
func (l *lab) start() {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "KRUNHUB_TEST_DATA="+l.data, "KRUNHUB_TEST_LISTEN=127.0.0.1:0",
		"KRUNHUB_TEST_DATABASE="+l.database, "KRUNHUB_TEST_STORE="+l.store)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		l.t.Error(err)
		return
	}
	var address string
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, found, ok := strings.Cut(lines.Text(), "http://"); ok {
			address = found
			if l.token != "" {
				break
			}
		}
		if text := strings.TrimSpace(lines.Text()); strings.HasPrefix(text, "krun_") {
			l.token = text
			break
		}
	}
	l.mu.Lock()
	l.hub, l.address = c, address
	close(l.up)
	l.mu.Unlock()
}

// killer kills the hub whenever the countdown ends, and starts it again.
func (l *lab) killer(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-l.kill:
		}
		l.mu.Lock()
		l.up = make(chan struct{})
		hub := l.hub
		l.mu.Unlock()
		_ = hub.Process.Kill()
		_ = hub.Wait()
		l.left--
		l.start()
		if l.left > 0 {
			l.count.Store(1 + l.rand.Int64N(40))
		}
	}
}

// event counts down to the next kill. Events are the parts of a request's body that are read, and
// the answers, so that the hub is killed anywhere in a shipment.
func (l *lab) event() {
	if l.count.Add(-1) == 0 {
		l.kill <- struct{}{}
	}
}

// Now and Sleep make a lab the clock of its machines: instead of waiting for a time, they wait for
// the hub.
func (l *lab) Now() time.Time { return time.Unix(0, 0) } // wrong, as clocks may be

func (l *lab) Sleep(ctx context.Context, _ time.Duration) error {
	l.mu.Lock()
	up := l.up
	l.mu.Unlock()
	select {
	case <-up:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// RoundTrip sends a request to where the hub listens now, and counts its parts. Another program may
// have got the port of a hub that was killed.
func (l *lab) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	l.mu.Lock()
	r.URL.Host = l.address
	l.mu.Unlock()
	if r.Body != nil {
		r.Body = &counted{r.Body, l}
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	l.event()
	return answer, err
}

type counted struct {
	io.ReadCloser
	lab *lab
}

func (c *counted) Read(p []byte) (int, error) {
	c.lab.event()
	return c.ReadCloser.Read(p)
}

// client returns a client of the hub whose requests count.
func (l *lab) client(token string) *api.Client {
	return &api.Client{URL: "http://hub", Token: token, HTTP: &http.Client{Transport: l}}
}

// machine measures: each record is shipped before the next one is made, to all labs at once. They
// are processes of one hub.
func machine(ctx context.Context, name, parent string, labs ...*lab) error {
	l := labs[0]
	admin := l.client(l.token)
	var joined api.JoinAnswer
	err := ship.Try(ctx, l, func(ctx context.Context) (err error) {
		// An answer may be lost, and the machine has joined nevertheless.
		joined, err = admin.Join(ctx, api.JoinRequest{Name: name, Replace: true})
		return err
	})
	if err != nil {
		return err
	}
	d, err := planned(parent, name, *records)
	for slot := 0; slot < *records && err == nil; slot++ {
		file := filepath.Join(d.Results(), results.Name{Slot: slot, Attempt: 1}.String())
		if err := os.WriteFile(file, content(name, int64(slot)), 0o644); err != nil {
			return err
		}
		left := *records - slot - 1
		progress := api.Progress{Slots: *records, Completed: slot + 1, Left: left, Ended: left == 0}
		errs := make([]error, len(labs))
		var all sync.WaitGroup
		for i, l := range labs {
			x := ship.Shipper{Directory: d, Client: l.client(joined.Token), Name: "x", Progress: progress}
			all.Go(func() {
				errs[i] = ship.Try(ctx, l, func(ctx context.Context) error {
					_, err := x.Ship(ctx)
					return err
				})
			})
		}
		all.Wait()
		err = errors.Join(errs...)
	}
	return err
}

// content is the record of a slot: different for each, and up to 100 KB long.
func content(machine string, slot int64) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%s %d\n", machine, slot), 1+int(slot*977%9000))
}

// planned makes an experiment of n executions.
func planned(parent, name string, n int) (directory.Directory, error) {
	d, err := directory.Create(durable.OS(), filepath.Join(parent, name+".krun"))
	if err != nil {
		return d, err
	}
	header := schedule.Header{ConfigHash: strings.Repeat("c", 64), Created: "1970-01-01T00:00:07Z",
		Order: "round-robin", Seed: 1}
	slots := make([]schedule.Slot, n)
	for i := range slots {
		slots[i] = schedule.Slot{Index: i, Key: key.Key{Benchmark: "b", VM: "C", Variant: "v"}, Pexec: i + 1,
			Flag: schedule.Outstanding}
	}
	return d, schedule.Create(durable.OS(), d.Schedule(), header, n, slices.Values(slots))
}

// TestKill kills the hub at random while machines ship: no record is lost, none is there twice.
func TestKill(t *testing.T) {
	l := &lab{t: t, data: t.TempDir(), up: make(chan struct{}), left: *kills,
		rand: rand.New(rand.NewPCG(*seed, 0)), kill: make(chan struct{})}
	l.start()
	l.count.Store(1 + l.rand.Int64N(40))
	done := make(chan struct{})
	var killer, ships sync.WaitGroup
	killer.Go(func() { l.killer(done) })
	parent := t.TempDir()
	for i := range *machines {
		ships.Go(func() {
			must.Do(t, machine(t.Context(), fmt.Sprintf("lab%d", i), parent, l), "lab", i)
		})
	}
	ships.Wait()
	close(done)
	killer.Wait()
	_ = l.hub.Process.Kill()
	_ = l.hub.Wait()
	must.Be(t, *kills-l.left >= *kills/2, "the hub was killed", *kills-l.left, "times only")
	total := l.verify(filepath.Join(l.data, "hub.sqlite"), func() (store.Store, error) {
		return store.OpenDirectory(durable.OS(), filepath.Join(l.data, "blobs"))
	})
	t.Logf("%d kills, %d records of %d machines: 0 lost, 0 twice", *kills-l.left, total, *machines)
}

// verify looks for every record in the database and the store, and returns how many there are.
func (l *lab) verify(location string, open func() (store.Store, error)) (total int) {
	ctx := l.t.Context()
	db := must.Get(database.Open(ctx, location, sysroot.RealClock{}.Now))(l.t)
	defer db.Close()
	blobs := must.Get(open())(l.t)
	for i := range *machines {
		name := fmt.Sprintf("lab%d", i)
		m := must.Get(db.Machine(ctx, name))(l.t)
		shares, err := db.SharesOn(ctx, m.ID, 2)
		must.Need(l.t, err == nil && len(shares) == 1, name, len(shares), "experiments", err, "want 1")
		must.Equal(l.t, shares[0].State, database.Done, name, "the experiment")
		rows, err := db.Records(ctx, shares[0].Experiment, m.ID, 0, 1<<20)
		must.Be(l.t, err == nil && len(rows) == *records, name, len(rows), "records", err, *records)
		for _, r := range rows {
			blob, err := blobs.Get(ctx, r.Blob)
			if err != nil {
				l.t.Errorf("%s, slot %d: %v", name, r.Slot, err)
				continue
			}
			text, err := io.ReadAll(blob)
			must.Be(l.t, err == nil && bytes.Equal(text, content(name, r.Slot)), name, "slot", r.Slot,
				len(text), "bytes", err)
			_ = blob.Close()
		}
		total += len(rows)
	}
	return total
}
