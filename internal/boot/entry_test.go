package boot

import (
	"context"
	"errors"
	"slices"
	"testing"

	"krund/internal/durable/crashfs"
	"krund/internal/experiment/directory"
	"krund/internal/schedule"
	"krund/rig/must"
)

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

func TestAStopTakesTheRequestBack(t *testing.T) {
	cfg := parse(t, hardware(""))
	s, loader := withEntry(t)
	fsys := crashfs.New("/lab")
	s.oneBoot(cfg, fsys)
	s.boot++
	s.during = func(context.Context) { ask(t, fsys, directory.Stop) }
	if ending := s.oneBoot(cfg, fsys); ending != Stopped || loader.asked || !s.retired {
		t.Errorf("ending %d, asked %t, retired %t", ending, loader.asked, s.retired)
	}
}
