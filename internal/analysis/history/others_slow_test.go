//go:build slow

package history

import (
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"krund/internal/analysis/arith"
	"krund/internal/experiment/fixtures"
)

// others is a series of another project with one value per version; docs/history.md names them.
type others struct {
	Source  string
	Values  []float64
	Logs    bool  // of the measured values
	Changes []int // that the project expects
	Count   *int  // the number of them, where it states no more
}

// near is how far from the expected version a change may be found.
const near = 5

func isNear(version int) func(int) bool {
	return func(other int) bool { return max(version-other, other-version) <= near }
}

// TestOthers compares methods on the data of other projects. It prints the figures of
// docs/history.md, and checks that Mozilla's method finds what Mozilla expects of it.
func TestOthers(t *testing.T) {
	type score struct{ expected, found, with, more, counted, count int }
	total := map[string]*score{}
	for _, path := range fixtures.Glob(t, "history/others/*.json") {
		var o others
		fixtures.JSON(t, path, &o)
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		t.Logf("%s: %d versions, expected %v", name, len(o.Values), o.Changes)
		for _, m := range o.methods() {
			when, where := m.alerts(o.values())
			t.Logf("  %-17s %v with %v", m.name, where, when)
			must.Be(t, o.Source != "treeherder" || m.name != "Mozilla's t test" || slices.Equal(where,
				o.Changes), name, m.name, where, o.Changes)
			key := o.Source + " | " + m.name
			if total[key] == nil {
				total[key] = &score{}
			}
			s := total[key]
			if o.Changes == nil {
				s.count += len(where)
				if o.Count != nil {
					s.counted += *o.Count
				}
				continue
			}
			s.expected += len(o.Changes)
			for _, c := range o.Changes {
				if i := slices.IndexFunc(where, isNear(c)); i >= 0 {
					s.found++
					s.with += when[i] - c + 1
				}
			}
			for _, w := range where {
				s.more += arith.One(!slices.ContainsFunc(o.Changes, isNear(w)))
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(total)) {
		s := total[key]
		t.Logf("%-29s found %d of %d, with %.1f versions, %d others; %d where %d are expected", key,
			s.found, s.expected, float64(s.with)/float64(max(s.found, 1)), s.more, s.count, s.counted)
	}
}

func (o *others) values() [][]float64 {
	list := make([][]float64, len(o.Values))
	for i, v := range o.Values {
		if o.Logs {
			v = math.Exp(v)
		}
		list[i] = []float64{v}
	}
	return list
}

// methods returns those of methods(), for one key, and Mozilla's.
func (o *others) methods() []method {
	r := source(31)
	ours := func(values [][]float64) []int {
		var at []int
		thresholds := slices.Repeat([]float64{math.Log(1 / DefaultRate)}, len(values))
		list, _ := run(pointsOf(values, thresholds))
		for _, f := range list {
			at = append(at, f.at)
		}
		return at
	}
	hunter := func(values [][]float64) []int { return otava(o.Values[:len(values)], 50, 0.001, 0) }
	divisive := func([][]float64) []int { return eDivisive(o.Values, 0.01, 100, r) }
	shifts := func(values [][]float64) []int { return mozilla(o.Values[:len(values)]) }
	return []method{{"krunctl history", true, ours}, {"otava", true, hunter}, {"otava, once", false, hunter},
		{"E-divisive, once", false, divisive}, {"Mozilla's t test", true, shifts}}
}

// mozilla is the method of Mozilla's Perfherder: Welch's statistic of the 12 values from a version
// on and of the 12 to 24 before, as many as there are since the last version with a statistic above
// 7. A change is where the statistic is above 7 and largest. Weights of the means fall linearly
// with the distance.
func mozilla(x []float64) []int {
	const window, most, threshold = 12, 24, 7
	t := make([]float64, len(x)+1)
	quiet := 0
	for i := 1; i < len(x); i++ {
		back := slices.Clone(x[max(0, i-min(max(quiet, window), most)):i])
		slices.Reverse(back)
		fore := x[i:min(i+window, len(x))]
		a, v := weighted(back)
		b, w := weighted(fore)
		if a != b {
			t[i] = math.Abs(a-b) / math.Sqrt(v/float64(len(back))+w/float64(len(fore)))
		}
		quiet++
		if t[i] > threshold {
			quiet = 0
		}
	}
	var at []int
	for i := window; i+window <= len(x); i++ {
		if t[i] > threshold && t[i] >= t[i-1] && t[i] >= t[i+1] {
			at = append(at, i)
		}
	}
	return at
}

// weighted returns the weighted mean and the mean square of the deviations from it.
func weighted(x []float64) (mean, variance float64) {
	weights := make([]float64, len(x))
	for i := range weights {
		weights[i] = float64(len(x) - i)
	}
	mean = stat.Mean(x, weights)
	for _, v := range x {
		variance += (v - mean) * (v - mean) / max(float64(len(x)-1), 1)
	}
	return mean, variance
}
