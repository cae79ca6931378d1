package libkrun

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"strings"
	"testing"

	"krund/rig/must"
)

var eventSpec = Spec{Iterations: 4, UserColumns: 1, Events: 6, made: 800}

// event writes an event into a slot; name is an index in the table.
func (m image) event(slot int64, kind, name uint32, time, duration, argument int64) image {
	at := eventSpec.place().slots + slot*slotBytes
	m.u32(at+slotKind, kind).u32(at+slotName, name)
	return m.i64(at+slotTime, time).i64(at+slotDuration, duration).i64(at+slotArgument, argument)
}

// name writes an entry of the table of names.
func (m image) name(index int64, state uint32, text string) image {
	at := eventSpec.place().names + index*eventNameSize
	copy(m[at+eventNameText:], text)
	return m.u32(at+eventNameState, state)
}

// eventful is a buffer of eventSpec after a process that reported four events of which one is not
// complete.
func eventful() image {
	m := blank(eventSpec)
	m.u32(progressState, uint32(StateReady)).i64(progressPid, 77).i64(progressInit, 1000)
	m.i64(eventCountNext, 4).name(17, nameReady, "Richards.run(int)").name(18, 1, "half")
	m.event(0, uint32(EventGC), nameNone, 1500, 300, 4096)
	m.event(1, uint32(EventCompile), 17, 900, 0, Missing) // before krun_init: the VM was starting
	m.event(2, 0, 17, 1, 1, 1)
	return m.event(3, uint32(EventMark), nameOther, 2000, 0, -1)
}

func TestEventsAreRead(t *testing.T) {
	s, err := read(bytes.NewReader(eventful()), eventSpec, at(2000))
	must.Need(t, err == nil && len(s.Findings) <= 0, "error", err, "findings", s.Findings)
	want := []Event{
		{Kind: EventGC, TimeNS: 1500, DurationNS: 300, Argument: 4096},
		{Kind: EventCompile, TimeNS: 900, Argument: Missing, Name: "Richards.run(int)"},
		{Kind: EventMark, TimeNS: 2000, Argument: -1, Name: OtherName},
	}
	must.Be(t, reflect.DeepEqual(s.Events, want) && s.EventsLost == 1, s.Events, s.EventsLost, "lost", want,
		"and 1")
}

// TestEventsScribbled overwrites one thing at a time.
func TestEventsScribbled(t *testing.T) {
	off := eventSpec.place()
	tests := []struct {
		name         string
		change       func(image) image
		finding      string // "" for none
		events, lost int
	}{
		{"more than slots", func(m image) image { return m.i64(eventCountNext, 1006) }, "", 3, 1003},
		{"no slot used", func(m image) image { return m.i64(eventCountNext, 0) }, "", 0, 0},
		{"huge count", func(m image) image { return m.i64(eventCountNext, -1) }, "", 3, 1<<31 - 1 + 3},
		{"unknown kind", func(m image) image { return m.event(0, 12, nameNone, 1500, 0, 0) },
			"a kind that krun_event refuses: event 0", 2, 1},
		{"krund's kind", func(m image) image { return m.event(3, uint32(EventSwitch), nameNone, 1500, 0, 0) },
			"a kind that krun_event refuses: event 3", 2, 1},
		{"name out of range", func(m image) image { return m.event(0, 1, eventNames, 1500, 0, 0) },
			"not in the table, or not a name: event 0", 2, 1},
		{"name not ready", func(m image) image { return m.event(0, 1, 18, 1500, 0, 0) },
			"not in the table, or not a name: event 0", 2, 1},
		{"empty name", func(m image) image { return m.event(0, 1, 5, 1500, 0, 0).name(5, nameReady, "") },
			"not in the table, or not a name: event 0", 2, 1},
		{"newline in a name", func(m image) image { return m.name(17, nameReady, "a\n<b>\x1b[31m") },
			"not in the table, or not a name: event 1", 2, 1},
		{"name without end", func(m image) image {
			return m.name(17, nameReady, strings.Repeat("n", eventNameBytes))
		}, "not in the table, or not a name: event 1", 2, 1},
		{"behind a name", func(m image) image { return m.name(17, nameReady, "a\x00b") },
			"not in the table, or not a name: event 1", 2, 1},
		{"before the buffer", func(m image) image { return m.event(0, 1, nameNone, 799, 0, 0) },
			"before the buffer was made, or after now: event 0", 2, 1},
		{"in the future", func(m image) image { return m.event(0, 1, nameNone, 2001, 0, 0) },
			"before the buffer was made, or after now: event 0", 2, 1},
		{"ends in the future", func(m image) image { return m.event(0, 1, nameNone, 1500, 501, 0) },
			"before the buffer was made, or after now: event 0", 2, 1},
		{"longest duration", func(m image) image { return m.event(0, 1, nameNone, 1500, 1<<63-1, 0) },
			"before the buffer was made, or after now: event 0", 2, 1},
		{"negative duration", func(m image) image { return m.event(0, 1, nameNone, 1500, -1, 0) },
			"before the buffer was made, or after now: event 0", 2, 1},
		{"negative time", func(m image) image { return m.event(0, 1, nameNone, -1<<63, 0, 0) },
			"before the buffer was made, or after now: event 0", 2, 1},
		{"number of slots", func(m image) image { return m.u32(planEvents, 1<<20) },
			"the plan in the header was overwritten", 3, 1},
		{"short names", func(m image) image { return m[:off.names+100] }, "its events are lost", 0, 0},
		{"short slots", func(m image) image { return m[:off.slots+100] }, "its events are lost", 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := must.Get(read(bytes.NewReader(test.change(eventful())), eventSpec, at(2000)))(t)
			must.Be(t, (test.finding != "" || len(s.Findings) == 0) && (test.finding == "" ||
				len(s.Findings) == 1 && strings.Contains(s.Findings[0], test.finding)), "findings",
				s.Findings, "want", test.finding)
			must.Be(t, len(s.Events) == test.events && s.EventsLost == test.lost, len(s.Events), "events and",
				s.EventsLost, "lost", test.events, test.lost)
		})
	}
}

// TestBufferWithoutEvents: it is the same as before there were events, so that a program with an
// older libkrun linked into it can use it; and that libkrun refuses one with events.
func TestBufferWithoutEvents(t *testing.T) {
	version := func(s Spec) uint32 { return binary.NativeEndian.Uint32(s.encode()[planVersion:]) }
	plain := Spec{Iterations: 2000, UserColumns: 8}
	must.Equal(t, version(plain), 1, "version", "want 1")
	// 512 + 8 * 128 bytes, on the next page; 10 arrays of 2000 * 8 bytes
	must.Equal(t, plain.place().bytes, 4096+10*16000, "bytes, want 164096")
	must.Equal(t, version(Spec{Iterations: 2000, UserColumns: 8, Events: 1}), 2, "version",
		"with events, want 2")
	usage := Spec{Iterations: 1, Columns: make([]Column, 6),
		Groups: []Group{{Source: SourceUsage, Columns: 6}}}
	must.Equal(t, version(usage), 3, "version", "with the usage of the process, want 3")
	s, err := read(bytes.NewReader(sound().i64(eventCountNext, 1)), testSpec, at(2000))
	must.Be(t, err == nil && len(s.Findings) == 1 && strings.Contains(s.Findings[0], "none were asked for"),
		"events without slots", err, s.Findings)
}

func TestEventKinds(t *testing.T) {
	for kind, want := range map[EventKind]string{0: "", EventGC: "gc", EventMark: "mark", EventSMI: "smi",
		12: "", 1<<32 - 1: ""} {
		must.Equal(t, kind.String(), want, "kind", uint32(kind))
	}
}

// FuzzEvents scribbles over the events of a buffer: edits are groups of twelve bytes, where to
// write (four) and what (eight).
func FuzzEvents(f *testing.F) {
	off := eventSpec.place()
	edit := func(at, v int64) []byte {
		return binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint32(nil, uint32(at)), uint64(v))
	}
	f.Add(edit(eventCountNext, 1<<40), uint32(off.bytes), int64(2000))
	f.Add(edit(off.slots, -1), uint32(off.names), int64(0))
	f.Add(edit(off.names+17*eventNameSize+8, 1), uint32(off.bytes), int64(1<<62))
	f.Fuzz(func(t *testing.T, edits []byte, size uint32, now int64) {
		m := eventful()
		for ; len(edits) >= 12; edits = edits[12:] {
			copy(m[int(binary.NativeEndian.Uint32(edits))%len(m):], edits[4:12])
		}
		s := must.Get(
			read(bytes.NewReader(m[:min(int(size), len(m))]), eventSpec, at(now)))(t, "reading memory failed")
		must.Need(t, len(s.Events) <= eventSpec.Events && s.EventsLost >= 0, len(s.Events), "events",
			s.EventsLost, "lost")
		for _, e := range s.Events {
			if e.Kind < EventGC || e.Kind > EventMark || e.TimeNS < eventSpec.made || e.DurationNS < 0 ||
				e.TimeNS+e.DurationNS > now || len(e.Name) >= eventNameBytes ||
				strings.ContainsFunc(e.Name, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Fatalf("event %+v of a process that lived from %d to %d", e, eventSpec.made, now)
			}
		}
	})
}
