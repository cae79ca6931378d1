package schedule_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"krund/internal/durable/crashfs"
	"krund/internal/schedule"
	"krund/rig/must"
)

// withFlags creates a schedule whose slots have the given flags.
func withFlags(t testing.TB, flags string) *crashfs.FS {
	t.Helper()
	fsys := crashfs.New("/x")
	slots := func(yield func(schedule.Slot) bool) {
		for s := range plan(len(flags)) {
			s.Flag = schedule.Flag(flags[s.Index])
			if !yield(s) {
				return
			}
		}
	}
	must.Do(t, schedule.Create(fsys, path, header(), len(flags), slots))
	return fsys
}

// wantNext returns the first unfinished slot, or -1 if there is none.
func wantNext(flags string) int { return strings.IndexAny(flags, "OR") }

func checkNext(t *testing.T, what string, s *schedule.Schedule, want int) {
	t.Helper()
	slot, err := s.Current()
	switch {
	case want < 0 && !errors.Is(err, schedule.ErrDone):
		t.Errorf("%s: got %+v, %v; want ErrDone", what, slot, err)
	case want >= 0 && (err != nil || slot.Index != want):
		t.Errorf("%s: got %+v, %v; want slot %d", what, slot, err, want)
	}
}

// TestAnyHint: for any hint, the first unfinished slot is found.
func TestAnyHint(t *testing.T) {
	for _, flags := range []string{"OOOOOO", "COOOOO", "CROOOO", "CCOCCO", "CCCCCR", "OCCCCC",
		"CETSCC", "RRRRRR"} {
		for _, hint := range []int{0, 1, 2, 3, 4, 5, 6, 7, 1000, 1<<31 - 1} {
			fsys := withFlags(t, flags)
			s := open(t, fsys, true)
			must.Do(t, s.SetHint(hint))
			must.Do(t, s.Close())
			what := fmt.Sprintf("%s, hint %d", flags, hint)
			s = open(t, fsys, true)
			checkNext(t, what, s, wantNext(flags))
			// Continuing from there finishes every slot exactly once.
			for range strings.Count(flags, "O") + strings.Count(flags, "R") {
				slot := must.Get(s.Begin())(t)
				must.Do(t, s.Finish(slot, schedule.Completed))
			}
			checkNext(t, what+", at the end", s, -1)
			h := s.Header()
			must.Be(t, wantNext(flags) < 0 || h.Next <= 6, what, "the hint stays", h.Next)
		}
	}
}

// TestHintFarAhead: an unfinished slot outside the range that is checked before the hint is found
// before the end.
func TestHintFarAhead(t *testing.T) {
	const n, skipped, hint = 6000, 17, 5990
	flags := []byte(strings.Repeat("C", hint) + strings.Repeat("O", n-hint))
	flags[skipped] = 'O'
	fsys := withFlags(t, string(flags))
	s := open(t, fsys, true)
	must.Do(t, s.SetHint(hint))
	must.Do(t, s.Close())
	s = open(t, fsys, true)
	var order []int
	for {
		slot, err := s.Begin()
		if errors.Is(err, schedule.ErrDone) {
			break
		}
		must.Do(t, err)
		order = append(order, slot.Index)
		must.Do(t, s.Finish(slot, schedule.Completed))
	}
	must.Be(t, len(order) == n-hint+1 && order[len(order)-1] == skipped, "ran", order)
}

// TestStepBack: a finished slot that is to run again is found at once, in this process, after a
// crash in between, and if the newer header is lost.
func TestStepBack(t *testing.T) {
	build := func() *crashfs.FS {
		fsys := withFlags(t, strings.Repeat("C", 4000)+"OO")
		s := open(t, fsys, true)
		must.Do(t, s.SetHint(4000))
		return fsys.Reboot(crashfs.Nothing)
	}
	again := func(fsys *crashfs.FS) error {
		s, err := schedule.Open(fsys, path, true)
		if err != nil {
			return err
		}
		slot, err := s.Slot(3)
		if err != nil {
			return err
		}
		return s.Finish(slot, schedule.Outstanding)
	}
	for cut, after := range crashfs.EveryCut(build, again, crashfs.Policies(*seed)...) {
		variants := map[string]*crashfs.FS{
			"as it is":  after,
			"A damaged": corrupt(after, func(d []byte) []byte { d[5]++; return d }),
			"B damaged": corrupt(after, func(d []byte) []byte { d[517]++; return d }),
		}
		for name, fsys := range variants {
			s, err := schedule.Open(fsys, path, true)
			if errors.Is(err, schedule.ErrHeaders) && name != "as it is" {
				continue // one copy torn by the cut, the other one by this test
			}
			must.Do(t, err)
			if slot, err := s.Slot(3); err == nil && slot.Flag == schedule.Outstanding {
				checkNext(t, cut.String()+", "+name, s, 3)
			} else if cut.Err == nil {
				t.Errorf("%s, %s: the slot is %+v, %v", cut, name, slot, err)
			} else {
				checkNext(t, cut.String()+", "+name, s, 4000)
			}
		}
	}
}

// TestHintIsNeverAhead: random runs with reruns and resets; the stored header is checked after
// every call.
func TestHintIsNeverAhead(t *testing.T) {
	chance := rand.New(rand.NewPCG(*seed, 1))
	fsys := withFlags(t, strings.Repeat("O", 30))
	s := open(t, fsys, true)
	for range 400 {
		if chance.IntN(8) == 0 {
			slot := must.Get(s.Slot(chance.IntN(30)))(t)
			must.Do(t, s.Finish(slot, schedule.Outstanding))
		} else if slot, err := s.Begin(); err == nil {
			must.Do(t, s.Finish(slot, []schedule.Flag{schedule.Completed,
				schedule.Outstanding}[chance.IntN(2)]))
		} else if !errors.Is(err, schedule.ErrDone) {
			t.Fatal(err)
		}
		now := open(t, fsys.Survivor(crashfs.Nothing), false)
		want := wantNext(flags(t, now))
		h := now.Header()
		must.Need(t, want < 0 || h.Next <= want, "the hint is", h.Next, "and slot", want, "is unfinished")
		checkNext(t, "now", s, want)
	}
}
