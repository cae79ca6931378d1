package libkrun

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// table compares what Create wrote with what is there now, and adds the columns: the counters from
// the spec, the user columns' names from the buffer. It stops at the first user column that is free
// or invalid.
func (s *Series) table(head []byte, spec Spec) {
	want := spec.encode()
	counters := headerBytes + len(spec.Columns)*entryBytes
	if !bytes.Equal(head[:planEnd], want[:planEnd]) {
		s.finding("the plan in the header was overwritten")
	}
	empty := make([]*uint64, len(spec.Columns))
	if len(spec.Groups) > 0 || spec.Scope == PerExecution {
		for i := range spec.Columns { // libkrun writes them: nothing to compare
			at := headerBytes + i*entryBytes + entryTotal
			copy(want[at:at+stampBytes], head[at:])
			v := binary.NativeEndian.Uint64(head[at:])
			if int64(v) >= 0 && spec.Scope == PerIteration {
				empty[i] = &v
			}
		}
	}
	if !bytes.Equal(head[headerBytes:counters], want[headerBytes:counters]) {
		s.finding("the counters' entries were overwritten")
	}
	for i, c := range spec.Columns {
		s.Columns = append(s.Columns, ColumnData{Kind: KindCounter, Column: c, Empty: empty[i]})
	}
	open := true
	for i := range spec.UserColumns {
		e := head[counters+i*entryBytes:][:entryBytes]
		empty := want[counters+i*entryBytes:][:entryBytes]
		switch c, ok := userColumn(e, empty); {
		case binary.NativeEndian.Uint32(e[entryKind:]) == kindFree:
			open = false
		case !ok || !open:
			s.finding("the entry of user column %d was overwritten", i)
			open = false
		case s.hasUser(c): // krun_column returns the one that is there
			s.finding("the entry of user column %d was overwritten: %s is there twice", i, c.Name)
			open = false
		default:
			s.Columns = append(s.Columns, ColumnData{Kind: KindUser, Column: c})
		}
	}
}

// hasUser reports whether there is a user column of that name and unit.
func (s *Series) hasUser(c Column) bool {
	return slices.ContainsFunc(s.Columns, func(d ColumnData) bool {
		return d.Kind == KindUser && d.Column == c
	})
}

// totals puts the counters' totals in the place of their columns when they were
// read per execution.
func (s *Series) totals(head []byte, spec Spec) {
	if spec.Scope != PerExecution {
		return
	}
	for i, c := range spec.Columns {
		v := int64(binary.NativeEndian.Uint64(head[headerBytes+i*entryBytes+entryTotal:]))
		s.Totals = append(s.Totals, Total{Column: c, Value: v})
	}
	s.Columns = s.Columns[len(spec.Columns):]
}

// userColumn decodes the entry of a named user column. empty is the entry as
// Create wrote it.
func userColumn(e, empty []byte) (Column, bool) {
	text := func(b []byte) string {
		s, rest, _ := bytes.Cut(b, []byte{0})
		if len(bytes.Trim(rest, "\x00")) > 0 {
			return "\x00" // something behind the end
		}
		return string(s)
	}
	c := Column{Name: text(e[entryName:entryUnit]), Unit: text(e[entryUnit : entryUnit+unitBytes]),
		Core: NoCore}
	ok := binary.NativeEndian.Uint32(e[entryKind:]) == kindUser &&
		bytes.Equal(e[entryCore:entryName], empty[entryCore:entryName]) &&
		validText(c.Name, 1, nameBytes-1, "") && validText(c.Unit, 0, unitBytes-1, "/%")
	return c, ok
}

// checkTimes finds impossible stamps: the order on the clock is made, exec, init, the iterations
// one after the other, done, now.
func (s *Series) checkTimes(made, now int64) {
	for _, stamp := range []struct {
		name string
		ns   *int64
	}{{"exec", &s.ExecNS}, {"init", &s.InitNS}, {"done", &s.DoneNS}, {"latest begin", &s.BegunNS}} {
		if *stamp.ns < 0 || *stamp.ns > now {
			s.finding("the %s stamp is %d ns, the clock shows %d", stamp.name, *stamp.ns, now)
		}
		if *stamp.ns > 0 && *stamp.ns < made {
			s.finding("the %s stamp is %d ns, the buffer was made at %d", stamp.name, *stamp.ns, made)
		}
	}
	if s.ExecNS > 0 && s.InitNS > 0 && s.InitNS < s.ExecNS {
		s.finding("krun_init is %d ns before exec", s.ExecNS-s.InitNS)
	}
	walls := tally{of: s.Done}
	starts := tally{of: s.Done}
	latest := max(s.InitNS, made, 0)
	for i, start := range s.StartNS {
		wall := s.WallNS[i]
		switch {
		case start < latest || start > now:
			starts.add(i)
			continue
		case wall < 0 || wall > now-start:
			walls.add(i)
			continue
		}
		latest = start + wall
	}
	if starts.n > 0 {
		s.finding("start stamps before the end of the iteration before, or in the future: %s", starts)
	}
	if walls.n > 0 {
		s.finding("wall times below zero, or beyond now: %s", walls)
	}
	if s.State == StateDone && s.DoneNS < latest {
		s.finding("krun_done is %d ns before the end of the last iteration", latest-s.DoneNS)
	}
}

// checkCounters finds counters that ran backwards.
func (s *Series) checkCounters() {
	for _, c := range s.Columns {
		if c.Kind != KindCounter {
			continue
		}
		t := tally{of: s.Done}
		for i, v := range c.Values {
			if v < 0 && v != Missing {
				t.add(i)
			}
		}
		if t.n > 0 {
			s.finding("counter %s%s ran backwards: %s", c.Name, onCore(c.Core), t)
		}
	}
	for _, c := range s.Totals {
		if c.Value < 0 && c.Value != Missing {
			s.finding("counter %s%s ran backwards during the execution", c.Name, onCore(c.Core))
		}
	}
}

// tally counts the iterations, or what else, with the same finding and remembers the first.
type tally struct {
	what         string // "" is "iteration"
	n, first, of int
}

func (t *tally) add(i int) {
	if t.n == 0 {
		t.first = i
	}
	t.n++
}

// String lists the iterations, counted from 0.
func (t tally) String() string {
	what := cmp.Or(t.what, "iteration")
	if t.n == 1 {
		return fmt.Sprintf("%s %d", what, t.first)
	}
	return fmt.Sprintf("%d of %d %ss, the first is %d", t.n, t.of, what, t.first)
}

// onCore names a core in a sentence.
func onCore(core int) string {
	if core == NoCore {
		return ""
	}
	return fmt.Sprintf(" on core %d", core)
}
