package ship_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"krund/internal/durable"
	"krund/internal/durable/crashfs"
	"krund/internal/execution/identity"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/hubtest"
	"krund/internal/hub/ship"
	"krund/internal/machine/sysroot"
	"krund/internal/schedule"
	"krund/rig/must"
)

const slots = 8

// begin makes the directory of an experiment with some slots and no record.
func begin(t *testing.T, fsys durable.FS, parent string) directory.Directory {
	t.Helper()
	d := must.Get(directory.Create(fsys, filepath.Join(parent, "warmup.krun")))(t)
	create(t, d, "begun")
	return d
}

// create makes the schedule of a configuration.
func create(t *testing.T, d directory.Directory, text string) {
	t.Helper()
	header := schedule.Header{ConfigHash: fmt.Sprintf("%x", sha256.Sum256([]byte(text))),
		Created: "1970-01-01T00:00:07Z", Order: "round-robin", Seed: 1 << 63}
	must.Do(t, schedule.Create(d.FS(), d.Schedule(), header, slots, plan()))
}

func plan() iter.Seq[schedule.Slot] {
	return func(yield func(schedule.Slot) bool) {
		for i := range slots {
			k := key.Key{Benchmark: "nbody", VM: "C", Variant: "default-c"}
			if !yield(schedule.Slot{Index: i, Key: k, Pexec: i + 1, Flag: schedule.Outstanding}) {
				return
			}
		}
	}
}

// record writes a record; what is shipped does not depend on its contents.
func record(t *testing.T, d directory.Directory, slot, attempt int) {
	t.Helper()
	name := filepath.Join(d.Results(), results.Name{Slot: slot, Attempt: attempt}.String())
	must.Do(t, durable.WriteFile(d.FS(), name, fmt.Appendf(nil, "%d-%d", slot, attempt), 0o644))
}

// received returns the contents of what the hub has, by slot and attempt, in the order of arrival.
func received(t *testing.T, h *hubtest.Hub, id string) []string {
	t.Helper()
	rows := must.Get(h.DB.Records(t.Context(), id, "", 0, 1000))(t)
	all := []string{}
	for _, r := range rows {
		blob := must.Get(h.Store.Get(t.Context(), r.Blob))(t)
		text, err := io.ReadAll(blob)
		must.Be(t, err == nil && string(text) == fmt.Sprintf("%d-%d", r.Slot, r.Attempt), "slot", r.Slot,
			"attempt", r.Attempt, text, err)
		_ = blob.Close()
		all = append(all, string(text))
	}
	return all
}

func send(t *testing.T, d directory.Directory, c *api.Client) (string, int) {
	t.Helper()
	result := must.Get(ship.Shipper{Directory: d, Client: c, Name: "warmup"}.Ship(t.Context()))(t)
	m := must.Get(ship.Load(d.FS(), d.Hub(), c.URL))(t)
	return m.Experiment, result.Sent
}

func TestShip(t *testing.T) { dbtest.OnEach(t, testShip) }

func testShip(t *testing.T, at string) {
	h := hubtest.On(t, at)
	m := h.Machine(t, "lab1")
	d := begin(t, durable.OS(), t.TempDir())
	id, _ := send(t, d, m) // before the first record
	record(t, d, 0, 1)
	record(t, d, 1, 1)
	again, sent := send(t, d, m)
	must.Be(t, sent == 2 && again == id, "two records: sent", sent, "in", again, "want 2 in", id)
	_, sent = send(t, d, m)
	must.Equal(t, sent, 0, "nothing new: sent")
	record(t, d, 2, 1)
	record(t, d, 2, 2)
	must.Do(t, d.FS().Remove(d.Hub()))
	if again, sent := send(t, d, m); sent != 2 || again != id {
		t.Errorf("after the memory was lost: sent %d in %s, want 2 in %s", sent, again, id)
	}
	must.Do(t, d.FS().Remove(d.Schedule())) // the experiment grows, and stays the same one
	create(t, d, "grown")
	must.Do(t, identity.StoreEditions(d.FS(), d.Editions(), []identity.Edition{{Number: 1, Config: "begun"},
		{Number: 2, Config: "grown", From: 3}}))
	again, sent = send(t, d, m)
	must.Be(t, sent == 0 && again == id, "after it grew: sent", sent, "in", again)
	must.Do(t, d.FS().Remove(d.Hub()))
	again, sent = send(t, d, m)
	must.Be(t, sent == 0 && again == id, "and after the memory was lost: sent", sent, "in", again)
	old := results.Name{Slot: 1, Attempt: 1}
	must.Do(t,
		d.FS().Rename(filepath.Join(d.Results(), old.String()), filepath.Join(d.Results(), old.Replaced())))
	record(t, d, 1, 2)
	send(t, d, m)
	want := []string{"0-1", "1-1", "2-1", "2-2", "1-2"}
	got := received(t, h, id)
	must.Be(t, reflect.DeepEqual(got, want), "received", got, "want", want)
	machine := must.Get(h.DB.Machine(t.Context(), "lab1"))(t)
	text, err := h.DB.FileContent(t.Context(), id, machine.ID, api.FileReplaced, api.MaxFile)
	must.Be(t, err == nil && string(text) == old.String()+"\n", "replaced", text, err)
}

// TestShipDeleted: an experiment is deleted on the hub while the machine was silent. The machine
// notices, remembers that, keeps its records, and reports only itself from then on.
func TestShipDeleted(t *testing.T) { dbtest.OnEach(t, testShipDeleted) }

func testShipDeleted(t *testing.T, at string) {
	for _, given := range []bool{false, true} {
		h := hubtest.On(t, at)
		m := h.Machine(t, fmt.Sprint("lab", given))
		d := begin(t, durable.OS(), t.TempDir())
		record(t, d, 0, 1)
		id, _ := send(t, d, m)
		memory, err := ship.Load(d.FS(), d.Hub(), m.URL)
		memory.Given = given
		must.Do(t, errors.Join(err, memory.Store(d.FS(), d.Hub()), remove(t, h, id)))
		record(t, d, 1, 1)
		x := ship.Shipper{Directory: d, Client: m, Name: "warmup"}
		want := ship.Shipment{Deleted: true}
		if given {
			want.Orders.Request = api.RequestStop
		}
		got, err := x.Ship(t.Context())
		must.Be(t, err == nil && got == want, "given", given, got, err, "want", want)
		got, err = x.Ship(t.Context())
		must.Be(t, err == nil && got == (ship.Shipment{Deleted: true}), "again", got, err)
		_, err = h.DB.Experiment(t.Context(), id)
		must.Fail(t, err, database.ErrMissing, "the experiment is on the hub again")
		x.Client = h.Machine(t, fmt.Sprint("other", given))
		memory.Given = false
		must.Do(t, memory.Store(d.FS(), d.Hub()))
		if got, err := x.Ship(t.Context()); err != nil || got.Deleted || got.Sent != 2 {
			t.Errorf("under the name of another machine: %+v, %v; want both records sent", got, err)
		}
	}
}

// remove gives all parts of an experiment up and deletes it.
func remove(t *testing.T, h *hubtest.Hub, id string) error {
	return h.DB.Update(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `UPDATE shares SET state = 'failed' WHERE experiment = $1`, id)
		err = errors.Join(err, h.DB.SetState(t.Context(), tx, database.Experiment{ID: id, State: "failed"}))
		tables := func(database.Experiment) string { return "tables/x" }
		_, _, deleted := h.DB.DeleteExperiment(t.Context(), tx, id, tables)
		return errors.Join(err, deleted)
	})
}

// TestShipCut cuts the machine's power in each operation on its disk while it ships: the hub has
// every record once, and the memory can be used.
func TestShipCut(t *testing.T) {
	h := hubtest.New(t)
	cuts := 0
	for op := 1; ; op++ {
		m := h.Machine(t, fmt.Sprintf("lab%d", op))
		disk := crashfs.New("/lab")
		d := begin(t, disk, "/lab")
		for slot := range 3 {
			record(t, d, slot, 1)
		}
		send(t, d, m)
		for slot := 3; slot < slots; slot++ {
			record(t, d, slot, 1)
		}
		start := disk.Survivor(crashfs.Nothing)
		start.CrashAt(op)
		d, err := directory.Open(start, "/lab/warmup.krun")
		if err == nil {
			_, err = ship.Shipper{Directory: d, Client: m, Name: "warmup"}.Ship(t.Context())
		}
		if !start.IsCut() {
			must.Need(t, err == nil && cuts != 0, "after", cuts, "cuts", err)
			return
		}
		cuts++
		for name, policy := range map[string]crashfs.Policy{"nothing": crashfs.Nothing,
			"everything": crashfs.Everything} {
			d := must.Get(directory.Open(start.Reboot(policy), "/lab/warmup.krun"))(t)
			id, _ := send(t, d, m)
			want := []string{"0-1", "1-1", "2-1", "3-1", "4-1", "5-1", "6-1", "7-1"}
			got := received(t, h, id)
			must.Be(t, reflect.DeepEqual(got, want), "cut at operation", op, name, "survives: received", got)
		}
	}
}

func TestMemoryRanges(t *testing.T) {
	var m ship.Memory
	for _, slot := range []int{5, 3, 4, 0, 9, 4} {
		m.Add(results.Name{Slot: slot, Attempt: 1})
	}
	m.Add(results.Name{Slot: 4, Attempt: 2})
	want := []ship.Range{{Attempt: 1, From: 0, To: 0}, {Attempt: 1, From: 3, To: 5},
		{Attempt: 1, From: 9, To: 9}, {Attempt: 2, From: 4, To: 4}}
	must.Be(t, reflect.DeepEqual(m.Received, want), m.Received, want)
	for slot, has := range []bool{true, false, false, true, true, true, false} {
		must.Be(t, m.Has(results.Name{Slot: slot, Attempt: 1}) == has, "slot", slot, has)
	}
}

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

// TestKnown: the newest hundred directories are remembered, each once, until the hub has all of
// one.
func TestKnown(t *testing.T) {
	k := ship.KnownAt(durable.OS(), filepath.Join(t.TempDir(), "state"))
	for i := range 103 {
		for range 2 {
			must.Do(t, k.Add(fmt.Sprint("/x", i)))
			must.Do(t, k.Remove("/other"))
		}
	}
	must.Do(t, k.Remove("/x50"))
	list := k.Directories()
	must.Be(t, len(list) == 99 && list[0] == "/x3" && list[98] == "/x102", list)
}
