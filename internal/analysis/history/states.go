package history

import (
	"math"
	"slices"

	"krund/internal/analysis/warmup"
)

// States are two groups into which a key's last executions of a level fall, in no order of time:
// the key has two states, and chance puts an execution, a night or a build into one of them.
type States struct {
	// Low and High are the geometric means of the groups, OfLow and OfHigh their executions.
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	OfLow  int     `json:"of_low"`
	OfHigh int     `json:"of_high"`
}

// statesOf looks at the last level with enough executions to show states: see warmup.GroupsOf. What
// changes its state fewer than three times is a change that was not found, or one disturbance. Of
// many executions a rare state is seen, and of few one that is near: the ends of groups grow
// together.
func statesOf(levels []Level, values [][]float64) *States {
	const many, few, fewestRuns = 50, 20, 4
	for l := len(levels) - 1; l >= 0; l-- {
		var logs []float64 // the last one first
		for v := levels[l].To; v >= levels[l].From && len(logs) < many; v-- {
			for _, value := range slices.Backward(values[v]) {
				logs = append(logs, math.Log(value))
			}
		}
		if len(logs) < warmup.FewestGrouped {
			continue
		}
		for _, n := range []int{many, few} {
			logs = logs[:min(n, len(logs))]
			g, ok := warmup.GroupsOf(logs, warmup.LeastGroup)
			runs := 1
			for i := 1; i < len(logs); i++ {
				runs += number(logs[i-1] > g.Middle != (logs[i] > g.Middle))
			}
			if ok && g.High-g.Low >= math.Log1p(warmup.Visible) && runs >= fewestRuns {
				return &States{exp(g.Low), exp(g.High), len(logs) - g.OfHigh, g.OfHigh}
			}
		}
		return nil
	}
	return nil
}
