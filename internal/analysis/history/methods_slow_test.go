//go:build slow

package history

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"krund/rig/must"
)

const (
	simulatedRivals = 60
	near            = 5 // how far from its version a change may be found
)

// method finds changes in the values of one key; looks reports whether it is used after each
// version, as in practice, or once at the end.
type method struct {
	name  string
	looks bool
	find  func(x [][]float64) []int // points
}

func means(values [][]float64) []float64 {
	list := make([]float64, len(values))
	for v, executions := range values {
		for _, e := range executions {
			list[v] += math.Log(e) / float64(len(executions))
		}
		list[v] = math.Exp(list[v])
	}
	return list
}

func methods() []method {
	r := source(31)
	ours := func(values [][]float64) []int {
		var at []int
		list, _ := run(pointsOf(values, thresholdOf(len(values))))
		for _, f := range list {
			at = append(at, f.at)
		}
		return at
	}
	hunter := func(values [][]float64) []int { return otava(means(values), 50, 0.001, 0) }
	divisive := func(values [][]float64) []int { return eDivisive(means(values), 0.01, 100, r) }
	return []method{{"krunctl history", true, ours}, {"otava", true, hunter}, {"otava, once", false, hunter},
		{"E-divisive, once", false, divisive}}
}

// alerts returns the versions with which changes are first seen that are not within five versions
// of one that was seen before, and where they are.
func (m method) alerts(values [][]float64) (when, where []int) {
	from := 8
	if !m.looks {
		from = len(values)
	}
	for n := from; n <= len(values); n++ {
		for _, at := range m.find(values[:n]) {
			if !slices.ContainsFunc(where, func(w int) bool { return at-w <= near && w-at <= near }) {
				when, where = append(when, n-1), append(where, at)
			}
		}
	}
	return when, where
}

// TestMethods compares methods on the same histories: false alerts without a change and with single
// spikes, and how soon and how often changes are found. It prints the table of docs/history.md.
func TestMethods(t *testing.T) {
	false200 := map[string]float64{}
	for _, m := range methods() {
		for _, k := range []kind{kinds[1], kinds[2], kinds[5]} {
			r := source(21)
			alerts := 0
			for range simulatedRivals {
				when, _ := m.alerts(k.values(r, 200, 200, 1))
				alerts += len(when)
			}
			t.Logf("%-17s %-20s %.2f false alerts per key in 200 versions", m.name, k.name,
				float64(alerts)/simulatedRivals)
			false200[m.name] += float64(alerts) / simulatedRivals
		}
		for _, factor := range []float64{1.02, 1.05, 1.1} {
			r := source(22)
			found, delay := 0, 0
			for range simulatedRivals {
				when, where := m.alerts(kinds[1].values(r, 70, 40, factor))
				for i := range when {
					if where[i] >= 37 && where[i] <= 43 && when[i] >= 40 {
						found++
						delay += when[i] - 39
						break
					}
				}
			}
			t.Logf("%-17s %.0f %%: found %.2f, with version %.1f after it", m.name, 100*(factor-1),
				float64(found)/simulatedRivals, float64(delay)/float64(max(found, 1)))
		}
	}
	must.Be(t, false200["krunctl history"] < false200["otava"], "false alerts", false200)
}

// eDivisive is E-divisive with a permutation test within the segments.
func eDivisive(x []float64, level float64, permutations int, r *rand.Rand) []int {
	return divide(x, func(cuts []int, _ int, q float64) bool {
		extreme := 0
		for range permutations {
			mixed := slices.Clone(x)
			best := math.Inf(-1)
			for i := 1; i < len(cuts); i++ {
				part := mixed[cuts[i-1]:cuts[i]]
				r.Shuffle(len(part), func(a, b int) { part[a], part[b] = part[b], part[a] })
			}
			w := newEnergy(mixed)
			for i := 1; i < len(cuts); i++ {
				_, v := w.split(cuts[i-1], cuts[i])
				best = max(best, v)
			}
			if best >= q {
				extreme++
			}
		}
		return float64(extreme)/float64(permutations+1) <= level
	})
}
