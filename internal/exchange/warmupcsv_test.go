package exchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
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

func TestReadWarmupCSV(t *testing.T) {
	d, err := ReadWarmupCSV(strings.NewReader(`process num, bench_name, 0, 1, 2
0, spectral norm, 0.2, 0.1, 0.4
1, spectral norm, 0.3, nan, 2e-1
0, "fasta, long", 1, 2, 3
2, spectral norm, , ,
3, spectral norm, crash
4, spectral norm, crash, , 
`), FileOptions{VM: "Hotspot", Variant: "java-default", Uname: "Linux snim2-r700 4.4.0"})
	must.Do(t, err)
	if d.Machine != "snim2-r700" || len(d.Pairs) != 2 || d.Pairs[1].Key != (key.Key{Benchmark: "fasta, long",
		VM: "Hotspot", Variant: "java-default"}) {
		t.Errorf("%+v", d)
	}
	norm := d.Find(key.Key{Benchmark: "spectral norm", VM: "Hotspot", Variant: "java-default"}).Executions
	if len(norm) != 5 || norm[3].Outcome != results.Error || norm[4].Outcome != results.Error ||
		!slices.Equal(norm[0].Columns[0].Reals, []float64{0.2, 0.1, 0.4}) ||
		!math.IsNaN(norm[1].Columns[0].Reals[1]) {
		t.Errorf("executions %+v", norm)
	}
	must.Be(t, norm[2].Outcome == results.Error && norm[2].Number == 3 && norm[2].Columns[0].Len() == 0,
		"a row without values", norm[2])
	d, err = ReadWarmupCSV(strings.NewReader("\ufeffProcess_Exec_Idx,bench_name,0\n0,x,1"),
		FileOptions{})
	must.Be(t, err == nil && d.Pairs[0].Key.String() == "x:vm:default", "without names", d, err)
}

const header = "process_exec_num,bench_name"

func TestReadWarmupCSVRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "there is no header"},
		{"a header without iterations", header + "\n", "its columns are process_exec_num,bench_name;"},
		{"other columns", "command,mean,stddev\ntrue,1,2\n", "its columns are command,mean,stddev;"},
		{"iterations from 1", header + ",1,2\n0,x,1,2\n", "or " + header + ",0,1,"},
		{"an iteration cut off", header + ",0,\n0,x,1,2\n", "or " + header},
		{"rows of unequal length", header + ",0,1\n0,x,1,2\n1,x,1\n", "line 3"},
		{"a word", header + ",0\n0,x,fast\n", `line 2, iteration 1: "fast" is not a number`},
		{"a quote not ended", header + ",0\n0,\"x,1\n", "quote"},
	} {
		_, err := ReadWarmupCSV(strings.NewReader(c.text), FileOptions{})
		must.Be(t, errors.Is(err, ErrFormat) && strings.Contains(fmt.Sprint(err), c.want), c.name, err,
			c.want)
	}
}

func FuzzReadWarmupCSV(f *testing.F) {
	f.Add(header + ",0,1\n0,x,1,2\n1,x,,\n")
	f.Add(header + ",0\n0,\"a,\nb\",NaN\n")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ReadWarmupCSV(strings.NewReader(text), FileOptions{})
		if err != nil {
			return
		}
		n := -1
		for _, p := range d.Pairs {
			for _, e := range p.Executions {
				if e.Outcome == results.Error {
					continue
				}
				if n < 0 {
					n = e.Columns[0].Len()
				}
				must.Equal(t, e.Columns[0].Len(), n, "executions of", "and", "iterations")
			}
		}
	})
}

// TestReadWarmupCSVMissing: one bad execution does not prevent reading the good ones, and is not
// read as a shorter one.
func TestReadWarmupCSVMissing(t *testing.T) {
	d := must.Get(ReadWarmupCSV(strings.NewReader(header+",0,1,2\n0,x,1,,3\n1,x,4,5,6\n2,x,,,\n"),
		FileOptions{}))(t)
	e := d.Pairs[0].Executions
	must.Equal(t, fmt.Sprint(e[0].Columns[0].Reals, e[1].Columns[0].Reals, e[2].Columns[0].Reals),
		"[1 NaN 3] [4 5 6] []", "values")
	if e[0].Outcome != results.Completed || e[1].Outcome != results.Completed ||
		e[2].Outcome != results.Error {
		t.Errorf("outcomes %s, %s, %s", e[0].Outcome, e[1].Outcome, e[2].Outcome)
	}
}

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
	back := must.Get(ReadWarmupCSV(&out, FileOptions{VM: "v", Variant: "x"}))(t)
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
	back, err := ReadWarmupCSV(&out, FileOptions{})
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

// warmupStats is what warmup_stats' own code is asked: to read our results of Krun, and to make
// results of our CSV.
const warmupStats = `
import json, sys
sys.path.insert(0, sys.argv[1])
from warmup.krun_results import read_krun_results_file, csv_to_krun_json
ours = read_krun_results_file(sys.argv[2])
made = csv_to_krun_json([sys.argv[3]], 'python', 'PyPy', 'Linux bencher5 6.1')[-1]
print(json.dumps({'machine': ours['audit']['uname'].split(' ')[1], 'times': ours['wallclock_times'],
    'cycles': ours['core_cycle_counts'], 'csv': read_krun_results_file(made)['wallclock_times'], 'made': made}))
`

// TestWarmupStats holds our files against the program they are for. It runs where
// KRUND_WARMUP_STATS names its directory, and needs python2.7.
func TestWarmupStats(t *testing.T) {
	root := os.Getenv("KRUND_WARMUP_STATS")
	if root == "" {
		t.Skip("KRUND_WARMUP_STATS is not set: warmup_stats itself is not asked")
	}
	python, err := exec.LookPath("python2.7")
	if err != nil {
		t.Skip("warmup_stats needs python2.7: it is not asked")
	}
	d := &dataset.Dataset{Info: dataset.Info{Machine: "bencher5"}}
	k := key.Key{Benchmark: "fasta", VM: "PyPy", Variant: "default-python"}
	d.Add(k, dataset.Execution{Outcome: results.Completed, Columns: []dataset.Column{
		{Name: dataset.Wall, Unit: dataset.Nanoseconds, Core: dataset.NoCore,
			Ints: []int64{123456789, 2000000001}},
		{Name: dataset.CoreCycles, Core: 0, Counts: []uint64{1<<64 - 1, 1<<53 + 1}},
	}})
	d.Add(k, dataset.Execution{Outcome: results.Error})
	dir := t.TempDir()
	var written, table bytes.Buffer
	must.Do(t, WriteKrunJSON(&written, d, "text"))
	must.Do(t, writeWarmupCSV(&table, d))
	for name, text := range map[string][]byte{"ours.json.bz2": written.Bytes(), "ours.csv": table.Bytes(),
		"ask.py": []byte(warmupStats)} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), text, 0o644))
	}
	c := exec.CommandContext(t.Context(), python, filepath.Join(dir, "ask.py"), root,
		filepath.Join(dir, "ours.json.bz2"), filepath.Join(dir, "ours.csv"))
	c.Stderr = os.Stderr
	text := must.Get(c.Output())(t, "warmup_stats does not take our files")
	var got struct {
		Machine, Made string
		Times, CSV    map[string][][]float64
		Cycles        map[string][][][]uint64
	}
	must.Do(t, json.Unmarshal(text, &got), text)
	name := k.String()
	for what, times := range map[string][][]float64{"results": got.Times[name], "CSV": got.CSV[name]} {
		if len(times) != 2 || len(times[0]) != 2 || times[0][0] != 0.123456789 ||
			times[0][1] != 2.000000001 || len(times[1]) != 0 {
			t.Errorf("%s: %v", what, times)
		}
	}
	if c := got.Cycles[name]; got.Machine != "bencher5" || len(c) != 2 || c[0][0][0] != 1<<64-1 ||
		c[0][0][1] != 1<<53+1 {
		t.Errorf("machine %s, cycles %v", got.Machine, c)
	}
	made := must.Get(os.Open(got.Made))(t)
	defer made.Close()
	back, err := ReadKrunJSON(made, FileOptions{Counters: true})
	if err != nil || len(back.Find(k).Executions) != 2 ||
		back.Find(k).Executions[1].Outcome == results.Completed {
		t.Errorf("what warmup_stats makes reads here as %+v, %v", back, err)
	}
}
