package libkrun

import (
	"encoding/binary"
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
