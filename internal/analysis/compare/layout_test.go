package compare

import (
	"math/rand/v2"
	"slices"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/experiment/key"
	"krund/rig/must"
)

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
			values := make([]float64, 100)
			for i := range values {
				values[i] = level * (1 + 0.001*r.NormFloat64())
			}
			d.Add(key.Key{Benchmark: "b", VM: "v", Variant: "x", Arm: arm}, execution(block+1, values))
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
		before, after, null := s, s, s
		before.Arm, after.Arm, null.Arm = "base", "new", "null"
		return mustCompare(t, before, after, Options{Paired: paired, Null: &null})
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
	got := blocks([]reduced{at(1, 5), at(2, 6), at(4, -1), at(5, 9)}, []reduced{at(5, 3), at(2, 4), at(4, 1)})
	must.Be(t, len(got) == 2 && got[0][0] == 6 && got[0][1] == 4 && got[1][0] == 9 && got[1][1] == 3, got)
}
