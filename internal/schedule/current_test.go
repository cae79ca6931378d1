package schedule_test

import (
	"errors"
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

// TestCurrent: the first unfinished slot is found, and going on from there finishes each slot once,
// also one before it that becomes unfinished again.
func TestCurrent(t *testing.T) {
	for _, flags := range []string{"OOOOOO", "COOOOO", "CROOOO", "CCOCCO", "CCCCCR", "OCCCCC", "CETSCC",
		"RRRRRR", strings.Repeat("C", 3000) + "OCOC"} {
		s := open(t, withFlags(t, flags), true)
		checkNext(t, flags, s, wantNext(flags))
		for range strings.Count(flags, "O") + strings.Count(flags, "R") {
			slot := must.Get(s.Begin())(t)
			must.Do(t, s.Finish(slot, schedule.Completed))
		}
		checkNext(t, flags+", at the end", s, -1)
		must.Do(t, s.Finish(must.Get(s.Slot(3))(t), schedule.Outstanding))
		checkNext(t, flags+", again", s, 3)
	}
}
