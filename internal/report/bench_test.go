package report

import (
	"fmt"
	"math"
	"testing"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

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
		size := must.Get(Site(disk(dir), in))(b)
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
		size := must.Get(Site(disk(dir), in))(b)
		b.ReportMetric(float64(size.Bytes)/1e6, "MB")
	}
}
