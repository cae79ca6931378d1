package server_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
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

// TestManyExperiments: a machine that begins experiments without end, and a user who submits them
// without end, are refused at some point, and others are not.
func TestManyExperiments(t *testing.T) { dbtest.OnEach(t, testManyExperiments) }

func testManyExperiments(t *testing.T, at string) {
	must.Long(t)
	h := hubtest.On(t, at)
	m, other := h.Machine(t, "lab1"), h.Machine(t, "lab2")
	submitted(t, h, "lab2")
	bob := h.Client(t, "bob", access.User)
	const most = 1000
	must.Do(t, h.DB.Update(t.Context(), func(tx *sql.Tx) error {
		for i := range most {
			own := database.Experiment{ID: fmt.Sprintf("own%d", i), Name: "x", State: database.Running}
			waits := database.Experiment{ID: fmt.Sprintf("waits%d", i), Name: "x", State: database.Queued,
				Owner: "bob", Bundle: "b"}
			if err := h.DB.AddExperiment(t.Context(), tx, own); err != nil {
				return err
			}
			if err := h.DB.AddExperiment(t.Context(), tx, waits); err != nil {
				return err
			}
			err := h.DB.PutShare(t.Context(), tx, database.Share{Experiment: own.ID,
				Machine: machineID(t, h, "lab1"), State: database.Running, Count: 1})
			if err != nil {
				return err
			}
		}
		sent := store.Hash([]byte("lab2"))
		return errors.Join(h.DB.PutBundle(t.Context(), tx, sent, "bob", `{"experiment":"x"}`),
			h.DB.PutBundle(t.Context(), tx, sent, "carl", `{"experiment":"x"}`))
	}))
	_, err := of("one more", "first").send(t.Context(), m)
	must.Equal(t, hubtest.Status(err), 409, "a machine with", most, "experiments begins another one", err)
	must.Get(m.Ship(t.Context(), api.Ship{}, nil))(t, "it reports")
	must.Get(of("one", "first").send(t.Context(), other))(t, "another machine")
	s := api.Submission{Bundle: store.Hash([]byte("lab2")), Target: "lab2", Machines: 1}
	_, err = bob.Submit(t.Context(), s)
	must.Equal(t, hubtest.Status(err), 409, "a user with", most, "experiments that wait submits another",
		err)
	must.Get(h.Client(t, "carl", access.User).Submit(t.Context(), s))(t, "another user")
}

// TestQuota: of bundles, a user sends a bounded number of bytes on a day; sending one again that
// the hub has, another user and the next day are not concerned.
func TestQuota(t *testing.T) { dbtest.OnEach(t, testQuota) }

func testQuota(t *testing.T, at string) {
	now := hubtest.Now
	h := hubtest.At(t, at, func() time.Time { return now }, func(s *server.Server) { s.BundleBytes = 1000 })
	h.Machine(t, "lab1")
	submitted(t, h, "lab1") // a bundle that the hub has
	known := store.Hash([]byte("lab1"))
	ann, bob := h.Client(t, "ann", access.User), h.Client(t, "bob", access.User)
	for _, c := range []struct {
		client *api.Client
		text   string
		later  time.Duration
		want   int // 400: it is received, and no bundle
	}{
		{ann, strings.Repeat("a", 600), 0, 400}, {ann, strings.Repeat("b", 600), 0, 413},
		{ann, strings.Repeat("c", 300), 0, 400}, {bob, strings.Repeat("b", 600), 0, 400},
		{ann, strings.Repeat("d", 300), 0, 413}, {ann, strings.Repeat("d", 300), 24 * time.Hour, 400},
	} {
		now = now.Add(c.later)
		err := c.client.SendBundle(t.Context(), store.Hash([]byte(c.text)), int64(len(c.text)),
			strings.NewReader(c.text))
		must.Equal(t, hubtest.Status(err), c.want, len(c.text), "bytes of", c.text, err,
			c.want)
	}
	must.Do(t, h.DB.Reserve(t.Context(), "ann-lab1", known, 1e6, 1000), "one that the hub has")
}
