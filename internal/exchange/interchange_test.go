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
	"testing/iotest"

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
	back := must.Get(ReadKrunJSON(bytes.NewReader(b.Bytes()), KrunOptions{Counters: true}))(t)
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

const jmhText = `[{"jmhVersion":"1.36","benchmark":"org.x.Bench.run","mode":"avgt","forks":2,"params":{"size":"10","kind":"a b"},
 "primaryMetric":{"score":65.1,"scoreError":"NaN","scoreUnit":"ns/op","rawData":[[65.13,64.5],[66.25,63]]},"secondaryMetrics":{}},
 {"benchmark":"org.x.Bench.run","mode":"thrpt","primaryMetric":{"scoreUnit":"ops/ms","rawData":[[5],[]]}},
 {"benchmark":"org.x.Bench.run","mode":"sample","primaryMetric":{"scoreUnit":"us/op","rawDataHistogram":[[[[1,2],[4,1]],[[3,5]]],[]]}}]`

func TestReadJMH(t *testing.T) {
	d := must.Get(ReadJMH(iotest.OneByteReader(strings.NewReader(jmhText)), ImportOptions{VM: "Hotspot"}))(t)
	var keys []string
	for _, p := range d.Pairs {
		keys = append(keys, p.Key.String())
	}
	want := []string{"org.x.Bench.run-kind_a_b-size_10:Hotspot:default",
		"org.x.Bench.run-thrpt:Hotspot:default", "org.x.Bench.run-sample:Hotspot:default"}
	must.Be(t, slices.Equal(keys, want) && len(d.Problems) == 0, "keys", keys, "problems", d.Problems)
	third := d.Pairs[2].Executions
	if c := third[0].Calls; !slices.Equal(third[0].Columns[0].Reals, []float64{2e-6, 3e-6}) ||
		!reflect.DeepEqual(c, &dataset.Calls{Seconds: 1, Iterations: []dataset.Histogram{
			{Values: []float64{1e-6, 4e-6}, Counts: []float64{2, 1}},
			{Values: []float64{3e-6}, Counts: []float64{5}}}}) || third[1].Outcome != results.Error {
		t.Errorf("mode sample: %+v, %+v", third, c)
	}
	first, second := d.Pairs[0].Executions, d.Pairs[1].Executions
	c := first[1].Columns[0]
	must.Be(t,
		slices.Equal(c.Reals, []float64{66.25e-9, 63e-9}) && c.Unit == dataset.Seconds && len(first) == 2, c)
	if c := second[0].Columns[0]; !slices.Equal(c.Reals, []float64{5}) || c.Unit != "ops/ms" ||
		second[1].Outcome != results.Error {
		t.Errorf("%+v", second)
	}
}

const pyperfText = `{"benchmarks":[{"metadata":{"name":"telco"},"runs":[
 {"metadata":{"calibrate_loops":8},"warmups":[[1,0.5]]},
 {"warmups":[[8,0.25]],"values":[0.125,0.5]},{"values":[1]}]},
 {"runs":[{"values":[1024],"metadata":{"name":"mem","unit":"byte"}}]}],
 "metadata":{"hostname":"apollo","unit":"second","python_implementation":"cpython"},"version":"1.0"}`

func TestReadPyperf(t *testing.T) {
	d := must.Get(ReadPyperf(strings.NewReader(pyperfText), ImportOptions{}))(t)
	if d.Machine != "apollo" || len(d.Pairs) != 2 || d.Pairs[0].Key.String() != "telco:cpython:default" ||
		len(d.Problems) != 1 {
		t.Errorf("%+v", d)
	}
	runs := d.Pairs[0].Executions
	if len(runs) != 2 || !slices.Equal(runs[0].Columns[0].Reals, []float64{0.25, 0.125, 0.5}) ||
		runs[0].Columns[0].Unit != dataset.Seconds {
		t.Errorf("%+v", runs)
	}
	c := d.Pairs[1].Executions[0].Columns[0]
	must.Be(t, c.Unit == "byte" && d.Pairs[1].Key.Benchmark == "mem", c)
}

const hyperfineText = `{"results":[{"command":"sleep 0.1","mean":0.1,"times":[0.101,0.102,0.2],"exit_codes":[0,1,null]},
 {"command":"sleep_0.1","times":[0.3]},{"command":"none"}]}`

func TestReadHyperfine(t *testing.T) {
	d := must.Get(ReadHyperfine(strings.NewReader(hyperfineText), ImportOptions{}))(t)
	must.Need(t, len(d.Pairs) == 3 && d.Pairs[1].Key.Benchmark == "sleep_0.1_2", d.Pairs)
	runs := d.Pairs[0].Executions
	if len(runs) != 3 || runs[0].Outcome != results.Completed || runs[1].Reasons[0] != "exit status 1" ||
		runs[2].Reasons[0] != "terminated by a signal" {
		t.Errorf("%+v", runs)
	}
	must.EqualList(t, runs[0].Columns[0].Reals, []float64{0.101}, runs[0])
}

const goText = `goos: linux
pkg: encoding/json
BenchmarkDecode-8   	     100	  11034523 ns/op	 175.86 MB/s	 3 allocs/op
BenchmarkDecode-8   	     100	  11000000 ns/op	 175.00 MB/s
BenchmarkEncode-8   	     1	  5 ns/op
Benchmarks are fun to read
PASS
ok  	encoding/json	3.2s
goos: linux
pkg: encoding/json
BenchmarkDecode-8   	     100	  12000000 ns/op
`

func TestReadGo(t *testing.T) {
	d := must.Get(ReadGo(strings.NewReader(goText), ImportOptions{}))(t)
	if len(d.Pairs) != 2 || d.Pairs[0].Key.String() != "encoding_json.Decode-8:Go:default" ||
		len(d.Pairs[0].Executions) != 2 {
		t.Fatalf("%+v", d.Pairs)
	}
	e := d.Pairs[0].Executions[0]
	must.Be(t, slices.Equal(e.Columns[0].Reals, []float64{0.011034523, 0.011}) && e.Check() == nil, e.Columns)
	allocs, _ := e.Column("allocs/op", dataset.NoCore)
	must.Be(t, allocs.Reals[0] == 3 && math.IsNaN(allocs.Reals[1]), allocs)
	for _, bad := range []string{"BenchmarkX 1 5 ns/op 6 ns/op", "BenchmarkX 1 five ns/op",
		"BenchmarkX 1 5 ns/op " + strings.Repeat("x", 1<<21)} {
		_, err := ReadGo(strings.NewReader(bad), ImportOptions{})
		must.Fail(t, err, ErrFormat, bad)
	}
}

// TestGoRoundTrip: what WriteGo writes reads as it was, times exactly.
func TestGoRoundTrip(t *testing.T) {
	d := mixed()
	var b bytes.Buffer
	must.Do(t, WriteGo(&b, d))
	must.Contain(t, b.String(),
		"BenchmarkKrund/benchmark=nbody/vm=C/variant=default-c 1 123456789012 "+"ns/op")
	back := must.Get(ReadGo(&b, ImportOptions{}))(t)
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

func TestReadersRefuse(t *testing.T) {
	readers := map[string]func(io.Reader, ImportOptions) (*dataset.Dataset, error){"JMH": ReadJMH,
		"pyperf": ReadPyperf, "hyperfine": ReadHyperfine}
	for name, read := range readers {
		for _, text := range []string{"", "{", "[{}]", "5", `{"results":7}`, "[] x"} {
			d, err := read(strings.NewReader(text), ImportOptions{})
			must.Fail(t, err, ErrFormat, name, "read", text, "as", d)
		}
		_, err := read(iotest.ErrReader(errFull), ImportOptions{})
		must.Be(t, errors.Is(err, errFull) && !errors.Is(err, ErrFormat), name, "a failing disk gives", err)
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

func fuzzReader(f *testing.F, read func(io.Reader, ImportOptions) (*dataset.Dataset, error),
	seeds ...string) {
	for _, s := range append(seeds, "", "null", "[]", "{}") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := read(strings.NewReader(text), ImportOptions{})
		if err != nil {
			return
		}
		for _, p := range d.Pairs {
			must.Equal(t, strings.Count(p.Key.String(), ":"), 2, "key", p.Key)
			for _, e := range p.Executions {
				must.Do(t, e.Check())
			}
		}
		must.Do(t, WriteGo(io.Discard, d))
		for i := range d.Pairs {
			must.Do(t, WriteParquet(io.Discard, d, &d.Pairs[i]))
		}
	})
}

func FuzzReadJMH(f *testing.F)       { fuzzReader(f, ReadJMH, jmhText) }
func FuzzReadPyperf(f *testing.F)    { fuzzReader(f, ReadPyperf, pyperfText) }
func FuzzReadHyperfine(f *testing.F) { fuzzReader(f, ReadHyperfine, hyperfineText) }
func FuzzReadGo(f *testing.F)        { fuzzReader(f, ReadGo, goText) }
