package libkrun

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
)

// EventKind is what an event is about: enum krun_event_kind.
type EventKind uint32

// The kinds of events. The benchmark's process reports the first seven, and krund the others.
const (
	EventGC      EventKind = 1
	EventCompile EventKind = 2
	EventDeopt   EventKind = 3
	EventCode    EventKind = 4
	EventLoad    EventKind = 5
	EventPause   EventKind = 6
	EventMark    EventKind = 7
	EventSwitch  EventKind = 8
	EventIRQ     EventKind = 9
	EventFault   EventKind = 10
	EventSMI     EventKind = 11
)

var eventKinds = []string{"", "gc", "compile", "deopt", "code", "load", "pause", "mark", "switch", "irq",
	"fault", "smi"}

// String returns the kind's name in records: "gc", "compile", ...
func (k EventKind) String() string {
	if int(k) < len(eventKinds) {
		return eventKinds[k]
	}
	return ""
}

// Event is something that happened while the process ran. Times are nanoseconds on the clock of
// Now.
type Event struct {
	Kind       EventKind
	TimeNS     int64 // its start
	DurationNS int64 // 0: an instant, or unknown
	Argument   int64 // depends on the kind; Missing: none
	Name       string
}

// OtherName is the name of an event whose own name had no room in the table of names.
const OtherName = "(other)"

// readEvents returns the slots and the names, nil without events. A file that ends too early yields
// none.
func readEvents(r io.ReaderAt, spec Spec) (slots, names []byte, err error) {
	if spec.Events == 0 {
		return nil, nil, nil
	}
	at := spec.place()
	slots, names = make([]byte, spec.Events*slotBytes), make([]byte, at.bytes-at.names)
	err = errors.Join(readFull(r, slots, at.slots), readFull(r, names, at.names))
	if errors.Is(err, io.EOF) {
		return nil, nil, nil
	}
	return slots, names, err
}

// events decodes the events. It leaves out those that libkrun cannot have written, each with a
// finding.
func (s *Series) events(head, slots, names []byte, spec Spec) {
	next := binary.NativeEndian.Uint64(head[eventCountNext:])
	if spec.Events == 0 {
		if next != 0 {
			s.finding("%d events were counted, but none were asked for", next)
		}
		return
	}
	if slots == nil {
		s.finding("the buffer was truncated; its events are lost")
		return
	}
	used := int(min(next, uint64(spec.Events)))
	s.EventsLost = int(min(next-uint64(used), math.MaxInt32))
	kinds, unnamed := tally{what: "event", of: used}, tally{what: "event", of: used}
	for i := range used {
		e, known, named := event(slots[i*slotBytes:], names)
		switch {
		case e.Kind == 0: // its thread ended, or was killed, before it was complete
			s.EventsLost++
		case !known:
			kinds.add(i)
		case !named:
			unnamed.add(i)
		default:
			s.Events = append(s.Events, e)
		}
	}
	if kinds.n > 0 {
		s.finding("events of a kind that krun_event refuses: %s", kinds)
	}
	if unnamed.n > 0 {
		s.finding("events with a name that is not in the table, or not a name: %s", unnamed)
	}
}

// event decodes a slot. known reports whether the kind is one that libkrun stores, named whether
// the name is one.
func event(slot, names []byte) (e Event, known, named bool) {
	order := binary.NativeEndian
	e = Event{
		Kind:       EventKind(order.Uint32(slot[slotKind:])),
		TimeNS:     int64(order.Uint64(slot[slotTime:])),
		DurationNS: int64(order.Uint64(slot[slotDuration:])),
		Argument:   int64(order.Uint64(slot[slotArgument:])),
	}
	e.Name, named = eventName(order.Uint32(slot[slotName:]), names)
	return e, e.Kind >= EventGC && e.Kind <= EventMark, named
}

// eventName returns a name of the table.
func eventName(index uint32, names []byte) (name string, ok bool) {
	switch {
	case index == nameNone:
		return "", true
	case index == nameOther:
		return OtherName, true
	case index >= eventNames:
		return "", false
	}
	entry := names[int(index)*eventNameSize:][:eventNameSize]
	text, rest, ended := bytes.Cut(entry[eventNameText:], []byte{0})
	if binary.NativeEndian.Uint32(entry[eventNameState:]) != nameReady || len(text) == 0 || !ended ||
		len(bytes.Trim(rest, "\x00")) > 0 {
		return "", false
	}
	for _, c := range text {
		if c < ' ' || c > '~' {
			return "", false
		}
	}
	return string(text), true
}

// checkEvents removes the events that were not during the process's life, with a finding.
func (s *Series) checkEvents(made, now int64) {
	outside := tally{what: "event", of: len(s.Events)}
	kept := s.Events[:0]
	for i, e := range s.Events {
		if e.TimeNS < made || e.TimeNS > now || e.DurationNS < 0 || e.DurationNS > now-e.TimeNS {
			outside.add(i)
			continue
		}
		kept = append(kept, e)
	}
	s.Events = kept
	if outside.n > 0 {
		s.finding("events before the buffer was made, or after now: %s", outside)
	}
}
