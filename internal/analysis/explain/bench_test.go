package explain

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/rig/must"
)

// BenchmarkKey explains a key of the study's size: 30 executions of 2,000 iterations with 10,000
// events each, of 500 names.
func BenchmarkKey(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	g := nature{n: 2000, executions: 30, warm: true, odd: 0.01}.generate(random, &injections[0])
	for x := range g.pair.Executions {
		e := &g.pair.Executions[x]
		for len(e.Events) < 10_000 {
			kind := []string{"gc", "compile", "load", "switch"}[random.IntN(4)]
			event(e, kind, fmt.Sprint("name", random.IntN(500)), random.IntN(2000), 1000)
		}
	}
	data := &dataset.Dataset{Pairs: []dataset.Pair{g.pair}}
	doc := must.Get(
		warmup.Analyze(data, warmup.Default(classify.Relative), warmup.Options{NoPerformance: true}))(b)
	for b.Loop() {
		OfKey(&g.pair, &doc.Pairs[0], dataset.Wall, Default())
	}
}
