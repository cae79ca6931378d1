package exchange

import (
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
