package compare

import (
	"math"
	"math/rand/v2"
	"slices"
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

// arms returns an experiment of 20 blocks with the arms base, new and null. Each block has an
// effect that its arms share, of sigma, and each execution one of its own of 0.2 %.
func arms(t *testing.T, info dataset.Info, sigma float64) *dataset.Dataset {
	t.Helper()
	d := &dataset.Dataset{Info: info}
	r := rand.New(rand.NewPCG(5, 8))
	for block := range 20 {
		common := 1 + sigma*r.NormFloat64()
		for _, arm := range []string{"base", "new", "null"} {
			level := common * (1 + 0.002*r.NormFloat64())
			d.Add(key.Key{Benchmark: "b", VM: "v", Variant: "x", Arm: arm},
				execution(block+1, steadily(r, 100, level)))
		}
	}
	return d
}

func codesOf(r *Result) []string {
	var codes []string
	for _, w := range r.Warnings {
		codes = append(codes, w.Code)
	}
	return codes
}

func TestLayout(t *testing.T) {
	random := dataset.Info{Layout: dataset.LayoutRandom, Blocked: true}
	compared := func(info dataset.Info, sigma float64, paired bool) *Result {
		s := analyzed(t, arms(t, info, sigma))
		null := armOf(s, "null")
		return mustCompare(t, armOf(s, "base"), armOf(s, "new"), Options{Paired: paired, Null: &null})
	}
	// 1 % of layout and 0.2 % of noise: a share of 0.96
	large := compared(random, 0.01, true).Changes[0].Layout
	must.Be(t, large != nil && large.Share >= 0.9 && large.Low >= 0.8 && large.Blocks == 20, large)
	none := compared(random, 0, true).Changes[0].Layout
	must.Be(t, none != nil && none.Low <= 0 && none.High >= none.Share, none)
	l := compared(random, 0.01, false).Changes[0].Layout
	must.Be(t, l == nil, "unpaired", l)
	fixed := compared(dataset.Info{Layout: dataset.LayoutFixed, Blocked: true}, 0.01, true)
	if fixed.Changes[0].Layout != nil || !slices.Contains(codesOf(fixed), "one_layout") {
		t.Errorf("%+v, %q", fixed.Changes[0].Layout, codesOf(fixed))
	}
	twins := compared(dataset.Info{Layout: dataset.LayoutKernel, Blocked: true,
		Arms: []dataset.Arm{{Name: "base"}, {Name: "new", Twins: []string{"base"}}}}, 0.01, true)
	must.EqualList(t, codesOf(twins), []string{"same_arms"})
}

// TestIncompleteBlocks: executions are joined by number, not by place.
func TestIncompleteBlocks(t *testing.T) {
	at := func(number int, value float64) reduced {
		return reduced{Execution: Execution{Number: number, Value: value}}
	}
	x, y := inBlocks([]reduced{at(1, 5), at(2, 6), at(4, -1), at(5, 9)},
		[]reduced{at(5, 3), at(2, 4), at(4, 1)})
	must.EqualList(t, x, []float64{math.Log(6), math.Log(9)})
	must.EqualList(t, y, []float64{math.Log(4), math.Log(3)})
}

// TestLayoutShares: two arms and four blocks, computed by hand. The logarithms without the means of
// the arms are 0.01 times (2 0), (-2 0), (1 -1), (-1 1), the means of the blocks 0.01 times 1, -1,
// 0, 0; W is 8e-4 / 3 and B is 2 * 5e-4 / 6, so F is 0.625, and the share is 0. With the last two
// blocks' second arm exchanged, W is 4e-4 / 3 and B is 2 * 12e-4 / 6: F is 3, and the share is
// 2 / 4.
func TestLayoutShares(t *testing.T) {
	s, ok := layoutShares([]float64{0.02, -0.02, 0.01, -0.01}, []float64{7, 7, 6.99, 7.01})
	must.Be(t, ok && s.Share == 0 && s.Low == 0 && s.Blocks == 4, s, ok)
	s, ok = layoutShares([]float64{0.02, -0.02, 0.01, -0.01}, []float64{7, 7, 7.01, 6.99})
	must.Be(t, ok && math.Abs(s.Share-0.5) <= 1e-9 && s.Low <= s.Share && s.High >= s.Share, s, ok)
}

func TestNothingToEstimate(t *testing.T) {
	for name, arms := range map[string][2][]float64{
		"no blocks": {}, "two blocks": {{1, 2}, {2, 1}}, "no noise": {{1, 1, 1}, {2, 2, 2}},
	} {
		s, ok := layoutShares(arms[0], arms[1])
		must.Be(t, !ok, name, s)
	}
}

// TestLayoutCoverage: over 2,000 experiments of 20 blocks of two arms with noise of 1 % and a drift
// of 5 % from the first block to the last, the interval contains the true share in about 95 %, with
// a standard error of 0.5 %. The median of the estimates is near the truth.
func TestLayoutCoverage(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	const experiments, blocks = 2000, 20
	for _, truth := range []float64{0, 0.5, 0.8} {
		covered, above := 0, 0
		sigma := 0.01 * math.Sqrt(truth/(1-truth))
		for range experiments {
			var x, y []float64
			for b := range blocks {
				common := sigma*r.NormFloat64() + 0.05*float64(b)/blocks
				x = append(x, common+0.01*r.NormFloat64())
				y = append(y, common+0.03+0.01*r.NormFloat64())
			}
			s, ok := layoutShares(x, y)
			must.Need(t, ok, "no estimate")
			if s.Low <= truth && truth <= s.High {
				covered++
			}
			if s.Share > truth {
				above++
			}
		}
		rate, half := float64(covered)/experiments, float64(above)/experiments
		t.Logf("truth %.1f: covered %.3f, above %.3f", truth, rate, half)
		must.Be(t, rate >= 0.93 && rate <= 0.98 && half >= 0.4 && half <= 0.6, "truth", truth, "covered",
			rate, "above", half)
	}
}
