//go:build cgo

package libkrun

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"

	"krund/rig/must"
)

// The fake file's registers, eight bytes each.
var fakeRegisters = []Register{{Address: 0x740, Bits: 64}, {Address: 0x738, Bits: 64},
	{Address: 0x1850, Bits: 48}}

// counting lets this process measure into a buffer of spec. The groups' files
// are duplicated, because libkrun closes what it is given.
func counting(t *testing.T, spec Spec) (*Buffer, *Meter) {
	t.Helper()
	for i, g := range spec.Groups {
		fd := must.Get(syscall.Dup(int(g.File.Fd())))(t)
		spec.Groups[i].FD = fd
	}
	b := must.Get(Create(spec))(t)
	t.Cleanup(func() { _ = b.Close() })
	attach(t, b)
	m := must.Get(NewMeter())(t)
	t.Cleanup(m.Close)
	return b, m
}

// TestRegistersAgainstModel lets random registers of several cores jump between
// and inside iterations, close to their wrap or anywhere, and compares the record
// with the plain arithmetic of a model.
func TestRegistersAgainstModel(t *testing.T) {
	const iterations, cores = 300, 3
	const seed = 1
	random := rand.New(rand.NewPCG(seed, 0))
	spec := Spec{Iterations: iterations, Columns: coreColumns(cores), UserColumns: 1}
	files := make([]*os.File, cores)
	for core := range files {
		files[core] = registerFile(t)
		spec.Groups = append(spec.Groups,
			Group{Source: SourceRegisters, Columns: 3, File: files[core], Registers: fakeRegisters, Turn: 2})
	}
	b, m := counting(t, spec)

	values := make([]uint64, len(spec.Columns))
	set := func(c int, v uint64) {
		r := fakeRegisters[c%3]
		values[c] = v & (1<<(r.Bits-1)<<1 - 1)
		var raw [8]byte
		binary.NativeEndian.PutUint64(raw[:], values[c])
		must.Get(files[c/3].WriteAt(raw[:], int64(r.Address)))(t)
	}
	want := make([][]int64, len(spec.Columns))
	for range iterations {
		if random.IntN(4) == 0 { // somewhere else between two iterations
			c := random.IntN(len(values))
			set(c, ^uint64(random.IntN(1000)))
		}
		must.Do(t, m.Begin())
		for c := range values {
			// Up to 47 bits: a difference that is positive in 48 and in 64 bits.
			step := random.Uint64() >> (17 + random.IntN(47))
			set(c, values[c]+step)
			want[c] = append(want[c], int64(step))
		}
		must.Do(t, m.End())
	}
	must.Do(t, m.Done())
	s, err := b.Read()
	must.Need(t, err == nil && s.Error == OK && len(s.Findings) <= 0 && s.Done == iterations, "seed", seed,
		"error", err, s.Error, "findings", s.Findings, s.Done, "done")
	for c, column := range s.Columns {
		must.Be(t, column.Empty != nil && *column.Empty == 0, "the files stand still without work")
		for i, v := range column.Values {
			must.Need(t, v == want[c][i], "seed", seed, column.Name, "of core", column.Core, "in iteration",
				i, v, "want", want[c][i])
		}
	}
}

// TestExecutionAgainstModel does the same for the totals.
func TestExecutionAgainstModel(t *testing.T) {
	file := registerFile(t)
	spec := Spec{Iterations: 5, Columns: coreColumns(1), Scope: PerExecution, Groups: []Group{
		{Source: SourceRegisters, Columns: 3, File: file, Registers: fakeRegisters, Turn: 2},
	}}
	b, m := counting(t, spec)
	set := func(r Register, v uint64) {
		var raw [8]byte
		binary.NativeEndian.PutUint64(raw[:], v)
		must.Get(file.WriteAt(raw[:], int64(r.Address)))(t)
	}
	set(fakeRegisters[2], 1<<48-7) // in the runner's start-up: not counted
	for !m.ShouldStop() {
		must.Do(t, m.Begin())
		set(fakeRegisters[0], 1<<62)
		set(fakeRegisters[2], 93)
		must.Do(t, m.End())
	}
	if s, err := b.Read(); err != nil || s.Totals[0].Value != Missing {
		t.Errorf("before krun_done: %v, totals %v; want them missing", err, s.Totals)
	}
	must.Do(t, m.Done())
	s, err := b.Read()
	must.Need(t, err == nil && s.Error == OK && len(s.Findings) <= 0 && len(s.Columns) <= 0, "error", err,
		s.Error, "findings", s.Findings, "columns", s.Columns)
	for i, want := range []int64{1 << 62, 0, 100} {
		must.Equal(t, s.Totals[i].Value, want, s.Totals[i].Name)
	}
}

// TestFailedReading loses a device in the middle.
func TestFailedReading(t *testing.T) {
	file := registerFile(t)
	b, m := counting(t, Spec{Iterations: 3, Columns: coreColumns(1), Groups: []Group{
		{Source: SourceRegisters, Columns: 3, File: file, Registers: fakeRegisters, Turn: 2},
	}})
	for i := range 3 {
		must.Do(t, m.Begin())
		if i == 1 {
			must.Do(t, file.Truncate(0x1850+4))
		}
		must.Do(t, m.End())
	}
	s, err := b.Read()
	must.Need(t, err == nil && s.Done == 3 && s.Error == EREAD && len(s.Findings) <= 0, "error", err, s.Done,
		"done, code", s.Error, "findings", s.Findings)
	for _, c := range s.Columns {
		must.Be(t, c.Values[0] == 0 && c.Values[1] == Missing && c.Values[2] == Missing, c.Name, c.Values,
			"want 0, missing, missing")
	}
}
