package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/rig/must"
)

// otherFiles are files as the schemas of the tools describe them, with the keys and the seconds of
// each execution that follow by hand.
var otherFiles = []struct{ name, format, text, want string }{
	{"target/criterion/sort/10/new/sample.json", FormatCriterion,
		`{"sampling_mode":"Linear","iters":[1.0,2.0,4.0],"times":[500.0,960.0,2000.0]}`,
		"sort_10:Rust:default [5e-07 4.8e-07 5e-07]"},
	{"sample.json", FormatCriterion, `{"sampling_mode":"Flat","iters":[5.0],"times":[10.0]}`,
		"criterion:Rust:default [2e-09]"},
	{"divan.txt", FormatDivan, "Timer precision: 20 ns\n" +
		"example          fastest       │ slowest       │ median        │ mean          │ samples │ iters\n" +
		"├─ fib                         │               │               │               │         │\n" +
		"│  ├─ 10         102.1 ns      │ 110 ns        │ 103 ns        │ 104.5 ns      │ 100     │ 3200\n" +
		"│  ╰─ 20         12.5 µs       │ 13.9 µs       │ 12.6 µs       │ 12.75 µs      │ 100     │ 100\n" +
		"╰─ sort          1.5 ms        │ 2.5 ms        │ 1.6 ms        │ 1.75 ms       │ 100     │ 100\n" +
		"\nTimer precision: 20 ns\nexample  fastest │ slowest │ median │ mean │ samples │ iters\n" +
		"╰─ sort          1.5 ms        │ 2.5 ms        │ 1.6 ms        │ 2 ms          │ 100     │ 100\n",
		"fib_10:Rust:default [1.045e-07]; fib_20:Rust:default [1.275e-05]; " +
			"sort:Rust:default [0.00175] [0.002]"},
	{"pytest.json", FormatPytest, `{"machine_info": {"node": "h"}, "commit_info": {}, "benchmarks": [` +
		`{"group": null, "name": "test_x", "fullname": "t.py::test_x", "params": null, "stats": {"min": 0.001,` +
		` "max": 0.002, "mean": 0.0015, "rounds": 2, "data": [0.001, 0.002], "iterations": 1}}],` +
		` "datetime": "2026-01-01", "version": "5.2.3"}`, "t.py__test_x:python:default [0.001 0.002]"},
	{"google.json", FormatGoogle, `{"context": {"date": "2026", "host_name": "h", "num_cpus": 2}, "benchmarks": [` +
		`{"name": "BM_a/8", "run_name": "BM_a/8", "run_type": "iteration", "repetitions": 2,` +
		` "repetition_index": 0, "iterations": 100, "real_time": 1.5, "cpu_time": 1.4, "time_unit": "us"},` +
		`{"name": "BM_a/8", "run_name": "BM_a/8", "run_type": "iteration", "repetition_index": 1,` +
		` "iterations": 100, "real_time": 2.5, "cpu_time": 1.4, "time_unit": "us"},` +
		`{"name": "BM_a/8_mean", "run_name": "BM_a/8", "run_type": "aggregate", "real_time": 2,` +
		` "time_unit": "us"},` +
		`{"name": "BM_b", "run_name": "BM_b", "run_type": "iteration", "error_occurred": true, "real_time": 0},` +
		`{"name": "BM_c", "iterations": 1, "real_time": 7, "cpu_time": 7, "time_unit": "ns"}]}`,
		"BM_a_8:C++:default [1.5e-06 2.5e-06]; BM_c:C++:default [7e-09]"},
	{"dotnet.json", FormatBenchmarkDotNet, `{"Title": "X", "HostEnvironmentInfo": {"BenchmarkDotNetVersion":` +
		` "0.13.12"}, "Benchmarks": [{"FullName": "X.Sort(N: 10)", "Measurements": [` +
		`{"IterationMode": "Overhead", "IterationStage": "Actual", "LaunchIndex": 1, "IterationIndex": 1,` +
		` "Operations": 4, "Nanoseconds": 1},` +
		`{"IterationMode": "Workload", "IterationStage": "Actual", "LaunchIndex": 1, "IterationIndex": 1,` +
		` "Operations": 4, "Nanoseconds": 44},` +
		`{"IterationMode": "Workload", "IterationStage": "Result", "LaunchIndex": 1, "IterationIndex": 1,` +
		` "Operations": 4, "Nanoseconds": 40},` +
		`{"IterationMode": "Workload", "IterationStage": "Result", "LaunchIndex": 2, "IterationIndex": 1,` +
		` "Operations": 2, "Nanoseconds": 30}]}]}`, "X.Sort_N__10_:dotnet:default [1e-08] [1.5e-08]"},
	{"rebench.data", FormatReBench, "#!/usr/bin/rebench -c rebench.conf all\n" +
		"# Execution Start: 2026-01-01T10:00:00\n" +
		"# Environment: {}\n# Source: {}\ninvocation\titeration\tvalue\tunit\tcriterion\tbenchmark\t" +
		"executor\tsuite\textraArgs\tcores\tinputSize\tvarValue\n" +
		"1\t1\t12.5\tms\ttotal\tfib\tPyPy\ts\t\t\t20\t\n1\t1\t3\tKByte\tMaxRSS\tfib\tPyPy\ts\t\t\t20\t\n" +
		"1\t2\t10.5\tms\ttotal\tfib\tPyPy\ts\t\t\t20\t\n2\t1\t11\tms\ttotal\tfib\tPyPy\ts\t\t\t20\t\n" +
		"1\t1\t99\tms\ttotal\tfib\tCPython\ts\t\t\t20\t\n",
		"fib-20:PyPy:default [0.0125 0.0105] [0.011]; fib-20:CPython:default [0.099]"},
	{"suites.data", FormatReBench, "# Execution Start: x\n1\t1\t1\ts\ttotal\tfib\tv\ta\n" +
		"1\t1\t9\ts\ttotal\tfib\tv\tb\n1\t2\t2\ts\ttotal\tfib\tv\ta\t\n1\t1\t5\ts\ttotal\tfib\tv\n",
		"fib:v:default [1 2]; b-fib:v:default [9]; none-fib:v:default [5]"},
	{"hyperfine.csv", FormatHyperfineCSV, "command,mean,stddev,median,user,system,min,max,parameter_n\n" +
		"\"sleep 0.5, twice\",1.002,0.001,1.002,0.001,0,1.001,1.003,2\n",
		"sleep_0.5__twice:command:default [1.002]"},
	{"plain.csv", FormatPlain, "key,execution,iteration,value,unit\na:vm:x,1,0,5,ns\na:vm:x,1,1,6,ns\n" +
		"a:vm:x,2,0,7,ns\nalone,1,0,0.5,s\n",
		"a:vm:x [5e-09 6e-09] [7e-09]; alone:default:default [0.5]"},
}

// shown writes a data set as the wants above are written.
func shown(d *dataset.Dataset) string {
	var keys []string
	for _, p := range d.Pairs {
		text := p.Key.String()
		for _, e := range p.Executions {
			values, _ := e.Values(dataset.Wall)
			for i, v := range values {
				values[i] = math.Round(v*1e12) / 1e12
			}
			text += fmt.Sprintf(" %v", values)
		}
		keys = append(keys, text)
	}
	return strings.Join(keys, "; ")
}

func TestOtherFiles(t *testing.T) {
	dir := t.TempDir()
	for _, c := range otherFiles {
		file := filepath.Join(dir, c.name)
		must.Do(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must.Do(t, os.WriteFile(file, []byte(c.text), 0o600))
		must.Equal(t, Sniff([]byte(c.text)), c.format, c.name)
		d, err := ReadFile(file, FileOptions{})
		must.Need(t, err == nil && d.Format == c.format, c.name, err)
		must.Equal(t, shown(d), c.want, c.name)
		// the plain CSV has the same values
		var b bytes.Buffer
		must.Do(t, WritePlain(&b, d))
		again, err := readOther(otherFormats[len(otherFormats)-1], &b, ImportOptions{})
		must.Do(t, err, c.name)
		must.Equal(t, shown(again), c.want, c.name)
	}
}

// TestFilesOfTools: files that the tools themselves wrote, with the versions in their names. The
// values are those of the files, read by Python and rounded to picoseconds.
func TestFilesOfTools(t *testing.T) {
	for name, want := range map[string]string{
		"pytest-benchmark-3.2.2.json": "test_b.py__test_fib:python:default [1.6948667e-05 1.6427666e-05 " +
			"1.6157333e-05 1.5937e-05 1.5983667e-05 1.5940333e-05 1.5997e-05 2.0997667e-05]; " +
			"test_b.py__test_sum:python:default [6.3164e-06 6.054e-06 6.044e-06 9.5312e-06 " +
			"1.08941e-05 8.3744e-06]",
		"google-benchmark-1.7.1.json": "Sum_100_repeats_4:C++:default [3.65249e-07 3.77224e-07 " +
			"3.82843e-07 3.88214e-07]; " +
			"Sum_1000_repeats_4:C++:default [3.739571e-06 2.778824e-06 9.64027e-07 3.816841e-06]",
	} {
		must.Equal(t, shown(must.Get(ReadFile("testdata/"+name, FileOptions{}))(t)), want, name)
	}
}

// TestOtherMistakes: what is wrong in a file of a known format is said; it is no file of another.
func TestOtherMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`{"sampling_mode":"Flat","iters":[1,2],"times":[1]}`:                       "iters has 2 values",
		`{"sampling_mode":"Flat","iters":[0],"times":[1]}`:                         "sample 1 has 0 iterations",
		`{"benchmarks": [{"fullname": "t", "stats": {"min": 1}}]}`:                 "--benchmark-save-data",
		`{"benchmarks": [{"name": "a", "real_time": 1, "run_type": "aggregate"}]}`: "it has no values",
		"# Execution Start: x\nx\t1\t1\tms\ttotal\tb\tv\n":                         `"x" is not an invocation`,
		"key,execution,iteration,value,unit\na:v:x,1,1,5,ns\na:v:x,1,1,5,ns\n":     "follows iteration 1",
		"key,execution,iteration,value,unit\na:v:x,1,0,5,ns\na:v:x,1,1,5,s\n":      "",
		"key,execution,iteration,value,unit\na:v:x,1,0,5,ns\na:v:x,1,1,5,bytes\n":  "in s and in bytes",
		"key,execution,iteration,value,unit\nb c,1,0,1,ns\n" +
			"b_c:default:default,1,1,9,ns\n": "the same name here",
		"# Execution Start: x\n1\t1\t1\ts\ttotal\tf\tp 3\ts\n" +
			"1\t1\t9\ts\ttotal\tf\tp_3\ts\n": "the same name here",
		"key,execution,iteration,value,unit\na:v:x,one,1,5,ns\n":           `execution "one"`,
		"command,mean,stddev,median,user,system,min,max\nx,,1,1,1,1,1,1\n": `"" is not a time`,
		`{"HostEnvironmentInfo": {}, "Benchmarks": [{"FullName": 3}]}`:     "is of type number",
	} {
		i := slices.IndexFunc(otherFormats, func(f otherFormat) bool { return f.name == Sniff([]byte(text)) })
		must.Need(t, i >= 0, "not recognized", text)
		_, err := readOther(otherFormats[i], strings.NewReader(text), ImportOptions{})
		must.Be(t, want == "" && err == nil || want != "" && errors.Is(err, ErrFormat) &&
			strings.Contains(err.Error(), want), text, err, want)
	}
}

// TestOtherManyNames: too many names are refused, and what names cost does not grow with those
// before them, also if all look alike.
func TestOtherManyNames(t *testing.T) {
	plain := func(n int) string {
		var b strings.Builder
		b.WriteString(strings.Join(PlainColumns, ",") + "\n")
		for i := range n {
			fmt.Fprintf(&b, "%c%c,1,0,1,ns\n", 0x4e00+i%100, 0x4e00+i/100)
		}
		return b.String()
	}
	format := otherFormats[len(otherFormats)-1]
	_, err := readOther(format, strings.NewReader(plain(dataset.MaxKeys+1)), ImportOptions{})
	must.Be(t, errors.Is(err, ErrFormat) && strings.Contains(err.Error(), "more than 10000 keys"), err)
	d, err := readOther(format, strings.NewReader(plain(dataset.MaxKeys)), ImportOptions{})
	must.Do(t, err)
	must.Equal(t, d.Pairs[dataset.MaxKeys-1].Key.Benchmark, "___10000", "the last name")
}

func FuzzOthers(f *testing.F) {
	for _, c := range otherFiles {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, format := range otherFormats {
			d, err := readOther(format, bytes.NewReader(text), ImportOptions{})
			if err != nil {
				must.Fail(t, err, ErrFormat)
				continue
			}
			must.Do(t, d.CheckKeys())
			for _, p := range d.Pairs {
				for _, e := range p.Executions {
					must.Do(t, e.Check())
				}
			}
		}
	})
}
