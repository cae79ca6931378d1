package pages

import (
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/rig/must"
)

// TestDelete: what was made of an experiment goes with it, whatever else was made stays.
func TestDelete(t *testing.T) {
	h := newTestHub(t, dbtest.SQLite(t), fakeKrunctl)
	h.update(func(tx *sql.Tx) error {
		err := h.db.PutShare(t.Context(), tx, database.Share{Experiment: "e1", Machine: h.machine, Count: 1,
			State: database.Done})
		for _, id := range []string{"e1", "e2"} {
			err = errors.Join(err, h.db.SetState(t.Context(), tx, database.Experiment{ID: id,
				State: database.Done}))
		}
		return err
	})
	response, _ := h.get("/experiments/e1/report/index.html")
	must.Need(t, response.StatusCode == http.StatusOK, "report", response.Status)
	made := filepath.Join(h.dir, "experiments")
	names := func(dir string) (list []string) {
		entries := must.Get(os.ReadDir(dir))(t)
		for _, e := range entries {
			list = append(list, e.Name())
		}
		return list
	}
	for _, id := range []string{"e2", "e1"} {
		if list := names(made); fmt.Sprint(list) != "[e1 reports]" || len(names(made+"/reports")) != 1 {
			t.Errorf("before %s is deleted: %q, %q", id, list, names(made+"/reports"))
		}
		response, text := h.do(http.MethodPost, "/experiments/"+id+"/delete", url.Values{"confirm": {"yes"}})
		must.Equal(t, response.StatusCode, http.StatusSeeOther, response.Status, text)
	}
	if list := names(made); fmt.Sprint(list) != "[reports]" || len(names(made+"/reports")) != 0 {
		t.Errorf("afterwards: %q, %q", list, names(made+"/reports"))
	}
}

// TestTooManyReports: one user cannot fill the queue of reports.
func TestTooManyReports(t *testing.T) {
	h := newTestHub(t, dbtest.SQLite(t), "#!/bin/sh\nexit 1\n")
	for range cap(h.reports.slots) { // none is made meanwhile
		h.reports.slots <- struct{}{}
	}
	for i := range mostOfUser + 1 {
		_, _, err := h.reports.start(wanted{key: fmt.Sprint(i)}, "anna")
		must.Equal(t, err != nil, (i == mostOfUser), "report", i, "of anna", err)
	}
	must.Get2(h.reports.start(wanted{key: "0"}, "anna"))(t, "one that is being made")
	for i := range mostQueued - mostOfUser + 1 {
		_, _, err := h.reports.start(wanted{key: fmt.Sprint("other", i)}, fmt.Sprint("user", i))
		must.Equal(t, err != nil, (i == mostQueued-mostOfUser), "report", i, "of others", err)
	}
}
