package server_test

import (
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/hubtest"
	"krund/internal/hub/store"
	"krund/rig/must"
)

// conflict reports whether an error is the answer that something is taken.
func conflict(err error) bool {
	var refused *api.Error
	return errors.As(err, &refused) && refused.Status == http.StatusConflict
}

// TestNamesAndPools: no pool has the name of a machine, in whatever case, so that no machine gets
// the experiments of another one by its pool.
func TestNamesAndPools(t *testing.T) { dbtest.OnEach(t, testNamesAndPools) }

func testNamesAndPools(t *testing.T, at string) {
	h := hubtest.On(t, at)
	join := h.Client(t, "", access.Join)
	m1 := must.Get(join.Join(t.Context(), api.JoinRequest{Name: "m1", Pool: "lab"}))(t)
	for _, r := range []api.JoinRequest{{Name: "evil", Pool: "m1"}, {Name: "evil", Pool: "M1"},
		{Name: "lab"}, {Name: "LAB", Pool: "other"}, {Name: "new", Pool: "new"}, {Name: "new", Pool: "New"},
		{Name: "M1"}, {Name: "m1", Pool: "m1", Replace: true, Former: m1.Token}} {
		answer, err := join.Join(t.Context(), r)
		must.Be(t, conflict(err), r, "joins", answer, err)
	}
	for _, r := range []api.JoinRequest{{Name: "m2", Pool: "lab"}, {Name: "new"},
		{Name: "new2", Pool: "POOL"}, {Name: "m1", Pool: "pool", Replace: true, Former: m1.Token}} {
		must.Get(join.Join(t.Context(), r))(t, r)
	}
	n, err := h.DB.CountMachines(t.Context())
	must.Be(t, err == nil && n == 4, n, "machines", err, "one that was refused was added")
}

// TestNameAndPoolAtOnce: of a machine and a pool of one name that join at the same time, one does.
func TestNameAndPoolAtOnce(t *testing.T) { dbtest.OnEach(t, testNameAndPoolAtOnce) }

func testNameAndPoolAtOnce(t *testing.T, at string) {
	h := hubtest.On(t, at)
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
				case !conflict(err):
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
func TestTargets(t *testing.T) { dbtest.OnEach(t, testTargets) }

func testTargets(t *testing.T, at string) {
	h := hubtest.On(t, at)
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
