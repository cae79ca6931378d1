package server_test

import (
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/hubtest"
	"krund/internal/hub/server"
	"krund/internal/hub/store"
	"krund/rig/must"
)

// TestBundleNames: what is no hash is refused before it is announced. A name of tables would be
// removed from the store as garbage an hour later, and another one would keep garbage from being
// removed.
func TestBundleNames(t *testing.T) {
	h := hubtest.New(t)
	token := h.Client(t, "ann", access.User).Token
	for _, name := range []string{"tables%2Fname=x%2Fexperiment=id", "tables%2F.", "x"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, h.URL+"/api/v1/bundles/"+name,
			strings.NewReader("x"))
		must.Do(t, err)
		request.Header.Set("Authorization", "Bearer "+token)
		response := must.Get(http.DefaultClient.Do(request))(t)
		_ = response.Body.Close()
		var garbage int
		err = h.DB.Read.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM garbage`).Scan(&garbage)
		must.Be(t, err == nil && garbage == 0 && response.StatusCode == http.StatusBadRequest, name,
			response.Status, garbage, "announced", err)
	}
}

// TestJoinAtOnce: of several hosts with the same name that join at the same time, one gets the
// name, and its token is not ended by another one's.
func TestJoinAtOnce(t *testing.T) { hubtest.OnEach(t, testJoinAtOnce) }

func testJoinAtOnce(t *testing.T, h *hubtest.Hub) {
	join := h.Client(t, "", access.Join)
	const hosts = 40 // more than connections of the database
	var joined atomic.Int32
	var all sync.WaitGroup
	for range hosts {
		all.Go(func() {
			answer, err := join.Join(t.Context(), api.JoinRequest{Name: "localhost"})
			switch {
			case err == nil:
				joined.Add(1)
				m := &api.Client{URL: h.URL, Token: answer.Token}
				_, err := m.Ship(t.Context(), api.Ship{}, nil)
				must.Be(t, err == nil, "the host that got the name", err)
			case hubtest.Status(err) != http.StatusConflict:
				t.Error(err)
			}
		})
	}
	all.Wait()
	must.Equal(t, joined.Load(), 1, "hosts have joined under the same name")
}

// TestReplace: a token to join, which every machine gets, does not take over a machine that the hub
// knows, however long that was silent. The machine itself may join again, and an admin may replace
// it. A machine that was never seen has nothing to take over: its answer may have been lost.
func TestReplace(t *testing.T) { hubtest.OnEach(t, testReplace) }

func testReplace(t *testing.T, h *hubtest.Hub) {
	join, admin := h.Client(t, "", access.Join), h.Client(t, "boss", access.Admin)
	other := h.Machine(t, "lab2")
	first := must.Get(join.Join(t.Context(), api.JoinRequest{Name: "lab1"}))(t)
	again := must.Get(
		join.Join(t.Context(), api.JoinRequest{Name: "lab1", Replace: true}))(t, "it was never seen")
	m := &api.Client{URL: h.URL, Token: again.Token}
	must.Get(m.Ship(t.Context(), api.Ship{}, nil))(t)
	for _, former := range []string{"", "x", first.Token, other.Token, join.Token, admin.Token} {
		_, err := join.Join(t.Context(), api.JoinRequest{Name: "lab1", Replace: true, Former: former})
		must.Equal(t, hubtest.Status(err), http.StatusForbidden, "with the token",
			former, err)
	}
	must.Get(m.Ship(t.Context(), api.Ship{}, nil))(t, "the machine afterwards")
	_, err := join.Join(t.Context(), api.JoinRequest{Name: "lab1", Replace: true, Former: again.Token})
	must.Be(t, err == nil, "the machine itself", err)
	must.Get(admin.Join(t.Context(), api.JoinRequest{Name: "lab1", Replace: true}))(t, "an admin")
}

// TestNamesAndPools: no pool has the name of a machine, in whatever case, so that no machine gets
// the experiments of another one by its pool.
func TestNamesAndPools(t *testing.T) { hubtest.OnEach(t, testNamesAndPools) }

func testNamesAndPools(t *testing.T, h *hubtest.Hub) {
	join := h.Client(t, "", access.Join)
	m1 := must.Get(join.Join(t.Context(), api.JoinRequest{Name: "m1", Pool: "lab"}))(t)
	for _, r := range []api.JoinRequest{{Name: "evil", Pool: "m1"}, {Name: "evil", Pool: "M1"},
		{Name: "lab"}, {Name: "LAB", Pool: "other"}, {Name: "new", Pool: "new"}, {Name: "new", Pool: "New"},
		{Name: "M1"}, {Name: "m1", Pool: "m1", Replace: true, Former: m1.Token}} {
		answer, err := join.Join(t.Context(), r)
		must.Equal(t, hubtest.Status(err), 409, r, "joins", answer, err)
	}
	for _, r := range []api.JoinRequest{{Name: "m2", Pool: "lab"}, {Name: "new"},
		{Name: "new2", Pool: "POOL"}, {Name: "m1", Pool: "pool", Replace: true, Former: m1.Token}} {
		must.Get(join.Join(t.Context(), r))(t, r)
	}
	n, err := h.DB.CountMachines(t.Context())
	must.Be(t, err == nil && n == 4, n, "machines", err, "one that was refused was added")
}

// TestNameAndPoolAtOnce: of a machine and a pool of one name that join at the same time, one does.
func TestNameAndPoolAtOnce(t *testing.T) { hubtest.OnEach(t, testNameAndPoolAtOnce) }

func testNameAndPoolAtOnce(t *testing.T, h *hubtest.Hub) {
	join := h.Client(t, "", access.Join)
	for round := range 25 {
		name := fmt.Sprintf("m%d", round)
		var joined atomic.Int32
		var both sync.WaitGroup
		for _, r := range []api.JoinRequest{{Name: name}, {Name: "evil-" + name, Pool: name}} {
			both.Go(func() {
				_, err := join.Join(t.Context(), r)
				switch {
				case err == nil:
					joined.Add(1)
				case hubtest.Status(err) != 409:
					t.Errorf("%+v: %v", r, err)
				}
			})
		}
		both.Wait()
		must.Equal(t, joined.Load(), 1, name, "of 2 have joined")
	}
}

// TestTargets: an experiment for a machine is not given to a pool of that name, which an older hub
// let join, and one for a pool not to a machine that gets the name later.
func TestTargets(t *testing.T) { hubtest.OnEach(t, testTargets) }

func testTargets(t *testing.T, h *hubtest.Hub) {
	m1, evil, other := h.Machine(t, "m1"), h.Machine(t, "evil"), h.Machine(t, "other")
	update := func(do func(tx *sql.Tx) error) {
		t.Helper()
		must.Do(t, h.DB.Update(t.Context(), do))
	}
	update(func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `UPDATE machines SET pool = 'm1' WHERE name = 'evil'`)
		return err
	})
	id := submitted(t, h, "m1")
	for _, c := range []struct {
		name   string
		client *api.Client
		want   bool
	}{{"evil", evil, false}, {"m1", m1, true}} {
		receipt, err := c.client.Ship(t.Context(), api.Ship{}, nil)
		got := receipt.Orders.Next != nil
		must.Be(t, err == nil && got == c.want, c.name, "gets the experiment for m1", got, err)
	}
	update(func(tx *sql.Tx) error {
		return h.DB.PutShare(t.Context(), tx, database.Share{Experiment: id, Machine: machineID(t, h, "m1"),
			State: database.Done, Count: 1})
	})
	update(func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `UPDATE machines SET pool = 'lab' WHERE name = 'evil'`)
		return err
	})
	submitted(t, h, "lab")
	update(func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `UPDATE machines SET name = 'lab' WHERE name = 'other'`)
		return err
	})
	if receipt, err := other.Ship(t.Context(), api.Ship{}, nil); err != nil || receipt.Orders.Next != nil {
		t.Errorf("a machine with the name of the pool gets the experiment: %+v, %v", receipt, err)
	}
	receipt, err := evil.Ship(t.Context(), api.Ship{}, nil)
	must.Be(t, err == nil && receipt.Orders.Next != nil, "the machine in the pool", receipt, err)
}

func machineID(t *testing.T, h *hubtest.Hub, name string) string {
	t.Helper()
	m := must.Get(h.DB.Machine(t.Context(), name))(t)
	return m.ID
}

// submitted submits an experiment of its own for a machine or a pool, and returns its id.
func submitted(t *testing.T, h *hubtest.Hub, target string) string {
	t.Helper()
	hash := store.Hash([]byte(target))
	err := h.DB.Announce(t.Context(), []string{hash})
	if err == nil {
		err = h.DB.Update(t.Context(), func(tx *sql.Tx) error {
			err := h.DB.AddBlob(t.Context(), tx, hash, 1)
			return errors.Join(err,
				h.DB.PutBundle(t.Context(), tx, hash, "ann-"+target, `{"experiment":"x"}`))
		})
	}
	must.Do(t, err)
	id := must.Get(h.Client(t, "ann-"+target, access.User).Submit(t.Context(),
		api.Submission{Bundle: hash, Target: target, Machines: 1}))(t)
	return id
}

// TestDeleteWhileShipping: an experiment is deleted while its machine ships. Each request is
// answered with a receipt or with 410, and the experiment does not come back.
func TestDeleteWhileShipping(t *testing.T) { hubtest.OnEach(t, testDeleteWhileShipping) }

func testDeleteWhileShipping(t *testing.T, h *hubtest.Hub) {
	m, admin := h.Machine(t, "lab1"), h.Client(t, "boss", access.Admin)
	for i := range 10 {
		s := of("warmup", "first", "second")
		s.Experiment.Created = fmt.Sprint(i)
		s.Experiment.Progress = api.Progress{Slots: 2, Completed: 2, Ended: true}
		receipt := must.Get(s.send(t.Context(), m))(t)
		id := receipt.Experiment
		s.Experiment.ID = id
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				_, err := s.send(t.Context(), m)
				for hubtest.Status(err) == http.StatusServiceUnavailable { // one at a time
					_, err = s.send(t.Context(), m)
				}
				must.Be(t, err == nil || hubtest.Status(err) == http.StatusGone, "ship", err)
			})
		}
		all.Go(func() {
			path := api.PathExperiments + "/" + id
			must.Do(t, admin.Do(t.Context(), http.MethodDelete, path, nil, nil), "delete")
		})
		all.Wait()
		_, err := h.DB.Experiment(t.Context(), id)
		must.Fail(t, err, database.ErrMissing, "the experiment is there again")
	}
}

// TestTwoHubs: machines ship the same contents in another order, each to two processes of the hub
// at the same time and again. No request waits for another, and each record is there once. An open
// page of one process learns what the other has changed, whose clock is late.
func TestTwoHubs(t *testing.T) {
	const machines, records, times = 4, 40, 5
	at := dbtest.Postgres(t)
	one := hubtest.On(t, at)
	other := hubtest.On(t, at, func(s *server.Server) { s.Store = one.Store })
	var contents []string
	for i := range records {
		contents = append(contents, fmt.Sprint("record ", i))
	}
	var clients []*api.Client
	for i := range machines {
		clients = append(clients, one.Machine(t, fmt.Sprint("lab", i)))
	}
	var all sync.WaitGroup
	for i, c := range clients {
		s := of("warmup", contents...)
		if i%2 == 1 {
			slices.Reverse(s.Entries)
		}
		for _, h := range []*hubtest.Hub{one, other} {
			all.Go(func() {
				for range times {
					_, err := s.send(t.Context(), &api.Client{URL: h.URL, Token: c.Token})
					must.Be(t, err == nil, err)
				}
			})
		}
	}
	all.Wait()
	var rows, experiments, blobs, deadlocks int
	err := one.DB.Read.QueryRowContext(t.Context(), `SELECT (SELECT COUNT(*) FROM records),
		(SELECT COUNT(*) FROM experiments), (SELECT COUNT(*) FROM blobs),
		(SELECT deadlocks FROM pg_stat_database WHERE datname = current_database())`).
		Scan(&rows, &experiments, &blobs, &deadlocks)
	must.Be(t, err == nil && rows == machines*records && experiments == machines && blobs == records &&
		deadlocks == 0, rows, "records of", experiments, "experiments", blobs, "blobs", deadlocks,
		"deadlocks", err)
	late := must.Get(
		database.Open(t.Context(), at, func() time.Time { return hubtest.Now.Add(-time.Hour) }))(t)
	defer late.Close()
	before := must.Get(one.DB.Version(t.Context()))(t)
	for what, change := range map[string]func(tx *sql.Tx) error{
		"an experiment": func(tx *sql.Tx) error {
			return late.AddExperiment(t.Context(), tx, database.Experiment{ID: "x", Name: "x",
				State: database.Queued})
		},
		"a message of a machine": func(tx *sql.Tx) error {
			m, err := late.Machine(t.Context(), "lab0")
			if err != nil {
				return err
			}
			return late.Seen(t.Context(), tx, m.ID, "", "", "{}")
		},
		"an alert": func(tx *sql.Tx) error {
			_, err := late.Raise(t.Context(), tx, database.Alert{
				Kind: "overdue", Subject: "s", Experiment: "x"})
			return err
		},
	} {
		must.Do(t, late.Update(t.Context(), change))
		now, err := one.DB.Version(t.Context())
		must.Be(t, err == nil && now != before, what, "pages do not learn of it", err)
		before = now
	}
}
