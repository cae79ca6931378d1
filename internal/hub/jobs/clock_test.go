package jobs

import (
	"context"
	"testing"
	"time"

	"krund/internal/hub/api"
	"krund/internal/hub/database/dbtest"
	"krund/rig/must"
)

// TestClockSetBack: the hub started with a clock that was years ahead, and gave leases. After it
// was set, a machine that dies does not keep its part for years.
func TestClockSetBack(t *testing.T) { dbtest.OnEach(t, testClockSetBack) }

func testClockSetBack(t *testing.T, at string) {
	b := newBench(t, at, "lab1", "lab2")
	right := b.now
	b.now = right.AddDate(3, 0, 0)
	id := b.submit(t, "ab", "pool", 1, 0)
	b.ask(t, "lab1")
	b.report(t, id, "lab1", api.Progress{Slots: 2, Left: 2, NextBoot: 600})
	b.now = right
	work := func() {
		t.Helper()
		must.Do(t, b.excuseGap(t.Context()))
		b.look(t, Config{})
	}
	for range 49 { // of a lease of 50 minutes
		work()
		b.now = b.now.Add(time.Minute)
	}
	must.Equal(t, len(b.jobs), 0, "blamed for the hub's clock", b.jobs)
	for range 54 {
		b.now = b.now.Add(time.Minute)
		work()
	}
	must.Equal(t, len(b.jobs), 2, b.jobs, "want that the machine is overdue, and lost")
	answer, _ := b.ask(t, "lab2")
	must.Equal(t, answer, "ab 0/1", "another machine gets")
}

// TestHistoryAtOnce: River begins the job again when it has run for an hour. The second one does
// nothing: without a client of River, it would panic.
func TestHistoryAtOnce(t *testing.T) {
	var w workers
	w.busy.Lock()
	must.Do(t, w.history(context.Background(), historyArgs{}))
}
