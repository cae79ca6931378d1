package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"krund/internal/analysis/dataset"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// mixed is a dataset as krund's records give it: exact nanoseconds, 64-bit
// counters of two cores, a benchmark's own column with a gap, and failures.
func mixed() *dataset.Dataset {
	d := &dataset.Dataset{Info: dataset.Info{Format: "krund", Machine: "bencher5", Experiment: "test"}}
	run := func(wall ...int64) dataset.Execution {
		n := len(wall)
		big := slices.Repeat([]uint64{1<<64 - 1}, n)
		gaps := slices.Repeat([]int64{dataset.MissingInt}, n)
		gaps[n-1] = -5
		return dataset.Execution{Outcome: results.Completed, Columns: []dataset.Column{
			{Name: dataset.Wall, Unit: dataset.Nanoseconds, Core: dataset.NoCore, Ints: wall},
			{Name: dataset.CoreCycles, Unit: "cycles", Core: 0, Counts: big},
			{Name: dataset.CoreCycles, Unit: "cycles", Core: 1, Counts: slices.Repeat([]uint64{1<<53 + 1},
				n)},
			{Name: "gc", Unit: "ns", Core: dataset.NoCore, Ints: gaps},
		}}
	}
	nbody, fasta := key.Key{Benchmark: "nbody", VM: "C", Variant: "default-c"}, key.Key{Benchmark: "fasta",
		VM: "PyPy", Variant: "x.y+z"}
	d.Add(nbody, run(1, 999_999_999, 1_000_000_000, 123_456_789_012))
	d.Add(nbody, run(7, 8, 9, 10))
	d.Add(fasta, run(5, 6))
	d.Add(fasta, dataset.Execution{Outcome: results.Error})
	d.Add(fasta, dataset.Execution{Outcome: results.Rerun, Number: 3, Columns: run(1).Columns})
	d.Add(fasta, dataset.Execution{Outcome: results.Timeout, Number: 3, Columns: run(1).Columns})
	d.Pairs = append(d.Pairs, dataset.Pair{Key: key.Key{Benchmark: "none", VM: "C", Variant: "default-c"}})
	return d
}

func TestKrunRoundTrip(t *testing.T) {
	d := mixed()
	var b bytes.Buffer
	must.Do(t, WriteKrunJSON(&b, d, "text \"of\" the <config>\n"))
	back := must.Get(ReadKrunJSON(bytes.NewReader(b.Bytes()), FileOptions{Counters: true}))(t)
	must.Be(t, back.Machine == "bencher5" && len(back.Pairs) == 3, back.Info)
	for _, p := range d.Pairs {
		got := back.Find(p.Key)
		must.Need(t, got != nil, p.Key, "is lost")
		i := 0
		for _, e := range p.Executions {
			if e.Outcome == results.Rerun {
				continue
			}
			must.Equal(t, got.Executions[i].Outcome, e.Outcome, p.Key, e.Number, "outcome")
			if e.Outcome == results.Completed {
				sameExecution(t, &e, &got.Executions[i])
			}
			i++
		}
		must.Equal(t, i, len(got.Executions), p.Key, "executions")
	}
}

// sameExecution holds what Krun's format keeps: seconds, and core cycles exactly.
func sameExecution(t *testing.T, want, got *dataset.Execution) {
	t.Helper()
	a, _ := want.Column(dataset.Wall, dataset.NoCore)
	b, _ := got.Column(dataset.Wall, dataset.NoCore)
	x, _ := a.Floats()
	y, _ := b.Floats()
	must.EqualList(t, x, y, "times")
	for i, c := range want.Cores(dataset.CoreCycles) {
		cores := got.Cores(dataset.CoreCycles)
		must.Be(t, len(cores) > i && slices.Equal(cores[i].Counts, c.Counts), "core", i, "differs")
	}
}

func TestKrunRefuses(t *testing.T) {
	k := key.Key{Benchmark: "b", VM: "v", Variant: "x"}
	one := func(k key.Key, c dataset.Column) *dataset.Dataset {
		d := &dataset.Dataset{}
		d.Add(k, dataset.Execution{Outcome: results.Completed, Columns: []dataset.Column{c}})
		return d
	}
	wall := dataset.Column{Name: dataset.Wall, Unit: dataset.Seconds, Core: dataset.NoCore,
		Reals: []float64{math.NaN()}}
	ops := dataset.Column{Name: dataset.Wall, Unit: "ops/s", Core: dataset.NoCore, Reals: []float64{1}}
	for name, d := range map[string]*dataset.Dataset{
		"NaN": one(k, wall), "throughput": one(k, ops), "colon": one(key.Key{Benchmark: "a:b", VM: "v",
			Variant: "x"}, ops),
	} {
		must.Refuse(t, WriteKrunJSON(io.Discard, d, ""), "", name, "was written")
	}
	must.Fail(t, WriteKrunJSON(failing{}, mixed(), ""), errFull, "a full disk gives")
}

var errFull = errors.New("no space left")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

// TestGoRoundTrip: what WriteGo writes reads as it was, times exactly.
func TestGoRoundTrip(t *testing.T) {
	d := mixed()
	var b bytes.Buffer
	must.Do(t, WriteGo(&b, d))
	must.Contain(t, b.String(),
		"BenchmarkKrund/benchmark=nbody/vm=C/variant=default-c 1 123456789012 "+"ns/op")
	back := must.Get(Read(FormatGo, &b, FileOptions{}))(t)
	for _, p := range d.Pairs[:2] {
		got := back.Find(p.Key)
		must.Need(t, got != nil, p.Key, "is lost")
		for i := range got.Executions {
			x, _ := p.Executions[i].Columns[0].Floats()
			must.EqualList(t, got.Executions[i].Columns[0].Reals, x, p.Key)
		}
	}
	for _, s := range []float64{1.232458e-07, 0.1, 3, 1e9, 5e-324, 123456.789} {
		got := shifted(s)
		var ns float64
		_, err := fmt.Sscan(got, &ns)
		must.Be(t, err == nil && (ns/1e9 == s || math.Abs(ns/1e9/s-1) <= 1e-15), s, "s is", got, "ns")
	}
}

// TestParquet: every value comes back, in the types that are promised.
func TestParquet(t *testing.T) {
	d := mixed()
	for i := range d.Pairs {
		p := &d.Pairs[i]
		var b bytes.Buffer
		must.Do(t, WriteParquet(&b, d, p))
		f := must.Get(parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len())))(t)
		v, _ := f.Lookup("krund.experiment")
		must.Equal(t, v, "test", "metadata")
		var want []map[string]any
		for _, e := range p.Executions {
			want = append(want, wantRows(p.Key, &e)...)
		}
		got := readParquet(t, f)
		must.Need(t, len(got) == len(want), p.Key, len(got), "rows, want", len(want))
		for j := range want {
			must.Be(t, reflect.DeepEqual(got[j], want[j]), p.Key, "row", j, got[j], "want", want[j])
		}
	}
}

func wantRows(k key.Key, e *dataset.Execution) []map[string]any {
	var rows []map[string]any
	if len(e.Columns) == 0 {
		return nil
	}
	for i, ns := range e.Columns[0].Ints {
		row := map[string]any{
			"benchmark": k.Benchmark, "vm": k.VM, "variant": k.Variant, "outcome": string(e.Outcome),
			"pexec": int64(e.Number), "iteration": int64(i),
			"wall": float64(ns) / 1e9, "wall_ns": ns, "cycles_core0": uint64(1<<64 - 1),
			"cycles_core1": uint64(1<<53 + 1), "gc": nil,
		}
		if v := e.Columns[3].Ints[i]; v != dataset.MissingInt {
			row["gc"] = v
		}
		rows = append(rows, row)
	}
	return rows
}

func readParquet(t *testing.T, f *parquet.File) []map[string]any {
	t.Helper()
	var list []map[string]any
	fields := f.Schema().Fields()
	for _, group := range f.RowGroups() {
		rows := group.Rows()
		buffer := make([]parquet.Row, 10)
		for {
			n, err := rows.ReadRows(buffer)
			for _, row := range buffer[:n] {
				m := map[string]any{}
				for i, v := range row {
					m[fields[i].Name()] = parquetValue(fields[i], v)
				}
				list = append(list, m)
			}
			if errors.Is(err, io.EOF) {
				break
			}
			must.Do(t, err)
		}
		must.Do(t, rows.Close())
	}
	return list
}

func parquetValue(f parquet.Field, v parquet.Value) any {
	switch {
	case v.IsNull():
		return nil
	case v.Kind() == parquet.ByteArray:
		return string(v.ByteArray())
	case v.Kind() == parquet.Double:
		return v.Double()
	case v.Kind() == parquet.Int32:
		return int64(v.Int32())
	case strings.Contains(f.Type().String(), "false") || strings.Contains(strings.ToLower(f.Type().String()),
		"uint"):
		return v.Uint64()
	}
	return v.Int64()
}
