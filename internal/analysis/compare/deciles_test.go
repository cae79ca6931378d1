package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"krund/rig/must"
)

// TestDeciles: the noisiest keys of a table have not many times their share of the false verdicts.
// It draws the variances of tables in which nothing has changed, and computes each key's
// probability of p <= 0.05/K and that of finding a change, given its true standard deviation and
// the variance drawn: for each tenth of the keys by true standard deviation, with every key under
// the whole prior (Smyth 2004) and under what squeeze leaves of it. `make compare-bench` prints the
// table of docs/statistics.md.
func TestDeciles(t *testing.T) {
	const keys = 40
	drawn := func(sd func(r *rand.Rand) float64) func(*rand.Rand) []float64 {
		return func(r *rand.Rand) []float64 {
			list := make([]float64, keys)
			for i := range list {
				list[i] = sd(r)
			}
			return list
		}
	}
	tenth := slices.Concat(slices.Repeat([]float64{0.01}, keys-keys/10),
		slices.Repeat([]float64{0.05}, keys/10))
	for _, c := range []struct {
		name string
		sds  func(*rand.Rand) []float64
	}{
		{"lognormal", drawn(func(r *rand.Rand) float64 { return 0.016 * math.Exp(1.286*r.NormFloat64()) })},
		{"chi-squared, 4 df", drawn(func(r *rand.Rand) float64 { return deviation(r, 0.01) })},
		{"a tenth with 5 times the sd", func(*rand.Rand) []float64 { return tenth }},
		{"JMH", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.sds == nil {
				sds := jmhDeviations(t)
				c.sds = func(*rand.Rand) []float64 { return sds }
			}
			// most is the share of the noisiest tenth in nominal ones.
			for _, size := range []struct{ n, most float64 }{{3, 4}, {5, 2.3}, {10, 1.5}} {
				whole, got := deciles(c.sds, size.n, decileTables)
				t.Logf("%v against %v, whole prior: %v", size.n, size.n, whole)
				t.Logf("%v against %v, this one:    %v", size.n, size.n, got)
				must.Be(t, got.table <= 0.055 && got.error[9] <= size.most && got.error[9] <= whole.error[9],
					size.n, "against", size.n, "errors are", got)
				const loss = 0.02 // of power, on keys as different as real ones
				for i, p := range got.power {
					must.Be(t, c.name != "JMH" || p >= whole.power[i]-loss, size.n, "against", size.n,
						"power fell from", whole.power, "to", got.power)
				}
			}
		})
	}
}

// decile has the probabilities of a false verdict of the tenths of the keys, in multiples of the
// nominal 0.05/K; of a table; and those of finding changes of 2, 5 and 10 %.
type decile struct {
	error [10]float64
	table float64
	power [3]float64
}

func (d decile) String() string {
	var b strings.Builder
	for _, e := range d.error {
		fmt.Fprintf(&b, "%.2f ", e)
	}
	return fmt.Sprintf("%stable %.4f, power %.3f", b.String(), d.table, d.power)
}

// deciles returns the probabilities with n executions on each side under the whole prior and under
// squeezeAll.
func deciles(sds func(*rand.Rand) []float64, n float64, tables int) (whole, got decile) {
	random := rand.New(rand.NewPCG(17, uint64(n)))
	freedom := 2*n - 2
	quantiles := map[int]float64{} // of the logarithm of the degrees of freedom
	for range tables {
		sd := slices.Sorted(slices.Values(sds(random)))
		keys := float64(len(sd))
		level := 0.05 / keys
		var members [10]int // keys of the tenths
		for i := range sd {
			members[i*10/len(sd)]++
		}
		list := make([]estimate, len(sd))
		variances, own := make([]float64, len(sd)), slices.Repeat([]float64{freedom}, len(sd))
		for i := range list {
			variances[i] = sd[i] * sd[i] * chiSquared(random, freedom) / freedom
			list[i] = estimate{ok: true, test: StudentT, variance: variances[i], freedom: freedom}
		}
		prior := priorOf(variances, own, caution)
		squeezeAll(list)
		add := func(d *decile, i int, variance, freedom float64) (right float64) {
			const fine = 500
			at := int(math.Round(fine * math.Log(freedom)))
			if _, ok := quantiles[at]; !ok {
				quantiles[at] = quantileOf(level/2, math.Exp(float64(at)/fine))
			}
			limit := quantiles[at] * math.Sqrt(variance) / sd[i] // of the effect in standard errors
			wrong := math.Erfc(limit / math.Sqrt2)
			tenth := i * 10 / len(sd)
			d.error[tenth] += wrong / level / float64(tables*members[tenth])
			for k, change := range injected[1:] {
				effect := math.Log(change) / (sd[i] * math.Sqrt(2/n))
				d.power[k] += math.Erfc((limit-effect)/math.Sqrt2) / 2 / keys / float64(tables)
			}
			return 1 - wrong
		}
		right, rightWhole := 1.0, 1.0
		for i := range list {
			total := freedom + prior.Freedom
			mean := (freedom*variances[i] + prior.Freedom*prior.Variance) / total
			rightWhole *= add(&whole, i, mean, total)
			right *= add(&got, i, list[i].variance, list[i].freedom)
		}
		whole.table += (1 - rightWhole) / float64(tables)
		got.table += (1 - right) / float64(tables)
	}
	return whole, got
}

// chiSquared draws from a chi-squared distribution with a whole number of degrees of freedom.
func chiSquared(r *rand.Rand, freedom float64) float64 {
	sum := 0.0
	for range int(freedom) {
		sum += math.Pow(r.NormFloat64(), 2)
	}
	return sum
}

// jmhDeviations returns the standard deviation between the forks of each JMH benchmark, of the
// logarithm.
func jmhDeviations(t *testing.T) []float64 {
	t.Helper()
	var sds []float64
	for _, forks := range jmhForks(t) {
		var e estimate
		sds = append(sds, math.Sqrt(variance(e.scaled(row{before: forks}.sample(ofSteady).before))))
	}
	return sds
}
