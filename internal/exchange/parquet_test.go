package exchange

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// parquetDirectory writes two keys, one with a name that directories cannot have, and gives a
// pattern of their files.
func parquetDirectory(t *testing.T) string {
	t.Helper()
	d := &dataset.Dataset{Info: dataset.Info{Machine: "bencher5", Experiment: "test"}}
	for _, name := range []string{"fasta", "a/b ü"} {
		d.Add(key.Key{Benchmark: name, VM: "PyPy", Variant: "x"},
			dataset.Execution{Outcome: results.Completed, Columns: []dataset.Column{
				{Name: dataset.Wall, Unit: dataset.Nanoseconds, Core: dataset.NoCore,
					Ints: []int64{123456789, 1<<53 + 1}},
				{Name: dataset.CoreCycles, Core: 3, Counts: []uint64{1<<64 - 1, 1<<53 + 1}},
				{Name: "gc", Unit: dataset.Nanoseconds, Core: dataset.NoCore,
					Ints: []int64{dataset.MissingInt, -5}},
			}})
	}
	dir := t.TempDir()
	for i := range d.Pairs {
		var b bytes.Buffer
		must.Do(t, WriteParquet(&b, d, &d.Pairs[i]))
		file := filepath.Join(dir, filepath.FromSlash(ParquetFile(d.Pairs[i].Key)))
		must.Do(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must.Do(t, os.WriteFile(file, b.Bytes(), 0o644))
	}
	return filepath.Join(dir, "**", "*.parquet")
}

// TestDuckDB asks DuckDB what it reads: partitions, types, all 64 bits, what is missing, and the
// metadata.
func TestDuckDB(t *testing.T) {
	duckdb, err := exec.LookPath("duckdb")
	if err != nil {
		t.Skip("duckdb is not installed: it is not asked to read our Parquet")
	}
	files := "read_parquet('" + parquetDirectory(t) + "', union_by_name=true)"
	for query, want := range map[string]string{
		"select benchmark, vm, iteration, wall_ns, cycles_core3, gc from " + files +
			" order by all": "benchmark,vm,iteration,wall_ns,cycles_core3,gc\n" +
			"a/b ü,PyPy,0,123456789,18446744073709551615,\na/b " +
			"ü,PyPy,1,9007199254740993,9007199254740993,-5\n" +
			"fasta,PyPy,0,123456789,18446744073709551615,\nfasta,PyPy,1,9007199254740993,9007199254740993,-5\n",
		"select distinct typeof(wall_ns) a, typeof(cycles_core3) b, typeof(wall) c, typeof(pexec) d from " +
			files: "a,b,c,d\nBIGINT,UBIGINT,DOUBLE,INTEGER\n",
		"select distinct decode(value) v from parquet_kv_metadata('" +
			strings.TrimSuffix(strings.TrimPrefix(files, "read_parquet('"), "', union_by_name=true)") +
			"') where decode(key) = 'krund.unit.gc'": "v\nns\n",
	} {
		out, err := exec.CommandContext(t.Context(), duckdb, "-csv", "-c", query).CombinedOutput()
		must.Be(t, err == nil && string(out) == want, query, out, err, want)
	}
}

// TestPyarrow asks pyarrow, and with it pandas, the same.
func TestPyarrow(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil || exec.CommandContext(t.Context(), python, "-c", "import pyarrow.parquet").Run() != nil {
		t.Skip("pyarrow is not installed: it is not asked to read our Parquet")
	}
	out, err := exec.CommandContext(t.Context(), python, "-c", `
import glob, sys, pyarrow.parquet as pq
for f in sorted(glob.glob(sys.argv[1], recursive=True)):
    t = pq.ParquetFile(f).read()
    print(t['benchmark'][0], t['wall_ns'].to_pylist(), t['cycles_core3'].to_pylist(), t['gc'].to_pylist(), t.schema.field('cycles_core3').type, t.schema.metadata[b'krund.unit.gc'])
`, parquetDirectory(t)).CombinedOutput()
	want := "[123456789, 9007199254740993] [18446744073709551615, 9007199254740993] [None, -5] uint64 b'ns'\n"
	must.Be(t, err == nil && string(out) == "a/b ü "+want+"fasta "+want, out, err, want)
}
