package libkrun

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

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
