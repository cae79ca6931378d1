package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// armsOf makes an experiment with the arms base, new and null, of which each block drifts by 2 %.
// The factors are those of new and null.
func armsOf(t *testing.T, blocks int, changed, null float64) *dataset.Dataset {
	t.Helper()
	r := rand.New(rand.NewPCG(9, 9))
	d := &dataset.Dataset{}
	for _, benchmark := range []string{"a", "b", "c"} {
		for b := range blocks {
			drift := math.Exp(0.02 * float64(b))
			for i, arm := range []string{"base", "new", "null"} {
				values := make([]float64, 100)
				level := drift * [...]float64{1, changed, null}[i] * (1 + 0.002*r.NormFloat64())
				for i := range values {
					values[i] = level * (1 + 0.001*r.NormFloat64())
				}
				d.Add(key.Key{Benchmark: benchmark, VM: "v", Variant: "x", Arm: arm}, execution(b+1, values))
			}
		}
	}
	return d
}

// TestArms: the arms of an experiment are compared by block, and what a null arm shows is not
// reported as a change.
func TestArms(t *testing.T) {
	for _, c := range []struct {
		name          string
		changed, null float64
		want          Verdict
		differs       int
		unfit         bool
	}{
		{"nothing changed", 1, 1, Same, 0, false},
		{"3 % slower", 1.03, 1, Worse, 0, false},
		{"the null arm differs as much", 1.03, 1.03, CannotTell, 3, true},
		{"the null arm differs in the other direction", 1.03, 0.97, CannotTell, 3, true},
		{"a change beyond the null arm", 1.2, 1.03, Worse, 3, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			of := analyzed(t, armsOf(t, 12, c.changed, c.null))
			side := func(arm string) Side { return Side{Doc: of.Doc, Data: of.Data, Arm: arm} }
			null := side("null")
			r := mustCompare(t, side("base"), side("new"), Options{Paired: true, Null: &null, Splits: 200})
			must.Need(t, len(r.Changes) == 3 && r.Counts[c.want] == 3 && r.Before.Arm == "base", r.Counts,
				r.Changes[0])
			n := r.NullArm
			must.Be(t, len(n.Differs) == c.differs && n.Unfit == c.unfit && n.Arm == "null", n)
			e := r.Changes[0]
			if e.Key != "a:v:x" || e.Steady.BeforeExecutions != 12 || e.Null == nil ||
				e.Steady.Freedom != 11 {
				t.Errorf("%+v", e.Steady)
			}
			must.Be(t, c.want != CannotTell || strings.Contains(e.Reason, "the null arm"), e.Reason)
			low := r.Calibration.Low
			must.Be(t, low <= 0.05, "calibration", r.Calibration)
		})
	}
}

// TestDrift: unpaired, the drift hides the change.
func TestDrift(t *testing.T) {
	of := analyzed(t, armsOf(t, 12, 1.03, 1))
	before, after := of, of
	before.Arm, after.Arm = "base", "new"
	r := mustCompare(t, before, after, Options{})
	must.Equal(t, r.Counts[CannotTell], 3, r.Counts)
}

// TestBlocksOfArms: a block counts when both arms have one completed execution in it.
func TestBlocksOfArms(t *testing.T) {
	d := armsOf(t, 12, 1.03, 1)
	for i := range d.Pairs {
		p := &d.Pairs[i]
		for k := range p.Executions {
			e := &p.Executions[k]
			switch {
			case p.Key.Arm == "base" && e.Number == 3:
				e.Outcome = results.Error
			case p.Key.Arm == "new" && (e.Number == 3 || e.Number == 5):
				e.Outcome = results.Timeout
			case p.Key.Arm == "new" && e.Number == 12:
				e.Outcome = results.Rerun
			}
		}
	}
	of := analyzed(t, d)
	before, after := of, of
	before.Arm, after.Arm = "base", "new"
	r := mustCompare(t, before, after, Options{Paired: true})
	// block 3 has no value at all, 5 and 12 have one
	e := r.Changes[0].Steady
	must.Be(t, e.BeforeExecutions == 9 && e.AfterExecutions == 9 && e.IncompleteBlocks == 2, e)
	for i := range d.Pairs {
		d.Pairs[i].Executions = d.Pairs[i].Executions[:2]
		if d.Pairs[i].Key.Arm == "new" {
			d.Pairs[i].Executions = d.Pairs[i].Executions[:1]
			d.Pairs[i].Executions[0].Number = 4
		}
	}
	of = analyzed(t, d)
	before.Doc, before.Data, after.Doc, after.Data = of.Doc, of.Data, of.Doc, of.Data
	r = mustCompare(t, before, after, Options{Paired: true, Splits: 5})
	c := r.Changes[0]
	must.Be(t, c.Steady == nil && c.Reason == "0 blocks are complete; measure at least 2, better 10",
		fmt.Sprint(c.Steady, c.Reason))
}

// TestNeeds: as many executions as are needed find the change with a power of 0.8. With a standard
// deviation of 0.02, a change of 2 % and a level of 0.0375, R's power.t.test(delta = log(1.02),
// sd = 0.02, sig.level = 0.0375, power = 0.8) has n = 18.55; of pairs 11.03.
func TestNeeds(t *testing.T) {
	need := Need{SD: 0.02}
	must.Equal(t, need.executions(math.Log1p(0.02), 0.0375, 2, MostExecutions), 19, "executions")
	need.Paired = true
	must.Equal(t, need.executions(math.Log1p(0.02), 0.0375, 2, MostExecutions), 12, "pairs")
	must.Equal(t, need.executions(1e-6, 0.0375, 2, MostExecutions), 0, "executions for nothing")
}

// TestInject: of the data of 12 blocks that vary by 0.2 %, a slowdown of 3 % is always found, and
// one below the margin never.
func TestInject(t *testing.T) {
	of := analyzed(t, armsOf(t, 12, 1.03, 1))
	side := func(arm string) Side { return Side{Doc: of.Doc, Data: of.Data, Arm: arm} }
	for size, want := range map[float64]float64{0.03: 1, 0.005: 0} {
		r := mustCompare(t, side("base"), side("new"), Options{Paired: true, Splits: 50, Inject: size})
		must.Be(t, r.Calibration == nil && r.Injected.Tables == 50 && r.Injected.Rate == want, size,
			r.Injected)
	}
}
