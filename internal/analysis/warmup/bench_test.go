package warmup

import (
	"math/rand/v2"
	"testing"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/key"
)

// BenchmarkPair is one key of the study: 30 executions of 2000 iterations that warm up, with
// 100,000 resamples. An experiment has 122 keys.
func BenchmarkPair(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	d := &dataset.Dataset{}
	for range 30 {
		d.Add(key.Key{Benchmark: "b", VM: "v", Variant: "x"}, completed(wall(level(r, 50, 1.3, 1950, 1))))
	}
	for b.Loop() {
		doc, err := Analyze(d, Default(classify.Paper), Options{})
		if err != nil || doc.Pairs[0].Classification != "warmup" {
			b.Fatal(doc, err)
		}
	}
}
