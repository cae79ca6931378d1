package server_test

import (
	"database/sql"
	"fmt"
	"testing"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/hubtest"
	"krund/internal/hub/store"
)

// TestManyExperiments: a machine that begins experiments without end, and a user who submits them
// without end, are refused at some point, and others are not.
func TestManyExperiments(t *testing.T) { dbtest.OnEach(t, testManyExperiments) }

func testManyExperiments(t *testing.T, at string) {
	h := hubtest.On(t, at)
	m, other := h.Machine(t, "lab1"), h.Machine(t, "lab2")
	submitted(t, h, "lab2")
	bob := h.Client(t, "bob", access.User)
	const most = 1000
	err := h.DB.Update(t.Context(), func(tx *sql.Tx) error {
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
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := of("one more", "first").send(t.Context(), m); !conflict(err) {
		t.Errorf("a machine with %d experiments begins another one: %v", most, err)
	}
	if _, err := m.Ship(t.Context(), api.Ship{}, nil); err != nil {
		t.Errorf("it reports: %v", err)
	}
	if _, err := of("one", "first").send(t.Context(), other); err != nil {
		t.Errorf("another machine: %v", err)
	}
	s := api.Submission{Bundle: store.Hash([]byte("lab2")), Target: "lab2", Machines: 1}
	if _, err := bob.Submit(t.Context(), s); !conflict(err) {
		t.Errorf("a user with %d experiments that wait submits another one: %v", most, err)
	}
	if _, err := h.Client(t, "carl", access.User).Submit(t.Context(), s); err != nil {
		t.Errorf("another user: %v", err)
	}
}
