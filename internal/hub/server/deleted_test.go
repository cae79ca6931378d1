package server_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/hubtest"
	"krund/rig/must"
)

// TestDeleteWhileShipping: an experiment is deleted while its machine ships. Each request is
// answered with a receipt or with 410, and the experiment does not come back.
func TestDeleteWhileShipping(t *testing.T) { dbtest.OnEach(t, testDeleteWhileShipping) }

func testDeleteWhileShipping(t *testing.T, at string) {
	h := hubtest.On(t, at)
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
				var gone *api.Error
				for errors.As(err, &gone) && gone.Status == http.StatusServiceUnavailable { // one at a time
					_, err = s.send(t.Context(), m)
				}
				must.Be(t, err == nil || errors.As(err, &gone) && gone.Status == http.StatusGone, "ship", err)
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
