package exchange

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/durable"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

func writeWarmupCSV(w io.Writer, d *dataset.Dataset) error {
	x, err := NewWarmupCSV(d)
	if err != nil {
		return err
	}
	return x.Write(w)
}

func TestWarmupCSVRoundTrip(t *testing.T) {
	d := &dataset.Dataset{}
	wall := func(ns ...int64) []dataset.Column {
		return []dataset.Column{{Name: dataset.Wall, Unit: dataset.Nanoseconds, Core: dataset.NoCore,
			Ints: ns}}
	}
	reals := []dataset.Column{{Name: dataset.Wall, Unit: dataset.Seconds, Core: dataset.NoCore,
		Reals: []float64{1.232458e-07, 0.1, 3}}}
	a, b := key.Key{Benchmark: "a,\"b\"", VM: "v", Variant: "x"}, key.Key{Benchmark: "c", VM: "v",
		Variant: "x"}
	d.Add(a, dataset.Execution{Outcome: results.Error})
	d.Add(a, dataset.Execution{Outcome: results.Completed, Columns: wall(1, 2_000_000_003, 4)})
	d.Add(a, dataset.Execution{Outcome: results.Rerun, Columns: wall(9)})
	d.Add(b, dataset.Execution{Outcome: results.Completed, Columns: reals})
	var out bytes.Buffer
	must.Do(t, writeWarmupCSV(&out, d))
	want := "process_exec_num,bench_name,0,1,2\n" +
		"0,\"a,\"\"b\"\"\",crash,,\n1,\"a,\"\"b\"\"\",0.000000001,2.000000003,0.000000004\n0,c,1.232458e-07,0.1,3\n"
	must.Equal(t, out.String(), want)
	back := must.Get(ReadWarmupCSV(&out, WarmupCSVOptions{VM: "v", Variant: "x"}))(t)
	first, second := back.Find(a).Executions, back.Find(b).Executions
	if first[0].Outcome != results.Error || !slices.Equal(first[1].Columns[0].Reals,
		[]float64{1e-9, 2.000000003, 4e-9}) || !slices.Equal(second[0].Columns[0].Reals, reals[0].Reals) {
		t.Errorf("%+v %+v", first, second)
	}
}

// TestWarmupCSVOfCrashes: a file of crashes alone is read again.
func TestWarmupCSVOfCrashes(t *testing.T) {
	d := &dataset.Dataset{}
	d.Add(key.Key{Benchmark: "a", VM: "v", Variant: "x"}, dataset.Execution{Outcome: results.Timeout})
	var out bytes.Buffer
	err := writeWarmupCSV(&out, d)
	must.Be(t, err == nil && out.String() == "process_exec_num,bench_name,0\n0,a,crash\n", err, out.String())
	back, err := ReadWarmupCSV(&out, WarmupCSVOptions{})
	must.Be(t, err == nil && back.Pairs[0].Executions[0].Outcome == results.Error, back, err)
}

func TestWarmupCSVRefuses(t *testing.T) {
	must.Refuse(t, writeWarmupCSV(&bytes.Buffer{}, mixed()), "one VM", "several VMs")
	d := mixed()
	d.Pairs = d.Pairs[1:2]
	d.Add(d.Pairs[0].Key, mixed().Pairs[0].Executions[0])
	must.Refuse(t, writeWarmupCSV(&bytes.Buffer{}, d), "iterations", "different lengths")
	ops := &dataset.Dataset{}
	ops.Add(key.Key{Benchmark: "b"}, dataset.Execution{Columns: []dataset.Column{{Name: dataset.Wall,
		Unit: "ops/s", Core: dataset.NoCore, Reals: []float64{1}}}})
	must.Fail(t, writeWarmupCSV(&bytes.Buffer{}, ops), ErrFormat, "throughput")
	must.Refuse(t, writeWarmupCSV(failing{}, ops), "", "a full disk gives no error")
}

// TestWarmupCSVDirectory: a file for each VM and variant, each with its own number of iterations.
// Names of other tools may have slashes.
func TestWarmupCSVDirectory(t *testing.T) {
	d := &dataset.Dataset{}
	add := func(vm, variant string, ns ...int64) {
		d.Add(key.Key{Benchmark: "b", VM: vm, Variant: variant}, dataset.Execution{
			Outcome: results.Completed, Columns: []dataset.Column{{Name: dataset.Wall,
				Unit: dataset.Nanoseconds, Core: dataset.NoCore, Ints: ns}}})
	}
	add("C", "c", 1, 2)
	add("../Py", "py", 3)
	dir := filepath.Join(t.TempDir(), "csv")
	write := func() (rows int, err error) {
		x, err := NewWarmupCSV(d)
		if err != nil {
			return 0, err
		}
		return rows, x.WriteDirectory(durable.OS(), dir, func(_ string, n int) { rows += n })
	}
	rows, err := write()
	must.Need(t, rows == 2 && err == nil, rows, err)
	for file, want := range map[string]string{
		"C_c.csv":        "process_exec_num,bench_name,0,1\n0,b,0.000000001,0.000000002\n",
		"..%2FPy_py.csv": "process_exec_num,bench_name,0\n0,b,0.000000003\n",
	} {
		got, err := os.ReadFile(filepath.Join(dir, file))
		must.Be(t, string(got) == want && err == nil, file, got, err)
	}
	// "C_c" + "x" and "C" + "c_x" have one file name; nothing is written.
	add("C_c", "x", 4)
	add("C", "c_x", 5)
	rows, err = write()
	must.Be(t, rows == 0 && err != nil && strings.Contains(err.Error(), "C_c_x.csv"), rows, err)
}
