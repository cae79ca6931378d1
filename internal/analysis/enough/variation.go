package enough

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/compare"
	"krund/internal/analysis/warmup"
)

// fewest is the number of executions (or boots) that shows anything of how they vary.
const fewest = 3

// Variation is how much the executions of a pilot vary, as standard deviations of logarithms: 0.01
// is about 1 %. Estimates of variances below 0 are 0; NaN (null) is unknown.
type Variation struct {
	// Unit is what is independent: "boot" if there are at least three boots and several executions
	// in one of them, else "execution"; then that of boots is in that of executions.
	Unit    string      `json:"unit"`
	Freedom float64     `json:"degrees_of_freedom"`
	SD      warmup.Real `json:"sd"`       // of the means of units
	Most    warmup.Real `json:"sd_upper"` // its upper 90 % bound
	// Boot, Execution and Iteration are the parts of boots, of executions in a boot, and of one
	// iteration, as if iterations were independent.
	Boot      warmup.Real `json:"sd_boots"`
	Execution warmup.Real `json:"sd_executions"`
	Iteration warmup.Real `json:"sd_iteration"`
	// Sampling is what Iterations iterations leave in the level of an execution.
	Sampling   warmup.Real `json:"sd_sampling"`
	Iterations int         `json:"steady_iterations"`
	PerBoot    float64     `json:"executions_per_boot"`
	// BootShare is the upper 90 % bound of the boots' share of the variance of an execution.
	BootShare warmup.Real `json:"boot_share_upper"`

	units float64
}

func (v Variation) sd() float64 { return float64(v.SD) }

// variationOf estimates the variation by the analysis of variance of Kalibera and Jones, section
// 6, on logarithms. Iterations depend on each other, so that their part comes from the means of
// batches. why says why it cannot be told; "" if it can.
func variationOf(list []Execution) (v Variation, why string) {
	v = Variation{Unit: "execution", SD: nan, Most: nan, Boot: nan, Execution: nan, Iteration: nan,
		Sampling: nan, BootShare: nan, PerBoot: 1, units: float64(len(list))}
	if len(list) == 0 {
		return v, "no execution counts"
	}
	var iterations []float64
	for _, e := range list {
		if !(e.Level > 0) || math.IsInf(e.Level, 0) {
			return v, "a level is not positive, so that nothing is a percentage of it"
		}
		iterations = append(iterations, float64(e.Iterations))
	}
	slices.Sort(iterations)
	v.Iterations = int(arith.Median(iterations))
	if len(list) < fewest {
		return v, fmt.Sprintf("%d of at least %d executions: nothing is known of how they vary; measure 5",
			len(list), fewest)
	}
	groups := boots(list)
	if len(groups) < fewest || len(groups) == len(list) {
		groups = alone(list)
	}
	means, within, n := make([]float64, len(groups)), 0.0, 0.0
	for i, g := range groups {
		means[i] = arith.MeanOf(g)
		n += float64(len(g))
		for _, x := range g {
			within += square(x - means[i])
		}
	}
	k := float64(len(groups))
	v.units, v.Freedom, v.PerBoot = k, k-1, n/k
	levels := logLevels(list)
	s := max(varianceOf(means), compare.Rounding(slices.Clone(levels)))
	if s == 0 {
		return v, "all executions have exactly the same level: they are no measurement, or of a coarse clock"
	}
	v.SD = warmup.Real(math.Sqrt(s))
	v.Most = warmup.Real(math.Sqrt(s * v.Freedom / distuv.ChiSquared{K: v.Freedom}.Quantile(1-Assurance)))
	execution := s
	if len(groups) < len(list) {
		v.Unit = "boot"
		execution = within / (n - k)
		v.Boot = root(s - execution*k/n)
		v.BootShare = bootShare(s*n/k, execution, k-1, n-k, n/k)
	}
	if sampling, ok := samplingOf(list); ok {
		sampling = min(sampling, execution) // which includes it
		v.Sampling, v.Iteration = root(sampling), root(sampling*float64(v.Iterations))
		execution -= sampling
	}
	v.Execution = root(execution)
	return v, ""
}

// boots returns the logarithms of the levels of each boot; nil if a boot is unknown.
func boots(list []Execution) (groups [][]float64) {
	at := map[string]int{}
	for _, e := range list {
		if e.Boot == "" {
			return nil
		}
		i, ok := at[e.Boot]
		if !ok {
			i = len(groups)
			at[e.Boot], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], math.Log(e.Level))
	}
	return groups
}

// alone returns the logarithms of the levels, each in a group of its own.
func alone(list []Execution) (groups [][]float64) {
	for _, level := range logLevels(list) {
		groups = append(groups, []float64{level})
	}
	return groups
}

// center returns the mean over the units, and their number. Executions whose boot is unknown count
// as so many to a boot as in the pilot.
func (v Variation) center(list []Execution) (center, units float64) {
	groups, perUnit := alone(list), v.PerBoot
	if own := boots(list); v.Unit == "boot" && own != nil {
		groups, perUnit = own, 1
	}
	means := make([]float64, len(groups))
	for i, g := range groups {
		means[i] = arith.MeanOf(g)
	}
	return arith.MeanOf(means), float64(len(groups)) / perUnit
}

func logLevels(list []Execution) []float64 {
	levels := make([]float64, len(list))
	for i, e := range list {
		levels[i] = math.Log(e.Level)
	}
	return levels
}

// samplingOf returns the variance that the iterations leave in the level of an execution: that of
// the means of ten batches, divided by ten, on average over the executions.
func samplingOf(list []Execution) (variance float64, ok bool) {
	n := 0.0
	for _, e := range list {
		if len(e.Tenths) < 2 || slices.Min(e.Tenths) <= 0 {
			continue
		}
		logs := make([]float64, len(e.Tenths))
		for i, v := range e.Tenths {
			logs[i] = math.Log(v)
		}
		n++
		variance += varianceOf(logs) / float64(len(logs))
	}
	return variance / max(n, 1), n > 0
}

// bootShare returns the upper bound of the share of boots from the mean squares between and within
// them: of T3²/T2² it is (F/F_0.1 - 1)/e (Searle, Casella and McCulloch, Variance Components,
// 1992, section 3.6d).
func bootShare(between, within, n, m, perBoot float64) warmup.Real {
	if within == 0 {
		return 1
	}
	ratio := max(0, (between/within/fQuantile(1-Assurance, n, m)-1)/perBoot)
	return warmup.Real(ratio / (1 + ratio))
}

func root(variance float64) warmup.Real { return warmup.Real(math.Sqrt(max(0, variance))) }

// varianceOf is the unbiased estimate.
func varianceOf(values []float64) float64 {
	mean, sum := arith.MeanOf(values), 0.0
	for _, v := range values {
		sum += square(v - mean)
	}
	return sum / float64(len(values)-1)
}

// tQuantile is that of the interval of a level with the degrees of freedom of the pilot.
func (v Variation) tQuantile() float64 { return tQuantile(v.Freedom) }

func tQuantile(freedom float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile((1 + Confidence) / 2)
}

// fQuantile returns the f with P(F <= f) = p.
func fQuantile(p, n, m float64) float64 {
	low, high := 0.0, 1.0 // of x = n f / (n f + m)
	for range 100 {
		if mid := (low + high) / 2; mathext.RegIncBeta(n/2, m/2, mid) < p {
			low = mid
		} else {
			high = mid
		}
	}
	return m * high / (n * (1 - high))
}

// sameVariation is the factor of a variance that is as measured.
func sameVariation(float64) float64 { return 1 }

// prediction is the factor by which the variance of n new units exceeds that of the pilot at most:
// their ratio has an F distribution.
func (v Variation) prediction(n float64) float64 {
	return fQuantile(nominal(v.Freedom), n-1, v.Freedom)
}

// twoStages returns the units of both stages, with those of the pilot, after which the half width
// from the pilot's variance and its degrees of freedom is small enough, always (Stein, Annals of
// Mathematical Statistics 16, 1945).
func (v Variation) twoStages(width float64) float64 {
	return max(v.units, math.Ceil(square(v.tQuantile()*v.sd()/width)))
}

// unitsFor returns the smallest number of units whose interval has at most the half width: t² s²/n,
// times a factor that depends on n; 0 if it is more than compare.MostExecutions.
func unitsFor(width, sd float64, factor func(n float64) float64) float64 {
	const fewest, most = 2, compare.MostExecutions
	found := fewest + sort.Search(most-fewest+1, func(i int) bool {
		n := float64(fewest + i)
		return square(tQuantile(n-1)*sd)*factor(n)/n <= square(width)
	})
	if found > most {
		return 0
	}
	return float64(found)
}
