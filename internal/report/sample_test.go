package report

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/durable"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

var update = flag.Bool("update", false, "write the golden files anew")

// levels makes up iterations: (count, seconds) pairs with a spread of 1%.
func levels(seed uint64, parts ...float64) []float64 {
	r := rand.New(rand.NewPCG(seed, 7))
	var values []float64
	for i := 0; i+1 < len(parts); i += 2 {
		for range int(parts[i]) {
			values = append(values, parts[i+1]*(1+0.01*r.NormFloat64()))
		}
	}
	return values
}

func execution(values []float64) dataset.Execution {
	return dataset.Execution{Outcome: results.Completed, Columns: []dataset.Column{
		{Name: dataset.Wall, Unit: dataset.Seconds, Core: dataset.NoCore, Reals: values},
	}}
}

// sample has a key of every class, a hostile name, a key without executions and one of errors only.
func sample() *dataset.Dataset {
	d := &dataset.Dataset{Info: dataset.Info{Source: "test.krun", Format: "krund", Machine: "bencher5",
		Experiment: "test"}}
	add := func(benchmark string, runs ...[]float64) {
		for _, values := range runs {
			d.Add(key.Key{Benchmark: benchmark, VM: "PyPy", Variant: "default-python"}, execution(values))
		}
	}
	const long, short = 260.0, 140.0
	for seed := range uint64(3) {
		add("flat", levels(seed, 400, 0.2))
		add("warm_up", levels(10+seed, long-float64(seed)*40, 0.5, short+float64(seed)*40, 0.2))
		add("slowdown", levels(20+seed, 200, 0.2, 200, 0.5))
		add("unsteady", levels(30+seed, 350, 0.2, 50, 0.5))
	}
	add("good", levels(40, 400, 0.2), levels(41, 100, 0.5, 300, 0.2))
	add("bad", levels(50, 400, 0.2), levels(51, 350, 0.2, 50, 0.5), levels(52, 400, 0.3))
	add(hostile, levels(60, 400, 0.001))
	d.Pairs = append(d.Pairs, dataset.Pair{Key: key.Key{Benchmark: "none", VM: "PyPy",
		Variant: "default-python"}})
	d.Add(key.Key{Benchmark: "crash", VM: "PyPy", Variant: "default-python"},
		dataset.Execution{Outcome: results.Error, Reasons: []string{"signal SIGSEGV"}})
	return d
}

// hostile is a benchmark's name that would be code in a page, a script, LaTeX, Markdown or a
// terminal.
const hostile = "<script>alert(1)</script>\"'|%$\\input{x}_*\x1b[31m"

func analysed(t *testing.T, d *dataset.Dataset) *warmup.Document {
	t.Helper()
	p := warmup.Default(classify.Paper)
	p.Resamples = 1000
	doc := must.Get(warmup.Analyze(d, p, warmup.Options{}))(t)
	return doc
}

// pages keeps a report in memory.
type pages map[string][]byte

func (p pages) put(name string, content []byte) error {
	p[name] = content
	return nil
}

func golden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		must.Do(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want := must.Get(os.ReadFile(file))(t)
	must.Equal(t, text, string(want), file, "differs (run with -update and read the difference")
}

// study makes up an experiment of the study's size: keys times 30 executions of 2,000 iterations,
// each key with the same values.
func study(b *testing.B, keys int) Material {
	b.Helper()
	one := &dataset.Dataset{}
	for seed := range uint64(30) {
		values := levels(seed, 20, 0.9, 700, 0.31, 1280, 0.3)
		for i := range values {
			values[i] = math.Round(values[i]*1e9) / 1e9 // whole nanoseconds, as records have
		}
		one.Add(key.Key{Benchmark: "b", VM: "v", Variant: "x"}, execution(values))
	}
	p := warmup.Default(classify.Paper)
	p.Resamples = 1000
	doc := must.Get(warmup.Analyze(one, p, warmup.Options{Workers: 2}))(b)
	in := Material{Document: doc, Data: &dataset.Dataset{}}
	pair := doc.Pairs[0]
	doc.Pairs = nil
	for i := range keys {
		pair.Benchmark = fmt.Sprintf("benchmark_%03d", i)
		pair.Key = pair.ParsedKey().String()
		doc.Pairs = append(doc.Pairs, pair)
		in.Data.Pairs = append(in.Data.Pairs, dataset.Pair{Key: pair.ParsedKey(),
			Executions: one.Pairs[0].Executions})
	}
	return in
}

// BenchmarkStudy writes the report of 3,660 executions.
func BenchmarkStudy(b *testing.B) {
	in := study(b, 122)
	dir := b.TempDir()
	for b.Loop() {
		size := must.Get(WriteSite(durable.OS(), dir, in))(b)
		b.ReportMetric(float64(size.Bytes)/1e6, "MB")
		b.ReportMetric(float64(size.Files), "files")
	}
}

// BenchmarkEvents writes the report of a key with 30 executions of 2,000 iterations and 10,000
// events each, half of them garbage collections. The explanation is made before.
func BenchmarkEvents(b *testing.B) {
	in := study(b, 1)
	p := &in.Data.Pairs[0]
	for i := range p.Executions {
		e := &p.Executions[i]
		values, _ := e.Values(dataset.Wall)
		wall := dataset.Column{Name: dataset.Wall, Unit: dataset.Nanoseconds, Core: dataset.NoCore}
		at := int64(0)
		for k, v := range values {
			ns := int64(v * 1e9)
			e.Starts, wall.Ints = append(e.Starts, at), append(wall.Ints, ns)
			for j := range int64(5) {
				kind := []string{"gc", "compile", "gc", "deopt", "gc", "load"}[(int64(k)+j)%6]
				e.Events = append(e.Events, results.Event{Kind: kind, TimeNS: at + j*ns/5,
					DurationNS: ns / 50, Name: fmt.Sprintf("package.Class%d.method", k%300),
					Argument: new(int64(4))})
			}
			at += ns + 1e6
		}
		e.Columns = []dataset.Column{wall}
		for _, name := range []string{"gc_time", "jit_time", "heap_used", "minor_faults"} {
			e.Columns = append(e.Columns, dataset.Column{Name: name, Core: dataset.NoCore, Ints: wall.Ints})
		}
	}
	in.Explanation = explanation(b, in)
	dir := b.TempDir()
	for b.Loop() {
		size := must.Get(WriteSite(durable.OS(), dir, in))(b)
		b.ReportMetric(float64(size.Bytes)/1e6, "MB")
	}
}
