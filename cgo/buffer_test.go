package libkrun

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"krund/rig/must"
)

func TestCreateRefuses(t *testing.T) {
	tests := []struct {
		name string
		spec Spec
		want []string
	}{
		{"no iterations", Spec{}, []string{"0 iterations; want 1 to 16777216"}},
		{"negative", Spec{Iterations: -1}, []string{"-1 iterations"}},
		{"too many", Spec{Iterations: maxIterations + 1}, []string{"16777217 iterations"}},
		{"user columns", Spec{Iterations: 1, UserColumns: 65}, []string{"65 user columns; want 0 to 64"}},
		{"negative user columns", Spec{Iterations: 1, UserColumns: -1}, []string{"-1 user columns"}},
		{"counters", Spec{Iterations: 1, Columns: make([]Column, maxCounters+1)},
			[]string{"8193 counter columns"}},
		{"name", Spec{Iterations: 1, Columns: []Column{{"a b", "", 0}}}, []string{`column 0: name "a b"`}},
		{"long name", Spec{Iterations: 1, Columns: []Column{{strings.Repeat("n", 48), "", 0}}},
			[]string{"column 0"}},
		{"core", Spec{Iterations: 1, Columns: []Column{{"a", "", -2}}}, []string{"column 0: core -2"}},
		{"twice", Spec{Iterations: 1, Columns: []Column{{"a", "", 0}, {"a", "x", 0}}},
			[]string{`column 1: "a" is there twice`}},
		{"all at once", Spec{Columns: []Column{{"", "", 0}}, UserColumns: 99},
			[]string{"0 iterations", "99 user columns", "column 0"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b, err := Create(test.spec)
			if err == nil {
				_ = b.Close()
				t.Fatal("no error")
			}
			for _, want := range test.want {
				must.Contain(t, err.Error(), want, "error", "in it")
			}
		})
	}
}

// TestNewBuffer reads a buffer that no process has attached to.
func TestNewBuffer(t *testing.T) {
	for _, spec := range []Spec{
		{Iterations: 1},
		{Iterations: 2000, Columns: []Column{{strings.Repeat("n", 47), strings.Repeat("u", 23), NoCore}},
			UserColumns: 64},
	} {
		b := must.Get(Create(spec))(t)
		t.Cleanup(func() { _ = b.Close() })
		s := must.Get(b.Read())(t)
		must.Be(t, s.State == StateNew && s.Done == 0 && s.Pid == 0 && s.ExecNS == 0 && s.FirstNS == 0 &&
			len(s.Findings) == 0 && len(s.Columns) == len(spec.Columns), "read", s)
	}
}

func TestExecStamp(t *testing.T) {
	b := must.Get(Create(Spec{Iterations: 1}))(t)
	t.Cleanup(func() { _ = b.Close() })
	now := Now()
	stamp := binary.NativeEndian.AppendUint64(nil, uint64(now))
	must.Get(b.File().WriteAt(stamp, b.ExecOffset()))(t)
	s := must.Get(b.Read())(t)
	must.Be(t, s.ExecNS == now && len(s.Findings) <= 0, "exec stamp", s.ExecNS, now, "findings", s.Findings)
}

// TestSpecIsCopied: the caller may continue to use its slice.
func TestSpecIsCopied(t *testing.T) {
	columns := []Column{{"aperf", "", 0}}
	b := must.Get(Create(Spec{Iterations: 1, Columns: columns}))(t)
	t.Cleanup(func() { _ = b.Close() })
	columns[0].Name = "mperf"
	s := must.Get(b.Read())(t)
	want := []ColumnData{{KindCounter, Column{"aperf", "", 0}, []int64{}, nil}}
	must.Be(t, reflect.DeepEqual(s.Columns, want) && len(s.Findings) <= 0, "columns", s.Columns, "findings",
		s.Findings)
}

// TestView: what the measured process writes is seen, bounded, and Stop reaches it.
func TestView(t *testing.T) {
	b := must.Get(Create(Spec{Iterations: 5, UserColumns: 3}))(t)
	defer b.Close()
	v := must.Get(NewView(b.File(), true))(t)
	defer v.Close()
	put := func(offset int64, value uint64) {
		t.Helper()
		must.Get(b.File().WriteAt(binary.NativeEndian.AppendUint64(nil, value), offset))(t)
	}
	at := place(5, 3, 0)
	put(at.wall, 700)
	put(at.wall+8, ^uint64(0))
	put(hotDone, 2)
	must.Be(t, v.Iterations() == 5 && v.Done() == 2 && v.Wall(0) == 700 && v.Wall(1) == -1, v.Done(), "of",
		v.Iterations(), v.Wall(0), "and", v.Wall(1), "ns")
	put(hotDone, ^uint64(0))
	must.Equal(t, v.Done(), 5, "are done of 5")
	v.Stop()
	var flag [4]byte
	_, err := b.File().ReadAt(flag[:], controlStop)
	must.Be(t, err == nil && binary.NativeEndian.Uint32(flag[:]) == 1, "stop flag", flag, err)
}

// TestViewRefuses: a file that is no buffer, or whose plan leads out of it.
func TestViewRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		offset int64
		value  uint64
		want   string
	}{
		"magic":      {0, 0, "it is none"},
		"version":    {planVersion, 99, "version 99"},
		"iterations": {planIterations, 1 << 20, "do not fit"},
		"none":       {planIterations, 0, "0 iterations"},
		"offset":     {planWallOffset, 1 << 40, "do not fit"},
		"unaligned":  {planWallOffset, 513, "do not fit"},
		"overflow":   {planWallOffset, ^uint64(0) - 7, "do not fit"},
	} {
		t.Run(name, func(t *testing.T) {
			b := must.Get(Create(Spec{Iterations: 5}))(t)
			defer b.Close()
			must.Get(b.File().WriteAt(binary.NativeEndian.AppendUint64(nil, test.value), test.offset))(t)
			must.Refused(NewView(b.File(), false))(t, test.want)
		})
	}
}

// BenchmarkOverhead builds libkrun.so and bench/bench.c with the C compiler and
// reports what bench.c prints: nanoseconds per empty iteration, and ratios to
// two bare clock readings of the same run. The goal for krun is 1.10.
func BenchmarkOverhead(b *testing.B) {
	dir := b.TempDir()
	build := exec.CommandContext(b.Context(), "make", "--silent", "build",
		filepath.Join(dir, "cgo", "bench"), "BUILD="+dir)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		b.Skipf("build libkrun: %v", err)
	}
	for b.Loop() {
		out := must.Get(exec.CommandContext(b.Context(), filepath.Join(dir, "cgo", "bench")).Output())(b)
		lines := bufio.NewScanner(bytes.NewReader(out))
		for lines.Scan() {
			var name string
			var ns, ratio float64
			if n, _ := fmt.Sscanf(lines.Text(), "%s %f ns/iteration %f of clock", &name, &ns,
				&ratio); n == 3 {
				b.ReportMetric(ns, name+"-ns")
				b.ReportMetric(ratio, name+"/clock")
			}
		}
	}
	b.ReportMetric(0, "ns/op") // building and starting say nothing
}
