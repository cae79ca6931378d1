package libkrun

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/rig/must"
)

// registerFile is a sparse file in the place of /dev/cpu/N/msr.
func registerFile(t *testing.T) *os.File {
	t.Helper()
	f := must.Get(os.Create(filepath.Join(t.TempDir(), "msr")))(t)
	t.Cleanup(func() { _ = f.Close() })
	must.Do(t, f.Truncate(1<<16))
	return f
}

// coreColumns are APERF, MPERF and cycles of cores 0 to cores-1.
func coreColumns(cores int) []Column {
	var list []Column
	for core := range cores {
		for _, name := range []string{"aperf", "mperf", "cycles"} {
			list = append(list, Column{name, "", core})
		}
	}
	return list
}

func TestCreateRefusesGroups(t *testing.T) {
	file := registerFile(t)
	good := func() Spec {
		r := []Register{{0x740, 64}, {0x738, 64}, {0x1850, 48}}
		return Spec{Iterations: 1, Columns: coreColumns(2), Groups: []Group{
			{Source: SourceRegisters, Columns: 3, File: file, FD: 4, Registers: slices.Clone(r), Turn: 2},
			{Source: SourcePerf, Columns: 3, File: file, FD: 5},
		}}
	}
	b := must.Get(Create(good()))(t)
	must.Do(t, b.Close())
	tests := []struct {
		want   string
		change func(*Spec)
	}{
		{"scope 2", func(s *Spec) { s.Scope = 2 }},
		{"3 columns of one event", func(s *Spec) { s.Groups[1].Source = SourceSelf }},
		{"the groups have 5 columns, the spec 6", func(s *Spec) { s.Groups[1].Columns = 2 }},
		{"the groups have 3 columns, the spec 6", func(s *Spec) { s.Groups = s.Groups[1:] }},
		{"group 1: 17 columns", func(s *Spec) { s.Groups[1].Columns = 17 }},
		{"group 1: 0 columns", func(s *Spec) { s.Groups[1].Columns = 0 }},
		{"group 0: source 5", func(s *Spec) { s.Groups[0].Source = 5 }},
		{"group 0: 3 columns of usage; want 6", func(s *Spec) { s.Groups[0].Source = SourceUsage }},
		{"group 1: the usage of the process", func(s *Spec) { s.Groups[1].Source = SourceUsage }},
		{"group 0: 2 registers for 3 columns",
			func(s *Spec) { s.Groups[0].Registers = s.Groups[0].Registers[:2] }},
		{"group 1: 1 registers for 3 columns", func(s *Spec) { s.Groups[1].Registers = []Register{{1, 64}} }},
		{"group 0: turn 3", func(s *Spec) { s.Groups[0].Turn = 3 }},
		{"group 0: no file", func(s *Spec) { s.Groups[0].File = nil }},
		{"group 0: descriptor 2", func(s *Spec) { s.Groups[0].FD = 2 }},
		{"register 0x738 has 65 bits", func(s *Spec) { s.Groups[0].Registers[1].Bits = 65 }},
		{"register 0x740 has 0 bits", func(s *Spec) { s.Groups[0].Registers[0].Bits = 0 }},
	}
	for _, test := range tests {
		s := good()
		test.change(&s)
		b, err := Create(s)
		if err == nil {
			_ = b.Close()
			t.Errorf("no error; want %q", test.want)
		} else if !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %q; want %q in it", err, test.want)
		}
	}
}

// TestReadTotals reads what libkrun leaves when the scope is the execution.
func TestReadTotals(t *testing.T) {
	spec := testSpec
	spec.Scope = PerExecution
	m := blank(spec)
	m.u32(progressState, uint32(StateDone)).i64(progressPid, 77).i64(progressInit, 1000).i64(progressDone,
		1500)
	m.i64(entryAt(0)+entryTotal, 12345).i64(entryAt(1)+entryTotal, Missing)
	entry := entryAt(2)
	m.u32(entry+entryKind, kindUser)
	copy(m[entry+entryName:], "jit")
	s, err := read(bytes.NewReader(m), spec, at(2000))
	must.Do(t, err)
	want := []Total{{Column{"aperf", "", 0}, 12345}, {Column{"aperf", "", 1}, Missing}}
	must.Be(t, slices.Equal(s.Totals, want) && len(s.Findings) <= 0, "totals", s.Totals, "findings",
		s.Findings, want)
	must.Be(t, len(s.Columns) == 1 && s.Columns[0].Name == "jit", "columns", s.Columns,
		"want the user's only")
	m.i64(entryAt(0)+entryTotal, -1)
	if s, err = read(bytes.NewReader(m), spec, at(2000)); err != nil || len(s.Findings) != 1 {
		t.Errorf("findings %q, error %v; want one about a counter that ran backwards", s.Findings, err)
	}
	binary.NativeEndian.PutUint32(m[entryAt(0)+entryFD:], 7)
	if s, err = read(bytes.NewReader(m), spec, at(2000)); err != nil || len(s.Findings) != 2 {
		t.Errorf("findings %q, error %v; want another about the entries", s.Findings, err)
	}
}
