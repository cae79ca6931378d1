package jobs

import (
	"database/sql"
	"testing"
	"time"

	"krund/internal/hub/api"
	"krund/internal/hub/database/dbtest"
	"krund/rig/must"
)

// TestStoppedIsNotBegunAgain: an idle machine gets nothing of an experiment that was stopped,
// neither before nor after it has begun its part; what waits behind it is begun.
func TestStoppedIsNotBegunAgain(t *testing.T) { dbtest.OnEach(t, testStoppedIsNotBegunAgain) }

func testStoppedIsNotBegunAgain(t *testing.T, at string) {
	b := newBench(t, at, "lab1", "lab2")
	id := b.submit(t, "ab", "pool", 2, 0)
	next := b.submit(t, "next", "pool", 2, 0)
	b.ask(t, "lab1")
	b.report(t, id, "lab1", api.Progress{Slots: 2, Completed: 1, Left: 1})
	b.ask(t, "lab2") // and the answer was lost
	b.update(t, func(tx *sql.Tx) error { return b.Request(t.Context(), tx, id, api.RequestStop) })
	for _, machine := range []string{"lab1", "lab2"} {
		_, n := b.ask(t, machine)
		must.Be(t, n != nil && n.Experiment == next, machine, "gets", n, "want a part of the next experiment")
	}
	b.expect(t, id, "stopped 0:stopped 1:stopped")
}

// TestHubWasOff: a lease that ended while the hub did not run, was suspended, or got another time,
// is no reason to cut the power of a machine that measures.
func TestHubWasOff(t *testing.T) { dbtest.OnEach(t, testHubWasOff) }

func testHubWasOff(t *testing.T, at string) {
	b := newBench(t, at, "lab1")
	id := b.submit(t, "ab", "lab1", 1, 0)
	b.ask(t, "lab1")
	b.report(t, id, "lab1", api.Progress{Slots: 2, Left: 2, NextBoot: 600})
	c := Config{Power: []Power{{Machines: "lab*", Cycle: []string{"/bin/true"}, Times: 2}}}
	work := func() {
		t.Helper()
		must.Do(t, b.excuseGap(t.Context()))
		b.look(t, c)
	}
	b.now = b.now.Add(60 * time.Hour) // the hub is off for a weekend, and starts
	work()
	b.now = b.now.Add(30 * time.Hour) // its clock is set
	work()
	must.Equal(t, len(b.jobs), 0, "blamed for the hub's absence", b.jobs)
	for range 51 { // the hub runs, and the machine remains silent for longer than its lease of 50 minutes
		b.now = b.now.Add(time.Minute)
		work()
	}
	must.Equal(t, len(b.jobs), 2, "then", b.jobs, "want a restart and a notification")
}
