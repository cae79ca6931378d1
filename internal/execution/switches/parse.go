package switches

import (
	"bytes"
	"encoding/binary"
	"math"
)

// The records that are used, and their sizes: linux/perf_event.h, enum perf_event_type. Each ends
// with the identity and the time that sampleID asks for.
const (
	recordComm   = 3  // header, pid, tid, name, sample
	recordFork   = 7  // header, pid, ppid, tid, ptid, time, sample
	recordSwitch = 15 // header, pid and tid of the other task, sample

	headerBytes = 8
	sampleBytes = 16 // pid, tid, time
	forkBytes   = headerBytes + 24 + sampleBytes
	switchBytes = headerBytes + 8 + sampleBytes
	commBytes   = headerBytes + 8 + 8 + sampleBytes // at least

	// in the header: the task stops running; and could go on (since Linux 4.17)
	switchOut     = 1 << 13
	switchPreempt = 1 << 14
)

// gone is the number of a task that has none any more: kernel/events/core.c, perf_event_pid_type.
const gone = -1

// record is something that the kernel noted on a processor.
type record struct {
	kind     uint32
	out      bool  // recordSwitch: the task stops running, else it starts
	ready    bool  // recordSwitch: the task stops running, though it could go on
	pid, tid int32 // of the task that switches, has a new name, or is new
	parent   int32 // recordFork: thread that made it
	time     int64 // ns on the clock of libkrun
	name     string
	ring     int // processor that noted it, counted from 0: filled in by newLog
}

// parse reads the records of a processor. ok is false if something is not as the kernel writes it;
// the records before that are returned.
func parse(raw []byte) (list []record, ok bool) {
	for len(raw) > 0 {
		if len(raw) < headerBytes {
			return list, false
		}
		size := int(binary.NativeEndian.Uint16(raw[6:]))
		if size < headerBytes || size > len(raw) || size%8 != 0 {
			return list, false
		}
		r, known, ok := parseRecord(raw[:size])
		if !ok {
			return list, false
		}
		if known {
			list = append(list, r)
		}
		raw = raw[size:]
	}
	return list, true
}

// parseRecord reads one record; known is false for those that are of no use here.
func parseRecord(raw []byte) (r record, known, ok bool) {
	order := binary.NativeEndian
	number := func(at int) int32 { return int32(order.Uint32(raw[at:])) } //nolint:gosec // -1 is gone
	r.kind = order.Uint32(raw)
	sample := len(raw) - sampleBytes
	switch {
	case r.kind == recordSwitch && len(raw) == switchBytes:
		misc := order.Uint16(raw[4:])
		r.out, r.ready = misc&switchOut != 0, misc&switchPreempt != 0
		r.pid, r.tid = number(sample), number(sample+4)
	case r.kind == recordComm && len(raw) >= commBytes:
		r.pid, r.tid, r.name = number(8), number(12), plain(raw[16:sample])
	case r.kind == recordFork && len(raw) == forkBytes:
		r.pid, r.tid, r.parent = number(8), number(16), number(20)
	default:
		used := r.kind == recordSwitch || r.kind == recordComm || r.kind == recordFork
		return r, false, !used
	}
	time := order.Uint64(raw[sample+8:])
	r.time = int64(time & math.MaxInt64)
	return r, true, time <= math.MaxInt64
}

// plain is a task's name up to its zero; what is not printable ASCII becomes a question mark.
func plain(name []byte) string {
	name, _, _ = bytes.Cut(name, []byte{0})
	return string(bytes.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, name))
}
