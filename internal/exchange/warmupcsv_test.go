package exchange

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

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
`), WarmupCSVOptions{VM: "Hotspot", Variant: "java-default", Uname: "Linux snim2-r700 4.4.0"})
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
		WarmupCSVOptions{})
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
		_, err := ReadWarmupCSV(strings.NewReader(c.text), WarmupCSVOptions{})
		must.Be(t, errors.Is(err, ErrFormat) && strings.Contains(fmt.Sprint(err), c.want), c.name, err,
			c.want)
	}
}

func FuzzReadWarmupCSV(f *testing.F) {
	f.Add(header + ",0,1\n0,x,1,2\n1,x,,\n")
	f.Add(header + ",0\n0,\"a,\nb\",NaN\n")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ReadWarmupCSV(strings.NewReader(text), WarmupCSVOptions{})
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
		WarmupCSVOptions{}))(t)
	e := d.Pairs[0].Executions
	must.Equal(t, fmt.Sprint(e[0].Columns[0].Reals, e[1].Columns[0].Reals, e[2].Columns[0].Reals),
		"[1 NaN 3] [4 5 6] []", "values")
	if e[0].Outcome != results.Completed || e[1].Outcome != results.Completed ||
		e[2].Outcome != results.Error {
		t.Errorf("outcomes %s, %s, %s", e[0].Outcome, e[1].Outcome, e[2].Outcome)
	}
}
