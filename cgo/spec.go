package libkrun

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
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
	for _, x := range []struct {
		n, least, most int
		what           string
	}{
		{s.Iterations, 1, maxIterations, "iterations"}, {len(s.Columns), 0, maxCounters, "counter columns"},
		{s.UserColumns, 0, maxUserColumns, "user columns"}, {s.Events, 0, maxEvents, "events"},
		{s.Hold, 0, maxHold, "parts per million longer"},
	} {
		if x.n < x.least || x.n > x.most {
			bad("%d %s; want %d to %d", x.n, x.what, x.least, x.most)
		}
	}
	seen := make(map[Column]bool, len(s.Columns)) // without units
	for i, c := range s.Columns {
		if !validText(c.Name, 1, nameBytes-1, "") || !validText(c.Unit, 0, unitBytes-1, "/%") {
			bad("column %d: name %q, unit %q: want letters, digits, _ . - in at most %d and %d bytes", i,
				c.Name, c.Unit, nameBytes-1, unitBytes-1)
		}
		if c.Core < NoCore || c.Core > 1<<20 {
			bad("column %d: core %d", i, c.Core)
		}
		if c.Unit = ""; seen[c] {
			bad("column %d: %q is there twice", i, c.Name)
		}
		seen[c] = true
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

// Source says what a group's descriptor is.
type Source uint8

// The sources of layout.h.
const (
	SourcePerf      Source = 1 // a perf group's leader: all columns by one read
	SourceRegisters Source = 2 // a core's model specific registers: each column by a pread at its address
	// a perf event of the process's first thread: one column, by RDPMC where that is allowed
	SourceSelf Source = 3
	// getrusage of the process and of the reading thread, without a file: see UsageColumns
	SourceUsage Source = 4
)

// UsageColumns are the columns of a group of SourceUsage, which must be the first one: faults and
// context switches of the process, and the switches of the thread that runs the iterations.
func UsageColumns() []Column {
	return []Column{{Name: "minor_faults", Core: NoCore}, {Name: "major_faults", Core: NoCore},
		{Name: "voluntary_switches", Core: NoCore}, {Name: "involuntary_switches", Core: NoCore},
		{Name: "thread_voluntary_switches", Core: NoCore},
		{Name: "thread_involuntary_switches", Core: NoCore}}
}

// Scope is when libkrun reads the counters.
type Scope uint32

// The scopes of layout.h.
const (
	PerIteration Scope = 0 // around each iteration: Series.Columns
	PerExecution Scope = 1 // before the first iteration and in krun_done: Series.Totals
)

// Group is the next Columns columns of a [Spec], which one descriptor yields.
type Group struct {
	Source  Source
	Columns int // 1 to 16

	// File is inherited by the measured process under the number FD. libkrun uses a descriptor only
	// if it is this file; else the values are Missing. For SourceSelf the stage puts a perf event
	// in its place before the process begins, and any perf event is accepted.
	File *os.File
	FD   int

	// Partial allows a perf group to count only part of the time, because another
	// group of the same task counts on the other kind of core.
	Partial bool

	// Registers are the columns' addresses, in the order before an iteration; for SourceRegisters
	// only. After it the reading begins with column Turn and wraps around: {APERF, MPERF, cycles}
	// with Turn 2 is the order of the warmup study.
	Registers []Register
	Turn      int

	event         bool   // inode is the id of a perf event, 0 for any; filled in by Create
	device, inode uint64 // of File, filled in by Create
}

// Register is a counter register.
type Register struct {
	Address uint32 // offset in the device
	Bits    int    // its width, 1 to 64: it wraps to 0 after 1<<Bits - 1
}

// checkGroups returns every mistake in the groups.
func (s Spec) checkGroups() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if s.Scope > PerExecution {
		bad("scope %d does not exist", s.Scope)
	}
	columns := 0
	for i, g := range s.Groups {
		columns += g.Columns
		if g.Source == SourceUsage && i > 0 {
			bad("group %d: the usage of the process can only be group 0", i)
		}
		if err := g.check(); err != nil {
			bad("group %d: %w", i, err)
		}
	}
	if len(s.Groups) > 0 && columns != len(s.Columns) {
		bad("the groups have %d columns, the spec %d", columns, len(s.Columns))
	}
	return errors.Join(errs...)
}

func (g Group) check() error {
	registers := 0
	switch g.Source {
	case SourcePerf:
	case SourceSelf:
		if g.Columns != 1 {
			return fmt.Errorf("%d columns of one event", g.Columns)
		}
	case SourceRegisters:
		registers = g.Columns
	case SourceUsage:
		if want := len(UsageColumns()); g.Columns != want {
			return fmt.Errorf("%d columns of usage; want %d", g.Columns, want)
		}
	default:
		return fmt.Errorf("source %d does not exist", g.Source)
	}
	switch {
	case g.Columns < 1 || g.Columns > maxGroup:
		return fmt.Errorf("%d columns; want 1 to %d", g.Columns, maxGroup)
	case len(g.Registers) != registers:
		return fmt.Errorf("%d registers for %d columns", len(g.Registers), g.Columns)
	case g.Turn < 0 || g.Turn >= g.Columns:
		return fmt.Errorf("turn %d; want 0 to %d", g.Turn, g.Columns-1)
	case g.Source == SourceUsage:
	case g.File == nil:
		return errors.New("no file")
	case g.FD < 3 || g.FD > 1<<20:
		return fmt.Errorf("descriptor %d; want 3 to %d", g.FD, 1<<20)
	}
	for _, r := range g.Registers {
		if r.Bits < 1 || r.Bits > 64 {
			return fmt.Errorf("register %#x has %d bits; want 1 to 64", r.Address, r.Bits)
		}
	}
	return nil
}

// emptyAsked is a total that krun_init replaces by what an iteration without work counts.
const emptyAsked = 1<<63 + 1

// encode fills in the entries of the group's columns.
func (g Group) encode(entries []byte, scope Scope) {
	order := binary.NativeEndian
	order.PutUint16(entries[entryGroup:], uint16(g.Columns))
	entries[entrySource] = byte(g.Source)
	if g.Partial {
		entries[entryFlags] |= flagPartial
	}
	if g.event {
		entries[entryFlags] |= flagEvent
	}
	entries[entryTurn] = byte(g.Turn)
	order.PutUint32(entries[entryFD:], uint32(g.FD))
	order.PutUint64(entries[entryDevice:], g.device)
	order.PutUint64(entries[entryInode:], g.inode)
	for i, r := range g.Registers {
		e := entries[i*entryBytes:]
		e[entryBits] = byte(r.Bits)
		order.PutUint32(e[entryAddress:], r.Address)
	}
	total := uint64(emptyAsked)
	if scope == PerExecution {
		total = 1 << 63 // Missing until krun_done
	}
	for i := range g.Columns {
		order.PutUint64(entries[i*entryBytes+entryTotal:], total)
	}
}
