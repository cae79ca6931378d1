package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
	"krund/rig/must"
)

// TestFirstPlace: an effect of the first place is found and has its size; without one it is
// reported in at most 5 % of the experiments, also if a key is skewed and rounds drift.
func TestFirstPlace(t *testing.T) {
	made := func(r *rand.Rand, first float64) *Groups {
		s := Side{Data: &dataset.Dataset{Rounds: true}, Doc: &warmup.Document{}}
		s.Doc.Parameters.Column = dataset.Wall
		for _, vm := range []string{"A", "B", "C"} {
			s.Data.Pairs = append(s.Data.Pairs,
				dataset.Pair{Key: key.Key{Benchmark: "b", VM: vm, Variant: "v"}})
			s.Doc.Pairs = append(s.Doc.Pairs, warmup.Pair{})
		}
		for round := range 12 {
			for place, k := range r.Perm(3) {
				v := 0.02*float64(round) + 0.01*math.Exp(r.NormFloat64())*float64(k+1)
				if place == 0 {
					v += first
				}
				e := execution(round+1, []float64{math.Exp(v)})
				e.Place = place + 1
				s.Data.Pairs[k].Executions = append(s.Data.Pairs[k].Executions, e)
				s.Doc.Pairs[k].Executions = append(s.Doc.Pairs[k].Executions, warmup.Execution{})
			}
		}
		return &Groups{of: []Side{s}}
	}
	r := rand.New(rand.NewPCG(6, 6))
	f, ok := firstPlace(made(r, math.Log(1.2)))
	must.Be(t, ok && f.P < 0.01 && math.Abs(float64(f.Ratio)-1.2) < 0.05 && f.Blocks == 12, f)
	const experiments = 300
	wrong := 0
	for range experiments {
		f, ok := firstPlace(made(r, 0))
		wrong += arith.One(ok && f.P <= 0.05)
	}
	must.Be(t, float64(wrong) <= experiments*0.05+3*math.Sqrt(experiments*0.05*0.95), wrong)
	t.Log(wrong, "of", experiments)
	_, ok = firstPlace(&Groups{of: []Side{{Data: &dataset.Dataset{}, Doc: &warmup.Document{}}}})
	must.Be(t, !ok, "there are no places")
}
