package jobs

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/rig/must"
)

func TestOrderOfTheQueue(t *testing.T) { dbtest.OnEach(t, testOrderOfTheQueue) }

func testOrderOfTheQueue(t *testing.T, at string) {
	b := newBench(t, at, "lab1", "lab2")
	b.submit(t, "old", "pool", 1, 0)
	b.submit(t, "urgent", "pool", 1, 5)
	b.submit(t, "mine", "lab2", 1, 9)
	b.submit(t, "elsewhere", "lab9", 1, 99)
	for _, c := range []struct{ machine, want string }{
		{"lab1", "urgent 0/1"},
		{"lab1", "urgent 0/1"}, // the answer was lost
		{"lab2", "mine 0/1"},
	} {
		got, _ := b.ask(t, c.machine)
		must.Equal(t, got, c.want, c.machine, "gets")
	}
	_, n := b.ask(t, "lab1")
	b.report(t, n.Experiment, "lab1", ended)
	b.expect(t, n.Experiment, "done 0:done")
	got, _ := b.ask(t, "lab1")
	must.Equal(t, got, "old 0/1", "then")
}

func TestLeases(t *testing.T) {
	for name, c := range map[string]struct {
		p    api.Progress
		want time.Duration
	}{
		"nothing measured":              {api.Progress{}, 24 * time.Hour},
		"a boot of ten minutes":         {api.Progress{NextBoot: 600, Seconds: 86400}, 50 * time.Minute},
		"a plan of 5 days in silence":   {api.Progress{Seconds: 5 * 86400}, 10*24*time.Hour + 30*time.Minute},
		"a claim of thousands of years": {api.Progress{Seconds: 1 << 62}, 90*24*time.Hour + 30*time.Minute},
		"a negative claim":              {api.Progress{Seconds: -5}, 24 * time.Hour},
	} {
		must.Equal(t, leaseOf(c.p), c.want, name)
	}
}

// TestSilentMachine: notify, restart by power as often as configured, give up; then another machine
// gets the part, and the first is stopped when it comes back.
func TestSilentMachine(t *testing.T) { dbtest.OnEach(t, testSilentMachine) }

func testSilentMachine(t *testing.T, at string) {
	b := newBench(t, at, "lab1", "lab2")
	c := Config{Power: []Power{{Machines: "lab*", Cycle: []string{"/bin/true"}, Times: 2}}}
	id := b.submit(t, "ab", "pool", 1, 0)
	b.ask(t, "lab1")
	busy := api.Progress{Slots: 2, Left: 2, NextBoot: 600}
	b.report(t, id, "lab1", busy)
	b.now = b.now.Add(49 * time.Minute)
	b.look(t, c)
	must.Need(t, len(b.jobs) == 0, "within its lease", b.jobs)
	for range 2 {
		b.now = b.now.Add(51 * time.Minute)
		b.look(t, c)
		b.look(t, c) // a look that is repeated changes nothing
	}
	b.expect(t, id, "running 0:running")
	b.now = b.now.Add(51 * time.Minute)
	_, n := b.ask(t, "lab2")
	must.Be(t, n == nil, "a part of a running machine is given away")
	b.look(t, c)
	want := "power,notice overdue,power,notice lost"
	must.Equal(t, strings.Join(b.jobs, ","), want, "jobs")
	b.expect(t, id, "running 0:failed")
	got, _ := b.ask(t, "lab2")
	must.Equal(t, got, "ab 0/1", "the part that was given up")
	must.Equal(t, b.report(t, id, "lab1", busy), api.RequestStop, "a machine whose part another one")
	b.report(t, id, "lab2", ended)
	b.expect(t, id, "done 0:done 0:failed")
}

// TestAlertOfSilence: one alert and one notification for a silence, again for the next one, and
// none while it is muted.
func TestAlertOfSilence(t *testing.T) { dbtest.OnEach(t, testAlertOfSilence) }

func testAlertOfSilence(t *testing.T, at string) {
	b := newBench(t, at, "lab1")
	id := b.submit(t, "ab", "lab1", 1, 0)
	b.ask(t, "lab1")
	c := Config{Power: []Power{{Machines: "*", Cycle: []string{"/bin/true"}, Times: 9}}}
	silent := func(want int) {
		t.Helper()
		b.jobs = nil
		for range 3 {
			b.now = b.now.Add(51 * time.Minute)
			b.look(t, c)
		}
		must.Equal(t, strings.Count(strings.Join(b.jobs, ","), "notice"), want, "notifications", b.jobs)
	}
	for i, want := range []int{1, 1, 0} {
		b.report(t, id, "lab1", api.Progress{Slots: 2, Left: 2, NextBoot: 600})
		alerts, err := b.DB.Alerts(t.Context(), 0, 10)
		must.Be(t, err == nil && (len(alerts) == 0 || alerts[0].State == "closed"), alerts, err)
		silent(want)
		alerts, err = b.DB.Alerts(t.Context(), 0, 10)
		must.Need(t, err == nil && len(alerts) == i+1 && alerts[0].State == "open" &&
			alerts[0].Subject == "lab1", alerts, err)
		if i == 1 {
			b.update(t, func(tx *sql.Tx) error {
				return b.DB.MuteAlert(t.Context(), tx, alerts[0].ID, b.now.Add(30*24*time.Hour))
			})
		}
	}
}

// TestBack: a machine that was given up and comes back before another one has begun goes on.
func TestBack(t *testing.T) { dbtest.OnEach(t, testBack) }

func testBack(t *testing.T, at string) {
	b := newBench(t, at, "lab1")
	id := b.submit(t, "ab", "lab1", 1, 0)
	b.ask(t, "lab1")
	busy := api.Progress{Slots: 2, Left: 2, NextBoot: 600}
	for range 3 {
		b.now = b.now.Add(25 * time.Hour)
		b.look(t, Config{})
	}
	b.expect(t, id, "failed 0:failed")
	must.Equal(t, strings.Join(b.jobs, ","), "notice overdue,notice lost", "without power control")
	must.Equal(t, b.report(t, id, "lab1", busy), "")
	b.expect(t, id, "running 0:running")
	b.report(t, id, "lab1", ended)
	b.expect(t, id, "done 0:done")
}

// TestFailedParts: krund stops on each machine, so that the part fails Tries times.
func TestFailedParts(t *testing.T) { dbtest.OnEach(t, testFailedParts) }

func testFailedParts(t *testing.T, at string) {
	b := newBench(t, at, "lab1", "lab2", "lab3", "lab4")
	id := b.submit(t, "ab", "pool", 1, 0)
	for i, m := range []string{"lab1", "lab2", "lab3"} {
		got, _ := b.ask(t, m)
		must.Need(t, got == "ab 0/1", m, "gets", got)
		b.report(t, id, m, api.Progress{Slots: 2, Left: 2, Ended: true, Reason: "unfit"})
		want := []string{"running", "running", "failed"}[i]
		must.Be(t, strings.HasPrefix(b.state(t, id), want), want, b.state(t, id))
	}
	got, _ := b.ask(t, "lab4")
	must.Equal(t, got, "", "a failed experiment is given to")
}

func TestRequests(t *testing.T) { dbtest.OnEach(t, testRequests) }

func testRequests(t *testing.T, at string) {
	b := newBench(t, at, "lab1", "lab2")
	id := b.submit(t, "ab", "pool", 2, 0)
	request := func(what string) {
		b.update(t, func(tx *sql.Tx) error { return b.Request(t.Context(), tx, id, what) })
	}
	b.ask(t, "lab1")
	busy, held := api.Progress{Slots: 2, Left: 1}, api.Progress{Slots: 2, Left: 1, Held: true}
	request(api.RequestHold)
	got, _ := b.ask(t, "lab2")
	must.Equal(t, got, "", "a held experiment is given to")
	for _, c := range []struct {
		p    api.Progress
		want string
	}{{busy, "hold"}, {held, ""}} {
		must.Equal(t, b.report(t, id, "lab1", c.p), c.want, "request")
	}
	request(api.RequestResume)
	must.Equal(t, b.report(t, id, "lab1", busy), "", "resume is followed")
	request(api.RequestStop)
	got, _ = b.ask(t, "lab2")
	must.Equal(t, got, "", "a stopped experiment is given to")
	for _, what := range []string{api.RequestHold, api.RequestResume, api.RequestStop} {
		err := b.DB.Update(t.Context(), func(tx *sql.Tx) error {
			return b.Request(t.Context(), tx, id, what)
		})
		wrong := !errors.Is(err, ErrEnded)
		must.Be(t, wrong != (what != api.RequestStop), what, "after it was stopped", err)
	}
	must.Equal(t, b.report(t, id, "lab1", busy), "stop", "request", "want stop")
	b.report(t, id, "lab1", api.Progress{Slots: 2, Left: 1, Ended: true})
	b.expect(t, id, "stopped 0:stopped")
}

// TestNothingIsStuck: machines lose answers, are silent, refuse, come back or die for ever, and the
// hub is killed between any two steps. Every experiment ends, no part is done twice at a time, and
// one that some machine could finish is done.
func TestNothingIsStuck(t *testing.T) {
	must.Long(t)
	for name, runs := range map[string]uint64{"SQLite": 4, "PostgreSQL": 1} {
		t.Run(name, func(t *testing.T) { testNothingIsStuck(t, dbtest.Locations[name], runs) })
	}
}

func testNothingIsStuck(t *testing.T, location func(testing.TB) string, runs uint64) {
	counts := map[string]uint64{}
	for seed := range runs {
		r := rand.New(rand.NewPCG(seed, 19))
		b := newBench(t, location(t), "lab1", "lab2", "lab3", "lab4", "lab5")
		var ids []string
		for i := range 4 {
			parts, priority := 1+int64(r.IntN(3)), int64(r.IntN(3))
			ids = append(ids, b.submit(t, fmt.Sprintf("x%d", i), "pool", parts, priority))
		}
		simulate(t, b, r)
		for _, id := range ids {
			state, _, _ := strings.Cut(b.state(t, id), " ")
			counts[state]++
			must.Be(t, state == database.Done || state == database.Failed, "seed", seed, id, "is stuck",
				b.state(t, id))
		}
	}
	must.Be(t, counts[database.Done] >= runs*2, counts, "too few are done for this to test anything")
	t.Logf("%v", counts)
}

// simulate runs five machines for 60 simulated days, in which two of them die.
func simulate(t *testing.T, b *bench, r *rand.Rand) {
	t.Helper()
	type lab struct {
		experiment string
		left       int
		dead       bool
	}
	labs := map[string]*lab{}
	names := []string{"lab1", "lab2", "lab3", "lab4", "lab5"}
	for _, name := range names {
		labs[name] = &lab{}
	}
	for step := range 60 * 24 / 4 {
		b.now = b.now.Add(4 * time.Hour)
		if r.IntN(20) == 0 { // the hub was killed
			_ = b.DB.Close()
			b.open(t)
		}
		if step == 10 || step == 40 {
			labs[names[r.IntN(len(names))]].dead = true
		}
		b.look(t, Config{Power: []Power{{Machines: "*", Times: 1, Cycle: []string{"/bin/true"}}}})
		name := names[r.IntN(len(names))]
		m := labs[name]
		switch {
		case m.dead || r.IntN(5) == 0: // silent
		case m.experiment == "":
			if _, n := b.ask(t, name); n != nil && r.IntN(3) > 0 { // or the answer is lost
				m.experiment, m.left = n.Experiment, 1+r.IntN(6)
			}
		default:
			m.left--
			p := api.Progress{Slots: 6, Left: m.left, NextBoot: 3600 * 20, Ended: m.left == 0}
			if r.IntN(30) == 0 {
				p.Ended = true // krund stopped
			}
			if b.report(t, m.experiment, name, p) == api.RequestStop || p.Ended {
				m.experiment = ""
			}
		}
	}
	for range 20 { // nothing reports any more
		b.now = b.now.Add(8 * 24 * time.Hour)
		b.look(t, Config{})
	}
}

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

// TestFair: a person's experiment does not wait behind fifty of others. Machine time goes to users
// and series by weight: a user with weight 3 gets three of four turns; priorities count only among
// a user's own.
func TestFair(t *testing.T) { dbtest.OnEach(t, testFair) }

func testFair(t *testing.T, at string) {
	b := newBench(t, at, "lab1")
	add := func(owner, name string, n int, priority int64) {
		for range n {
			b.now = b.now.Add(time.Second)
			b.update(t, func(tx *sql.Tx) (err error) {
				_, err = b.Submit(t.Context(), tx, database.Experiment{Name: name, Owner: owner, Bundle: "b",
					Target: "pool", ToPool: true, Parts: 1, Priority: priority})
				return err
			})
		}
	}
	serve := func(n int) string { // an hour each
		var list []string
		for range n {
			_, next := b.ask(t, "lab1")
			must.Need(t, next != nil, "nothing waits")
			b.now = b.now.Add(time.Hour)
			b.report(t, next.Experiment, "lab1", api.Progress{Slots: 1, Completed: 1, Ended: true})
			list = append(list, next.Name)
		}
		return strings.Join(list, " ")
	}
	add("ann", "fifty", 50, 9)
	must.Equal(t, serve(2), "fifty fifty")
	add("ben", "quick", 1, 0)
	must.Equal(t, serve(2), "quick fifty")
	b.Weights = Weights{Users: []Weight{{"c*", 3}}, Series: []Weight{{"rare", 0.5}}}
	b.now = b.now.Add(FairTime) // what was used before does not count
	add("cat", "often", 20, 0)
	add("cat", "rare", 20, 0)
	add("cat", "urgent", 1, 1)
	got := serve(16)
	must.Equal(t, fmt.Sprint(strings.Count(got, "fifty"), strings.Count(got, "urgent"), strings.Count(got,
		"often"),
		strings.Count(got, "rare")), "4 1 7 4", got)
	must.Be(t, strings.Index(got, "urgent") < strings.Index(got, "often"), got)
}
