package boot

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"krund/internal/durable/crashfs"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig/must"
)

// TestBaseIsReadAnew: an experiment whose schedule has no base temperatures does not measure
// without them: it reads and stores them, and adds a finding to the record of the next execution,
// which starts from them.
func TestBaseIsReadAnew(t *testing.T) {
	for name, more := range map[string]int{"a few sensors": 0, "more than there is room for": 40} {
		t.Run(name, func(t *testing.T) {
			cfg := parse(t, experimentText("executions = 2\nreboot = \"none\""))
			s, fsys := newSimulated(t), crashfs.New("/lab")
			x := must.Get(open(t.Context(), cfg, dir, config.RebootNone, s.system(fsys)))(t)
			must.Get(x.pass(t.Context()))(t)
			must.Do(t, x.schedule.UpdateHeader(func(h *schedule.Header) { h.BaseTemperatures = nil }))
			must.Do(t, x.end(t.Context(), Interrupted, nil))
			s.moreSensors, s.events = more, nil
			must.Get(Run(t.Context(), cfg, dir, config.RebootNone, s.system(fsys)))(t)
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
	cfg := parse(t, experimentText("executions = 1\nreboot = \"none\""))
	s, fsys := newSimulated(t), crashfs.New("/lab")
	x := must.Get(open(t.Context(), cfg, dir, config.RebootNone, s.system(fsys)))(t)
	s.unread = errors.New("the sensors are gone")
	_, err := x.pass(t.Context())
	must.Be(t, errors.Is(err, ErrUnfit) && errors.Is(err, s.unread) && s.applied == 0, err, "applied",
		s.applied)
}

func TestRemarksOfTheGateAreRecorded(t *testing.T) {
	s, fsys := newSimulated(t), crashfs.New("/lab")
	s.warmth = []string{"a sensor is gone"}
	s.oneBoot(parse(t, experimentText("executions = 1\nreboot = \"none\"")), fsys)
	for _, r := range recordsIn(t, fsys) {
		must.Be(t, r.Outcome == results.Completed && slices.Equal(r.Reasons, s.warmth), r.Outcome, "reasons",
			r.Reasons)
	}
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
