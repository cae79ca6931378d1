package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"krund/internal/analysis/dataset"
	"krund/rig/must"
)

const jmhText = `[{"jmhVersion":"1.36","benchmark":"org.x.Bench.run","mode":"avgt","forks":2,"params":{"size":"10","kind":"a b"},
 "primaryMetric":{"score":65.1,"scoreError":"NaN","scoreUnit":"ns/op","rawData":[[65.13,64.5],[66.25,63]]},"secondaryMetrics":{}},
 {"benchmark":"org.x.Bench.run","mode":"thrpt","primaryMetric":{"scoreUnit":"ops/ms","rawData":[[5],[]]}},
 {"benchmark":"org.x.Bench.run","mode":"sample","primaryMetric":{"scoreUnit":"us/op","rawDataHistogram":[[[[1,2],[4,1]],[[3,5]]],[]]}}]`

const pyperfText = `{"benchmarks":[{"metadata":{"name":"telco"},"runs":[
 {"metadata":{"calibrate_loops":8},"warmups":[[1,0.5]]},
 {"warmups":[[8,0.25]],"values":[0.125,0.5]},{"values":[1]}]},
 {"runs":[{"values":[1024],"metadata":{"name":"mem","unit":"byte"}}]}],
 "metadata":{"hostname":"apollo","unit":"second","python_implementation":"cpython"},"version":"1.0"}`

const hyperfineText = `{"results":[{"command":"sleep 0.1","mean":0.1,"times":[0.101,0.102,0.2],"exit_codes":[0,1,null]},
 {"command":"sleep_0.1","times":[0.3]},{"command":"none"}]}`

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

// formatFiles are files as the schemas of the tools describe them, with the keys and the seconds of
// each execution that follow by hand.
var formatFiles = []struct{ name, format, text, want string }{
	{"jmh.json", FormatJMH, jmhText, "org.x.Bench.run-kind_a_b-size_10:JVM:default [6.513e-08 6.45e-08] " +
		"[6.625e-08 6.3e-08]; org.x.Bench.run-thrpt:JVM:default [5] ops/ms [] ops/ms the fork has no " +
		"iterations; org.x.Bench.run-sample:JVM:default [2e-06 3e-06] {1 [{[1e-06 4e-06] [2 1]} " +
		"{[3e-06] [5]}]} [] the fork has no iterations"},
	{"pyperf.json", FormatPyperf, pyperfText,
		"telco:cpython:default [0.25 0.125 0.5] [1]; mem:cpython:default [1024] byte"},
	{"hyperfine.json", FormatHyperfine, hyperfineText, "sleep_0.1:command:default [0.101] " +
		"[0.102] exit status 1 [0.2] terminated by a signal; sleep_0.1_2:command:default [0.3]; " +
		"none:command:default"},
	{"go.txt", FormatGo, goText, "encoding_json.Decode-8:Go:default [0.011034523 0.011] " +
		"MB/s [175.86 175] allocs/op [3 NaN] [0.012]; encoding_json.Encode-8:Go:default [5e-09]"},
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
			for i, c := range e.Columns {
				if i > 0 {
					text += " " + c.Name
				}
				values := make([]float64, len(c.Reals))
				for i, v := range c.Reals {
					values[i] = math.Round(v*1e12) / 1e12
				}
				text += fmt.Sprintf(" %v", values)
				if i == 0 && c.Unit != dataset.Seconds {
					text += " " + c.Unit
				}
			}
			if e.Calls != nil {
				text += fmt.Sprintf(" %v", *e.Calls)
			}
			text += strings.Join(append([]string{""}, e.Reasons...), " ")
		}
		keys = append(keys, text)
	}
	return strings.Join(keys, "; ")
}

func TestFormats(t *testing.T) {
	dir := t.TempDir()
	for _, c := range formatFiles {
		file := filepath.Join(dir, c.name)
		must.Do(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must.Do(t, os.WriteFile(file, []byte(c.text), 0o600))
		must.Equal(t, Sniff([]byte(c.text)), c.format, c.name)
		d, err := ReadFile(file, FileOptions{AnyUnit: true})
		must.Need(t, err == nil && d.Format == c.format, c.name, err)
		must.Equal(t, shown(d), c.want, c.name)
		if strings.Contains(c.want, ":JVM:") || c.format == FormatHyperfine || c.format == FormatGo {
			continue // failures, or more columns
		}
		// the plain CSV has the same values
		var b bytes.Buffer
		must.Do(t, WritePlain(&b, d))
		again, err := Read(FormatPlain, &b, ImportOptions{})
		must.Do(t, err, c.name)
		must.Equal(t, shown(again), c.want, c.name)
	}
	_, err := ReadFile(filepath.Join(dir, "jmh.json"), FileOptions{})
	must.Refuse(t, err, "measured in ops/ms, and only times can be analyzed")
	d := must.Get(ReadFile(filepath.Join(dir, "pyperf.json"), FileOptions{VM: "v w", AnyUnit: true}))(t)
	must.Be(t, d.Machine == "apollo" && d.Pairs[0].Key.VM == "v_w" && len(d.Problems) == 1, d)
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

// TestMistakes: what is wrong in a file of a known format is said; it is no file of another.
func TestMistakes(t *testing.T) {
	mistakes := map[string]string{
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
		"BenchmarkX 1 5 ns/op 6 ns/op":                                     "unit ns/op occurs twice",
		"pexec: 1\nBenchmarkX 1 five ns/op":                                `"five" is not a number`,
		"pexec: 1\nBenchmarkX 1 5 " + strings.Repeat("x", 1<<21):           "token too long",
		`[{"jmhVersion": 1}]`:                                              "entry 0 has no benchmark",
		`{"benchmarks": [{"runs": []}]}`:                                   "there is no version",
		`{"results": [{"command": null}]}`:                                 "result 1 has no command",
		`{"results": [{"command": "a"}]} x`:                                "invalid character 'x'",
		`[{"jmhVersion": `:                                                 "unexpected end",
	}
	for histogram, want := range map[string]string{
		"[[[[1]]]]":          "fork 1, iteration 1",
		"[[[[1,2]],[]]]":     "fork 1, iteration 2: it has no calls",
		"[[[[-1,2]]]]":       "is not a time",
		"[[[[1,0.5]]]]":      "is not a time",
		"[[[[1,1e300]]]]":    "is not a time",
		"[[[[1e308,9e15]]]]": "too large",
		`[[[["a",1]]]]`:      "is of type string",
		"[[[[1e400,1]]]]":    "is 1e400, which is out of range",
		"[[[{\"1\":2}]]]":    "is of type object",
	} {
		mistakes[`[{"benchmark":"b","mode":"sample","primaryMetric":{"scoreUnit":"s/op","rawDataHistogram":`+
			histogram+`}}]`] = want
	}
	mistakes[`[{"benchmark":"b","mode":"sample","primaryMetric":{"scoreUnit":"ops/s","rawDataHistogram":`+
		`[[[[1,1]]]]}}]`] = "not one of time"
	for text, want := range mistakes {
		format := Sniff([]byte(text))
		_, err := Read(format, strings.NewReader(text), ImportOptions{})
		must.Be(t, want == "" && err == nil || want != "" && errors.Is(err, ErrFormat) &&
			strings.Contains(err.Error(), want), format, text, err, want)
	}
	for _, f := range formats {
		_, err := Read(f.name, iotest.ErrReader(errFull), ImportOptions{})
		must.Be(t, errors.Is(err, errFull) && !errors.Is(err, ErrFormat), f.name, "a failing disk", err)
	}
}

func TestPlanned(t *testing.T) {
	for text, want := range map[string]float64{"10 s": 10, "100 ms": 0.1, "": 1, "1 day": 86400, "-1 s": 1,
		"NaN s": 1, "1 parsec": 1} {
		must.Equal(t, planned(text), want)
	}
}

// FuzzRead: what is read of a file of any format can be used, and written.
func FuzzRead(f *testing.F) {
	for _, c := range formatFiles {
		i := slices.IndexFunc(formats, func(f format) bool { return f.name == c.format })
		f.Add(i, c.text)
	}
	f.Fuzz(func(t *testing.T, i int, text string) {
		if i < 0 || i >= len(formats) {
			return
		}
		d, err := Read(formats[i].name, strings.NewReader(text), ImportOptions{})
		if err != nil {
			must.Fail(t, err, ErrFormat)
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

// TestManyKeys: a small file with very many keys is refused before they are analyzed, in every way
// of reading keys: each of its own, and one after the other.
func TestManyKeys(t *testing.T) {
	for name, text := range map[string]func(keys int) string{
		"krun.json": func(keys int) string {
			var list []string
			for i := range keys {
				list = append(list, fmt.Sprintf(`"b%d:C:default": [[1.5]]`, i))
			}
			return `{"wallclock_times": {` + strings.Join(list, ", ") + `}}`
		},
		"bench.txt": func(keys int) string {
			var b strings.Builder
			b.WriteString("goos: linux\ngoarch: amd64\npkg: x\n")
			for i := range keys {
				fmt.Fprintf(&b, "BenchmarkB%d-2 \t 1\t 1000 ns/op\n", i)
			}
			return b.String() + "PASS\n"
		},
		"plain.csv": func(keys int) string { // all look alike: what a name costs does not grow
			var b strings.Builder
			b.WriteString(plainHeader + "\n")
			for i := range keys {
				fmt.Fprintf(&b, "%c%c,1,0,1,ns\n", 0x4e00+i%100, 0x4e00+i/100)
			}
			return b.String()
		},
	} {
		path := filepath.Join(t.TempDir(), name)
		for keys, want := range map[int]string{3: "", dataset.MaxKeys + 1: "more than 10000 keys",
			5 * dataset.MaxKeys: "more than 10000 keys"} {
			must.Do(t, os.WriteFile(path, []byte(text(keys)), 0o600))
			_, err := ReadFile(path, FileOptions{})
			must.Be(t, (err == nil) == (want == "") && (err == nil || strings.Contains(err.Error(), want)),
				name, "of", keys, "keys", err)
		}
	}
}
