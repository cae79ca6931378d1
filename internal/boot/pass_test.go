package boot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"krund/internal/durable"
	"krund/internal/durable/crashfs"
	"krund/internal/execution"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig/must"
)

// TestHooksKnowTheExecution: the hooks get the key, the attempt, and afterwards outcome and record.
func TestHooksKnowTheExecution(t *testing.T) {
	cfg := parse(t, experimentText("executions = 1\nreboot = \"none\""))
	s := newSimulated(t)
	must.Get(Run(t.Context(), cfg, dir, "none", s.system(crashfs.New("/lab"))))(t)
	before := "KRUND_EXPERIMENT=x KRUND_DIRECTORY=/lab/x.krun KRUND_KEY=nbody:C:default-c KRUND_ARM= " +
		"KRUND_SLOT=0 KRUND_EXECUTION=1 KRUND_ATTEMPT=1"
	after := before + " KRUND_OUTCOME=completed KRUND_RECORD=/lab/x.krun/results/0000000-001.json.gz"
	must.Be(t, len(s.hooks) == 4 && s.hooks[0] == before && s.hooks[1] == after, "the hooks got",
		strings.Join(s.hooks, "\n"), "want", before, after)
}

// TestFailingAfterHook: a hook that fails after an execution is reported, and stops the experiment
// only if the configuration says so. The record is kept in any case.
func TestFailingAfterHook(t *testing.T) {
	for policy, want := range map[string]string{"report": "CC", "stop": "CO"} {
		t.Run(policy, func(t *testing.T) {
			text := experimentText("executions = 1\nreboot = \"none\"") + "[hooks]\nafter_failure = \"" +
				policy + "\"\n"
			s, fsys := newSimulated(t), crashfs.New("/lab")
			s.afterFails = errors.New("no network")
			_, err := Run(t.Context(), parse(t, text), dir, "none", s.system(fsys))
			stopped := errors.Is(err, ErrUnfit) && strings.Contains(err.Error(), "hooks: no network")
			must.Be(t, (policy == "stop") == stopped && (policy != "report" || err == nil), "error", err)
			must.Equal(t, flags(t, fsys), want, "slots")
			must.Be(t, s.applied == 0 && strings.Contains(s.log.String(), "no network"), "settings left",
				s.applied, "log", s.log.String())
		})
	}
}

// TestShip: each execution is followed by one shipment, on a restored machine; that the hub is dead
// changes nothing.
func TestShip(t *testing.T) {
	cfg := parse(t, experimentText("executions = 2\nreboot = \"none\""))
	s, disk := newSimulated(t), crashfs.New("/lab")
	sys := s.system(disk)
	shipped := 0
	sys.Ship = func(context.Context) error {
		shipped++
		last := len(s.events) - 1
		if run, restored := lastOf(s.events, "run"), lastOf(s.events, "restore"); restored < run {
			t.Errorf("shipment %d: the machine was not restored: %q", shipped, s.events[max(0, last-8):])
		}
		return errors.New("no route to the hub")
	}
	ending, err := Run(t.Context(), cfg, dir, "none", sys)
	must.Need(t, ending == Finished && err == nil, ending, err)
	must.Equal(t, shipped, cfg.Slots(), "shipments")
	must.Do(t, audit(disk, cfg, nil))
}

func lastOf(events []string, name string) int {
	for i, e := range slices.Backward(events) {
		if e == name {
			return i
		}
	}
	return -1
}

// TestWhatABenchmarkLeavesIsBounded: neither the record nor the mails grow with what a benchmark
// leaves behind.
func TestWhatABenchmarkLeavesIsBounded(t *testing.T) {
	s, fsys, cfg := simulate(t, experimentText("executions = 1\nreboot = \"none\""))
	s.outcome = func(j execution.Job, boot int) execution.Measured {
		m := failed(j, boot)
		for range 4096 {
			m.Process.Findings = append(m.Process.Findings,
				"process 4711 (sh) of the benchmark cannot be killed: state D")
			m.Execution.Series = append(m.Execution.Series, "a reason of its own")
		}
		return m
	}
	s.oneBoot(cfg, fsys)
	records := 0
	for r, err := range results.NewReader(fsys, dir+"/results").All() {
		must.Do(t, err)
		records++
		n := len(strings.Join(append(r.Process.Findings, r.Reasons...), "\n"))
		must.Be(t, n <= 200_000, "record", r.Slot, "-", r.Attempt, "has", n, "bytes of sentences")
	}
	must.Be(t, records != 0, "nothing was stored")
	for _, text := range s.told {
		must.Be(t, len(text) <= 100_000, "a message of", len(text), "bytes", text)
	}
}

// TestBaseIsReadAnew: an experiment whose schedule has no base temperatures does not measure
// without them: it reads and stores them, and adds a finding to the record of the next execution,
// which starts from them.
func TestBaseIsReadAnew(t *testing.T) {
	for name, more := range map[string]int{"a few sensors": 0, "more than there is room for": 40} {
		t.Run(name, func(t *testing.T) {
			s, fsys, cfg := simulate(t, experimentText("executions = 2\nreboot = \"none\""))
			x := must.Get(open(t.Context(), cfg, dir, config.RebootNone, s.system(fsys)))(t)
			must.Get(x.pass(t.Context()))(t)
			must.Do(t, x.schedule.UpdateHeader(func(h *schedule.Header) { h.BaseTemperatures = nil }))
			must.Do(t, x.end(t.Context(), Interrupted, nil))
			s.moreSensors, s.events = more, nil
			s.oneBoot(cfg, fsys)
			// to see whether there are sensors, and after the wait
			must.Equal(t, strings.Count(strings.Join(s.events, " "), "base"), 2, "base read", "times",
				s.events)
			records := recordsIn(t, fsys)
			if len(records) != 4 { // of two benchmarks
				t.Fatalf("%d records", len(records))
			}
			for i, r := range records {
				want := min(1+more, schedule.SpareSensors)
				if i == 0 {
					want = 1
				}
				anew := strings.Contains(strings.Join(r.Process.Findings, "\n"), "read again")
				must.Be(t, anew == (i == 1) && len(r.Machine.Temperatures.Base) == want, "record", i,
					len(r.Machine.Temperatures.Base), "base temperatures, want", want, "findings",
					r.Process.Findings)
			}
		})
	}
}

func TestBaseThatCannotBeRead(t *testing.T) {
	s, fsys, cfg := simulate(t, experimentText("executions = 1\nreboot = \"none\""))
	x := must.Get(open(t.Context(), cfg, dir, config.RebootNone, s.system(fsys)))(t)
	s.unread = errors.New("the sensors are gone")
	_, err := x.pass(t.Context())
	must.Be(t, errors.Is(err, ErrUnfit) && errors.Is(err, s.unread) && s.applied == 0, err, "applied",
		s.applied)
}

func recordsIn(t *testing.T, fsys *crashfs.FS) []results.Record {
	t.Helper()
	var list []results.Record
	for r, err := range results.NewReader(fsys, dir+"/results").All() {
		must.Do(t, err)
		list = append(list, r)
	}
	return list
}

// TestGiveUp: a key that fails the same way in each execution is given up, the others go on; one
// that has a result, or fails in different ways, is not. C is completed, E an error, S skipped.
func TestGiveUp(t *testing.T) {
	fasta := 0
	fails := func(j execution.Job, boot int) execution.Measured {
		if j.Benchmark == "fasta" {
			return failed(j, boot)
		}
		return good(j, boot)
	}
	for name, c := range map[string]struct {
		more    string
		outcome func(execution.Job, int) execution.Measured
		want    string
	}{
		"three by default": {"", fails, "CECECECSCS"},
		"after a reboot":   {"reboot = \"hardware\"\nmax_reboots = 20", fails, "CECECECSCS"},
		"as configured":    {"give_up = 2", fails, "CECECSCSCS"},
		"never":            {"give_up = 0", fails, "CECECECECE"},
		"once it has run": {"", func(j execution.Job, boot int) execution.Measured {
			if fasta++; fasta <= 2 {
				return good(j, boot)
			}
			return fails(j, boot)
		}, "CCCECECECE"},
		"in different ways": {"", func(j execution.Job, boot int) execution.Measured {
			m := fails(j, boot)
			if fasta++; fasta%4 == 0 && m.Process.Exit != nil && *m.Process.Exit == 1 {
				m.Execution.Signal, m.Process.Exit, m.Execution.Exit = "SIGSEGV", nil, nil
			}
			return m
		}, "CECECECECE"},
	} {
		t.Run(name, func(t *testing.T) {
			fasta = 0
			s := newSimulated(t)
			s.outcome = c.outcome
			if !strings.Contains(c.more, "reboot") {
				c.more += "\nreboot = \"none\""
			}
			cfg := parse(t, experimentText("executions = 5\nattempts = 1\n"+c.more))
			fsys := must.Get(s.lifetime(cfg, crashfs.New("/lab"), 20, rebooted))(t)
			must.Equal(t, flags(t, fsys), c.want)
			must.Equal(t, strings.Contains(s.log.String(), "a key is given up"), strings.Contains(c.want,
				"S"))
		})
	}
}

const arms = `[arms.base]
[arms.new]
args = ["-x"]
[arms.again]
null = true
`

// TestEveryCutWithArms cuts the power in each operation of an experiment with arms: afterwards each
// block has each key once in each arm.
func TestEveryCutWithArms(t *testing.T) {
	must.Long(t)
	cfg := parse(t, experimentText("executions = 1\nattempts = 2\nreboot = \"hardware\"\n"+
		"layout = \"random\"\nrelink = [\"./relink\"]\nskip = [\"*:*:*@again\"]")+arms)
	t.Parallel()
	cutEverywhere(t, cfg, func(*simulated) {})
}

// TestBlocks: the arms of a key follow each other, in different orders; all of them have the layout
// of their block, also when a slot is run again; and the commands are those of the arms.
func TestBlocks(t *testing.T) {
	const executions = 8
	s, fsys, cfg := simulate(t, experimentText(fmt.Sprintf("executions = %d\nattempts = 2\n"+
		"reboot = \"none\"\n"+
		"layout = \"random\"\nrelink = [\"./relink\"]\nseed = 9", executions))+arms)
	layouts := map[int]execution.Layout{}
	var ran []execution.Job
	s.outcome = func(j execution.Job, boot int) execution.Measured {
		ran = append(ran, j)
		m := good(j, boot)
		m.Layout = &results.Layout{Mode: j.Layout.Mode, OffsetBytes: j.Layout.Offset,
			Relink: j.Layout.Relinked}
		if len(ran)%3 == 0 { // disturbed: its slot is run again, if there is an attempt left
			m.Execution.Refused = []string{"disturbed"}
		}
		return m
	}
	s.oneBoot(cfg, fsys)
	for _, j := range ran {
		want := j.Key.Arm == "new"
		must.Equal(t, slices.Equal(j.VM.Args, []string{"-x"}), want, j.Key, "arguments", j.VM.Args)
	}
	for r, err := range results.NewReader(fsys, dir+"/results").All() {
		must.Do(t, err)
		offset := schedule.Offset(9, r.Pexec)
		l, seen := layouts[r.Pexec]
		must.Be(t, (!seen || l.Offset == r.Layout.OffsetBytes) && offset == r.Layout.OffsetBytes, "slot",
			r.Slot, "attempt", r.Attempt, "layout", r.Layout, "that of its block is", offset)
		if l := r.Layout.Relink; l == nil || l.Seed != schedule.LinkSeed(9, r.Pexec) {
			t.Errorf("slot %d, attempt %d: relinked with %+v", r.Slot, r.Attempt, l)
		}
		layouts[r.Pexec] = execution.Layout{Offset: r.Layout.OffsetBytes}
	}
	orders := ordersOf(t, fsys, executions)
	must.Be(t, len(layouts) == executions && len(orders) >= 4, len(layouts), "layouts, orders", orders)
}

// ordersOf returns the orders in which the arms were run, with how often, and checks that they are
// next to each other.
func ordersOf(t *testing.T, fsys durable.FS, executions int) map[string]int {
	t.Helper()
	s := must.Get(schedule.Open(fsys, dir+"/schedule", false))(t)
	defer s.Close()
	var slots []schedule.Slot
	for slot, err := range s.Slots() {
		must.Do(t, err)
		slots = append(slots, slot)
	}
	orders := map[string]int{}
	for block := range slices.Chunk(slots, 3) {
		order := ""
		for _, slot := range block {
			order += slot.Key.Arm + " "
			must.Be(t, slot.Key.Benchmark == block[0].Key.Benchmark && slot.Pexec == block[0].Pexec, "slot",
				slot.Index, "is among those of slot", block[0].Index)
		}
		orders[order]++
	}
	must.Be(t, s.Header().Order == schedule.Blocked && len(slots) == 2*3*executions, "order",
		s.Header().Order, len(slots), "slots")
	return orders
}

// bootLoader is the boot loader of a simulated machine: each boot clears the request.
type bootLoader struct {
	*simulated
	asked   bool
	refuses error
}

func (b *bootLoader) Ask(context.Context) error {
	b.event("ask")
	b.asked = b.refuses == nil
	return b.refuses
}

func (b *bootLoader) Withdraw(context.Context) error {
	b.event("withdraw")
	b.asked = false
	return nil
}

// withEntry is a simulated machine whose experiment has a boot entry.
func withEntry(t *testing.T) (*simulated, *bootLoader) {
	s := newSimulated(t)
	loader := &bootLoader{simulated: s}
	s.entry = loader
	return s, loader
}

// before reports whether the first of each event comes before that of the next.
func (s *simulated) before(names ...string) bool {
	last := -1
	for _, name := range names {
		at := slices.Index(s.events, name)
		if at <= last {
			return false
		}
		last = at
	}
	return true
}

func TestTheNextBootIsAskedForBeforeAnythingCanFail(t *testing.T) {
	cfg := parse(t, hardware(""))
	s, loader := withEntry(t)
	fsys := crashfs.New("/lab")
	ending := s.oneBoot(cfg, fsys)
	must.Need(t, ending == Rebooting && loader.asked, "ending", ending, "asked", loader.asked,
		"this boot only starts the experiment and restarts into one of its own")
	s.boot++
	loader.asked, s.events = false, nil
	s.during = func(context.Context) {
		must.Be(t, loader.asked, "a crash of the benchmark would end the experiment")
	}
	ending = s.oneBoot(cfg, fsys)
	must.Need(t, ending == Rebooting && loader.asked, "ending", ending, "asked", loader.asked)
	must.Be(t, s.before("ask", "settle 10s of 3m0s", "apply", "run", "reboot"), s.events)
	s.boot++
	must.Get(s.lifetime(cfg, fsys, 10, rebooted))(t)
	must.Be(t, !loader.asked && s.retired, "at the end: asked", loader.asked, "retired", s.retired)
}

func TestABootThatCannotBeAskedForStopsTheExperiment(t *testing.T) {
	cfg := parse(t, hardware(""))
	s, loader := withEntry(t)
	fsys := crashfs.New("/lab")
	s.oneBoot(cfg, fsys)
	s.boot++
	loader.refuses = errors.New("no space left")
	_, err := Run(t.Context(), cfg, dir, cfg.Experiment.Reboot, s.system(fsys))
	must.Be(t, errors.Is(err, ErrUnfit) && errors.Is(err, loader.refuses), "error", err)
	sched := must.Get(schedule.Open(fsys, dir+"/schedule", false))(t)
	defer sched.Close()
	slot, err := sched.Slot(0)
	must.Be(t, err == nil && slot.Attempts == 0 && len(records(fsys)) == 0 && s.retired && s.reboots == 1,
		"slot", slot, err, len(records(fsys)), "records, retired", s.retired, s.reboots, "reboots")
}

func TestAHoldDuringAnExecutionTakesTheRequestBack(t *testing.T) {
	cfg := parse(t, hardware(""))
	s, loader := withEntry(t)
	fsys := crashfs.New("/lab")
	s.oneBoot(cfg, fsys)
	s.boot++
	s.during = func(context.Context) { ask(t, fsys, directory.Hold) }
	ending := s.oneBoot(cfg, fsys)
	must.Be(t, ending == Rebooting && !loader.asked && !s.retired, "ending", ending, "asked", loader.asked,
		"retired", s.retired, "want an ordinary boot, and the unit enabled")
}
