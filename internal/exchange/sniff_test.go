package exchange

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"krund/internal/experiment/key"
	"krund/rig/must"
)

func TestSniff(t *testing.T) {
	for text, want := range map[string]string{
		"":                                                      "",
		"BZh91AY&SY":                                            FormatKrun,
		`{"aperf_counts": {"b:v:x`:                              FormatKrun,
		` {"new":1,"config":"`:                                  FormatKrun,
		"\n[{\"jmhVersion\":\"1.3":                              FormatJMH,
		`[{"benchmark":"a","mode":"`:                            FormatJMH,
		`[{"benchmark":"a","unit":"`:                            "",
		`{"version":"1.0","benchma`:                             "",
		`{"benchmarks": [{"metadata":`:                          FormatPyperf,
		`{"version":1,"benchmarks": [{"runs":`:                  FormatPyperf,
		`{"results":[{"command":"a`:                             FormatHyperfine,
		`{"results":[{"name":"a`:                                "",
		`{"results":{"command":"a`:                              "",
		`{"config":{},"audit":{}}`:                              "",
		`{"config":{},"audit":{},`:                              FormatKrun,
		"goos: linux\ngoarch: amd64":                            FormatGo,
		"# pinned to CPU 1\nBenchmarkX-8 \t 1 712 ns/op\n":      FormatGo,
		"process_exec_num, bench_name, 0, 1\n":                  FormatWarmupCSV,
		"\ufeffprocess num,bench_name,0,1,2,3,4,5,6,7,8,9,10,1": FormatWarmupCSV,
		"process_exec_num,bench_name,1,2\n":                     "",
		"process_exec_num,bench_name\n":                         "",
		"i,b,0,1\n":                                             "",
		"goos: linux\n   │   a.txt    │\n":                      "",
		`{"other": [1, 2`:                                       "",
		`{"other": 1}`:                                          "",
		"{":                                                     "",
		"Benchmark of my own, 4 ns\n":                           "",
		"\x1f\x8b\x08":                                          "",
	} {
		must.Equal(t, Sniff([]byte(text)), want)
	}
}

// TestSniffDeep: what the beginning of a file costs does not grow with the square of its depth.
func TestSniffDeep(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, opening := range []string{"[", `{"a":`} {
		must.Equal(t, Sniff([]byte(strings.Repeat(opening, SniffSize/len(opening)))), "")
	}
	runtime.ReadMemStats(&after)
	const most = 256 << 20
	must.Be(t, after.TotalAlloc-before.TotalAlloc < most, "bytes:", after.TotalAlloc-before.TotalAlloc)
}

func FuzzSniff(f *testing.F) {
	f.Add([]byte(`{"a":[{}],"results":`))
	f.Add([]byte("a,b,c"))
	f.Add([]byte(strings.Repeat("\x95,", 100) + "\n1" + strings.Repeat(",1", 99)))
	f.Add([]byte("\"a\";b;c\n1,2,3"))
	f.Fuzz(func(t *testing.T, head []byte) {
		must.Fail(t, foreign(head), ErrUnknown)
		a := Sniff(head)
		must.Equal(t, a, Sniff(append([]byte{}, head...)), "then")
	})
}

// TestParquetFile: whatever a name is, its file stays below the directory, and names of a part can
// be made by a file system.
func TestParquetFile(t *testing.T) {
	for _, c := range []struct {
		k    key.Key
		want string
	}{
		{key.Key{Benchmark: "fasta", VM: "PyPy", Variant: "x"},
			"benchmark=fasta/vm=PyPy/variant=x/iterations.parquet"},
		{key.Key{Benchmark: "../a b", VM: "..", Variant: ""},
			"benchmark=..%2Fa%20b/vm=../variant=/iterations.parquet"},
	} {
		must.Equal(t, ParquetFile(c.k), c.want)
	}
	long := map[string]bool{}
	for _, name := range []string{strings.Repeat("a", 300), strings.Repeat("a", 301),
		strings.Repeat("ü", 200), strings.Repeat("/", 200)} {
		part, _, _ := strings.Cut(ParquetFile(key.Key{Benchmark: name, VM: "v", Variant: "x"}), "/")
		must.Be(t, len(part) <= longestName && len(part) >= longestName-8 && !long[part], len(part), "bytes",
			part)
		long[part] = true
	}
}

// foreignFiles are the beginnings of files that other tools wrote: those of hyperfine and perf were
// made here, the others are as source or documentation of the tools have them.
var foreignFiles = map[string]struct{ text, want string }{
	"hyperfine Markdown": {"| Command | Mean [ms] | Min [ms] | Max [ms] | Relative |\n|:---|---:|---:|\n",
		"--export-json"},
	"hyperfine text": {"Benchmark 1: true\n  Time (mean ± σ):       1.9 ms ±   1.4 ms\n", "--export-json"},
	"criterion estimates.json": {`{"mean":{"confidence_interval":{"confidence_level":0.95,"lower_bound":1,` +
		`"upper_bound":2},"point_estimate":1.5,"standard_error":0.1},"median":{}}`, "criterion"},
	"criterion benchmark.json": {`{"group_id":"g","function_id":"f","value_str":null}`, "criterion"},
	"criterion raw.csv": {"group,function,value,throughput_num,throughput_type,sample_measured_value,unit," +
		"iteration_count\ng,f,,,,1,ns,1\n", "criterion"},
	"criterion text": {"fib 20                  time:   [26.029 µs 26.251 µs 26.505 µs]\n", "criterion"},
	"libtest": {"\nrunning 1 test\ntest tests::fib ... bench:      26,029 ns/iter (+/- 505)\n",
		"cargo bench"},
	"Google Benchmark CSV": {"name,iterations,real_time,cpu_time,time_unit,bytes_per_second\n" +
		"BM_x,5,1,1,ns,,\n", "Google Benchmark"},
	"Google Benchmark text": {"-----\nBenchmark        Time             CPU   Iterations\n-----\n",
		"Google Benchmark"},
	"pytest-benchmark CSV": {"name,min,max,mean,stddev,median,iqr,outliers,ops,rounds,iterations\n",
		"pytest-benchmark"},
	"BenchmarkDotNet CSV": {"Method,Job,AnalyzeLaunchVariance,EvaluateOverhead\nA,DefaultJob,False,Default\n",
		"BenchmarkDotNet"},
	"BenchmarkDotNet CSV of another locale": {"Method;Job;AnalyzeLaunchVariance;EvaluateOverhead\n",
		"BenchmarkDotNet"},
	"BenchmarkDotNet measurements": {"Target,Target_Namespace,Target_Type,Measurement_LaunchIndex\n",
		"BenchmarkDotNet"},
	"BenchmarkDotNet Markdown": {"```\n\nBenchmarkDotNet v0.13.12, Ubuntu 22.04\n", "BenchmarkDotNet"},
	"perf stat": {"# started on Mon Nov 23 09:28:32 2026\n\n\n Performance counter stats for 'true':\n",
		"perf stat"},
	"perf stat on the terminal": {"\n Performance counter stats for 'true':\n\n   0.55 msec task-clock\n",
		"perf stat"},
	"perf stat -x": {"# started on Mon Nov 23 09:28:32 2026\n\n0.55,msec,task-clock,553002,100.00\n",
		"perf stat"},
	"perf stat -j": {`{"counter-value" : "0.5", "unit" : "msec", "event" : "task-clock"}` + "\n",
		"perf stat"},
	"JMH text": {"# JMH version: 1.36\n# VM version: JDK 17\n", "-rf json"},
	"JMH table": {"Benchmark                Mode  Cnt   Score   Error  Units\nB.x  avgt  5  1.0 ± 0\n",
		"-rf json"},
	"JMH CSV": {`"Benchmark","Mode","Threads","Samples","Score","Score Error (99.9%)","Unit"`,
		"-rf json"},
	"pyperf text": {".....................\nMean +- std dev: 1.5 ms +- 0.1 ms\n", "-o FILE.json"},
	"asv": {`{"commit_hash": "a", "env_name": "v", "date": 1, "params": {}, "python": "3", ` +
		`"requirements": {}, "results": {"b": 1}}`, "asv"},
	"go test -json": {`{"Time":"2024","Action":"start","Package":"x"}` + "\n", "without -json"},
	"benchstat": {"goos: linux\n          │   a.txt    │               b.txt                │\n" +
		"          │   sec/op   │   sec/op     vs base               │\n", "go test"},
	"Renaissance": {`{"format_version":6,"benchmarks":[],"environment":{},"data":{}}`, "Renaissance"},
	"Renaissance CSV": {"benchmark,duration_ns,uptime_ns,vm_start_unix_ms\nscrabble,911379929,2515700351,1\n",
		"Renaissance"},
	"time -v": {"\tCommand being timed: \"true\"\n\tUser time (seconds): 0.00\n", "time"},
	"krunctl convert": {"benchmark,vm,variant,pexec,slot,attempt,iteration,start_ns,wall_ns,wall_s\n",
		"the experiment's directory"},
	"krunctl convert --jsonl": {`{"benchmark":"b","vm":"v","variant":"x","pexec":1,"slot":0,"attempt":1}` +
		"\n",
		"the experiment's directory"},
	"an analysis": {`{"format": "krund-analysis", "version": 1, "source": {}, "parameters": {}, "pairs": []}`,
		"the analysis"},
	"a trace":    {`{"displayTimeUnit":"ns","traceEvents":[]}`, "the experiment's directory"},
	"a schedule": {"krund-schedule=1\n", "the experiment's directory"},
	"µOpTime":    {"b_name,ir_pos,sr_pos,it_pos,bed_pos,ns_per_op\n", "krunctl enough optimize"},
	"a CSV of three columns": {"name,size,value\n0,x,1\n",
		"name them key,execution,iteration,value,unit (a row: fib,1,1,0.25,s)"},
	"a CSV of two columns": {"run,seconds\n0,0.1\n", "its columns are run,seconds; name them key,"},
	"a CSV that begins like ours": {"process_exec_num,bench_name,mean\n0,x,1\n",
		"process_exec_num,bench_name,0,1,"},
	"another JSON":  {`{"config": {"a": 1}, "name": "x"}`, "NAME.toml"},
	"a list":        {`[1.0, 2.0, 3.0, 4.0]`, "NAME.toml"},
	"a list of any": {`[{"name": "x", "unit": "ns", "value": 5}]`, "NAME.toml"},
	"versions":      {`{"version": "2.1.0", "runs": []}`, "NAME.toml"},
	"results":       {`{"results": [{"name": "x", "times": [1]}]}`, "NAME.toml"},
	"gzip": {"\x1f\x8b\x08\x00" + strings.Repeat("\x95,", 100) + "\n1,2\n",
		"compressed with gzip; unpack it first (gunzip)"},
	"a long header": {strings.Repeat("ü,seconds", 20) + "\n" + strings.Repeat("0,1", 20) + "\n",
		"its columns are ü,secondsü"},
	"binary": {"\x01\x95" + strings.Repeat("\xff\x00,", 60) + "\n1" + strings.Repeat(",1", 60) + "\n",
		"NAME.toml"},
	"text": {"Benchmark of my own, 4 ns\n", "NAME.toml"},
}

// TestForeignFiles: a file is read only if its header or schema is that of a format, whatever its
// name; what is recognized is named with the remedy.
func TestForeignFiles(t *testing.T) {
	dir := t.TempDir()
	for what, c := range foreignFiles {
		for _, name := range []string{"x", "x.csv", "x.json", "x.json.bz2", "x.txt"} {
			file := filepath.Join(dir, name)
			must.Do(t, os.WriteFile(file, []byte(c.text), 0o600))
			d, err := ReadFile(file, FileOptions{})
			must.Be(t, errors.Is(err, ErrUnknown) && strings.Contains(err.Error(), c.want), what, "as", name,
				d, err, c.want)
		}
	}
}

func TestStem(t *testing.T) {
	for in, want := range map[string]string{
		"a/warmup_results.json.bz2": "a/warmup_results", "times.csv": "times", "x.JSON": "x",
		"plain": "plain",
	} {
		must.Equal(t, Stem(in), want, "Stem")
	}
}
