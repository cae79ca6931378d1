package compare

// This file estimates how much of the variation of a key's executions lies between the boots
// of the hardware, when several executions follow each of them by faster restarts. It shows what
// the faster restarts do not vary. Start reading at [spreads].

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/dataset"
	"krund/internal/experiment/results"
)

// KeySpread is the variation of one key's executions between restarts of the hardware; nil if it
// has too few.
type KeySpread struct {
	Key string `json:"key"`
	*RestartSpread
}

// spreads estimates the variation between restarts of the hardware for each key. Executions after a
// faster restart belong to the last restart of the hardware before them.
func spreads(s Side) []KeySpread {
	type turn struct {
		*dataset.Execution
		key   int
		level float64 // 0: none
	}
	var order []turn
	for i := range s.Data.Pairs {
		executions := s.Data.Pairs[i].Executions
		for k := range executions {
			t := turn{&executions[k], i, 0}
			if level := s.Doc.Pairs[i].Executions[k].Level; level != nil {
				t.level = level.Value
			}
			order = append(order, t)
		}
	}
	slices.SortStableFunc(order, func(a, b turn) int {
		return cmp.Or(strings.Compare(a.Machine, b.Machine), a.Turn-b.Turn)
	})
	boots, boot := make([][][]float64, len(s.Data.Pairs)), 0
	for _, t := range order {
		if t.Restart == results.RebootHardware {
			boot++
		}
		if t.level <= 0 {
			continue
		}
		for len(boots[t.key]) <= boot {
			boots[t.key] = append(boots[t.key], nil)
		}
		boots[t.key][boot] = append(boots[t.key][boot], t.level)
	}
	list := []KeySpread{}
	for i := range boots {
		k := KeySpread{Key: s.Data.Pairs[i].Key.String()}
		if found, ok := RestartSpreadOf(boots[i]); ok {
			k.RestartSpread = &found
		}
		list = append(list, k)
	}
	return list
}

// RestartSpread is the variation of the executions' levels, as standard deviations of their
// logarithms: 0.01 is about 1 %.
type RestartSpread struct {
	Boots      int     `json:"boots"`      // of the hardware, with at least one execution
	Executions int     `json:"executions"` //
	Between    float64 `json:"between"`    // standard deviation between boots; a negative estimate is 0
	Within     float64 `json:"within"`     // between executions after the same boot
	// Share is Between² / (Between² + Within²), with its 95 % interval.
	Share float64    `json:"share"`
	Range [2]float64 `json:"share_interval"`
	P     float64    `json:"p"` // of the F test that nothing varies between boots
}

// confidence of RestartSpread.Range.
const confidence = 0.95

// RestartSpreadOf estimates the variance components of a one-way random effects model with unequal
// group sizes by analysis of variance (Searle, Casella and McCulloch, Variance Components, 1992,
// section 3.6), and the interval of the share by the approximation of Thomas and Hultquist (Annals
// of Statistics 6, 1978), which replaces the group size by the harmonic mean. boots are the levels
// of the executions after each boot, positive. ok is false unless there are at least two boots, and
// more executions than boots; the model assumes that both variations are normal on the log scale.
func RestartSpreadOf(boots [][]float64) (s RestartSpread, ok bool) {
	var groups [][]float64 // logarithms
	var means []float64
	inverse := 0.0
	for _, levels := range boots {
		if len(levels) == 0 {
			continue
		}
		logs := make([]float64, len(levels))
		for i, v := range levels {
			if logs[i] = math.Log(v); !(v > 0) || math.IsInf(v, 0) {
				return RestartSpread{}, false
			}
		}
		groups, means = append(groups, logs), append(means, arith.MeanOf(logs))
		inverse += 1 / float64(len(logs))
	}
	v := componentsOf(groups)
	if math.IsNaN(v.within) {
		return RestartSpread{}, false
	}
	between := max(0, (v.between-v.within)/v.size)
	s = RestartSpread{Boots: len(groups), Executions: int(v.n), Between: math.Sqrt(between),
		Within: math.Sqrt(v.within)}
	if v.within == 0 {
		return s, false
	}
	s.Share = between / (between + v.within)
	s.P = fTail(v.between/v.within, v.k-1, v.n-v.k)
	harmonic := v.k / inverse
	f, d := harmonic*variance(means)/v.within, distuv.F{D1: v.k - 1, D2: v.n - v.k}
	for j, p := range []float64{(1 + confidence) / 2, (1 - confidence) / 2} {
		ratio := max(0, (f/d.Quantile(p)-1)/harmonic)
		s.Range[j] = ratio / (1 + ratio)
	}
	return s, true
}
