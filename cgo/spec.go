package libkrun

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// NoCore is the Core of a column that does not belong to one core.
const NoCore = -1

// Column names one value that is recorded for each iteration.
type Column struct {
	Name string // 1 to 47 of A-Z a-z 0-9 _ . -
	Unit string // 0 to 23 of the same or / %; "" for plain numbers
	Core int    // of a per-core counter, else NoCore
}

// Spec is the plan of a buffer.
type Spec struct {
	Iterations  int      // planned, 1 to 16,777,216
	Columns     []Column // the counters, in the order of the record; at most 8192
	UserColumns int      // slots for columns that the measured process names, at most 64
	Events      int      // slots for events, at most 1,048,576; 0: the process reports none

	// Groups are how libkrun reads the columns; each has the next columns in order. Without groups
	// no columns are read, and their values are 0.
	Groups []Group
	Scope  Scope

	// Hold makes every iteration take longer by so many parts per million, at most 1,000,000: a
	// slowdown that is known.
	Hold int

	made int64 // when, on the clock of Now; filled in by Create
}

// check returns every mistake in a plan.
func (s Spec) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if s.Iterations < 1 || s.Iterations > maxIterations {
		bad("%d iterations; want 1 to %d", s.Iterations, maxIterations)
	}
	if len(s.Columns) > maxCounters {
		bad("%d counter columns; want at most %d", len(s.Columns), maxCounters)
	}
	if s.UserColumns < 0 || s.UserColumns > maxUserColumns {
		bad("%d user columns; want 0 to %d", s.UserColumns, maxUserColumns)
	}
	if s.Events < 0 || s.Events > maxEvents {
		bad("%d events; want 0 to %d", s.Events, maxEvents)
	}
	if s.Hold < 0 || s.Hold > maxHold {
		bad("iterations longer by %d parts per million; want at most %d", s.Hold, maxHold)
	}
	type id struct {
		name string
		core int
	}
	seen := make(map[id]bool, len(s.Columns))
	for i, c := range s.Columns {
		if !validText(c.Name, 1, nameBytes-1, "") || !validText(c.Unit, 0, unitBytes-1, "/%") {
			bad("column %d: name %q, unit %q: want letters, digits, _ . - in at most %d and %d bytes", i,
				c.Name, c.Unit, nameBytes-1, unitBytes-1)
		}
		if c.Core < NoCore || c.Core > 1<<20 {
			bad("column %d: core %d", i, c.Core)
		}
		if seen[id{c.Name, c.Core}] {
			bad("column %d: %q is there twice", i, c.Name)
		}
		seen[id{c.Name, c.Core}] = true
	}
	if err := s.checkGroups(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// validText reports whether s has minLen to maxLen characters: ASCII letters, digits, _ . - and
// those of more. It is the rule of valid_text in krun.c.
func validText(s string, minLen, maxLen int, more string) bool {
	if len(s) < minLen || len(s) > maxLen {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && strings.IndexByte("_.-"+more, c) < 0 {
			return false
		}
	}
	return true
}

// columns is the number of entries in the table.
func (s Spec) columns() int { return len(s.Columns) + s.UserColumns }

// place is the layout of the buffer.
func (s Spec) place() places { return place(s.Iterations, s.columns(), s.Events) }

// version is the lowest layout version that has what the buffer uses, for programs with an older
// libkrun linked into them.
func (s Spec) version() uint32 {
	usage := func(g Group) bool { return g.Source == SourceUsage }
	switch {
	case s.Hold > 0:
		return layoutVersion
	case slices.ContainsFunc(s.Groups, usage):
		return layoutUsage
	case s.Events > 0:
		return layoutEvents
	}
	return layoutFirst
}

// tableEnd is where header and column table end.
func (s Spec) tableEnd() int { return headerBytes + s.columns()*entryBytes }

// encode returns header and column table of a new buffer.
func (s Spec) encode() []byte {
	order := binary.NativeEndian
	at := s.place()
	b := make([]byte, s.tableEnd())
	copy(b, magic)
	order.PutUint32(b[planVersion:], s.version())
	order.PutUint32(b[planHeaderBytes:], headerBytes)
	order.PutUint64(b[planBytes:], uint64(at.bytes))
	order.PutUint32(b[planIterations:], uint32(s.Iterations))
	order.PutUint32(b[planCounters:], uint32(len(s.Columns)))
	order.PutUint32(b[planUserColumns:], uint32(s.UserColumns))
	order.PutUint32(b[planEntryBytes:], entryBytes)
	order.PutUint64(b[planStartOffset:], uint64(at.start))
	order.PutUint64(b[planWallOffset:], uint64(at.wall))
	order.PutUint32(b[planClock:], clockKind)
	for i := range s.columns() {
		e := b[headerBytes+i*entryBytes:][:entryBytes]
		c := Column{Core: NoCore}
		if i < len(s.Columns) {
			c = s.Columns[i]
			order.PutUint32(e[entryKind:], kindCounter)
		}
		order.PutUint32(e[entryCore:], uint32(int32(c.Core)))
		order.PutUint64(e[entryOffset:], uint64(at.column+int64(i)*at.stride))
		copy(e[entryName:], c.Name)
		copy(e[entryUnit:], c.Unit)
	}
	order.PutUint32(b[planScope:], uint32(s.Scope))
	order.PutUint32(b[planEvents:], uint32(s.Events))
	order.PutUint32(b[planHold:], uint32(s.Hold))
	first := 0
	for _, g := range s.Groups {
		g.encode(b[headerBytes+first*entryBytes:], s.Scope)
		first += g.Columns
	}
	return b
}
