package compare

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"krund/internal/analysis/arith"
	"krund/rig/must"
)

func nearTo(t *testing.T, what string, got, want float64) {
	t.Helper()
	must.Be(t, math.Abs(got-want) <= 1e-4*math.Abs(want), what, got, "want", want)
}

// TestNoiseFloorOf: of each execution only the second half counts, and of it the middle three
// fifths.
func TestNoiseFloorOf(t *testing.T) {
	execution := func(mean float64) []float64 {
		return []float64{9, 9, 9, 9, 9, 1e6, mean, mean, mean, 0.01}
	}
	f := must.Get(NoiseFloorOf([][]float64{execution(100), execution(101), execution(99)}))(t)
	nearTo(t, "mean", f.Mean, 100)
	nearTo(t, "sd", f.SDLog, 0.0100003) // R: sd(log(c(100, 101, 99)))
}

// TestNoiseFloorStrays: two of twelve executions are far, one of them faster. The pairs are those
// six places apart: 100 and 101, 101 and 103, 100 and 100, ...; the farthest is 100 and 130.
func TestNoiseFloorStrays(t *testing.T) {
	f := noiseFloor([]float64{100, 101, 100, 102, 100, 101, 101, 103, 100, 101, 130, 80})
	nearTo(t, "low", f.DifferLow, 0)
	nearTo(t, "high", f.DifferHigh, 0.3) // 130 / 100
	must.Be(t, f.Differ > 0 && slices.Equal(f.Strays, []int{10, 11}), f)
	nearTo(t, "share", f.ShareLow, 0.0208625) // R: binom.test(2, 12)
	nearTo(t, "share", f.ShareHigh, 0.4841377)
	must.Be(t, f.SDLow < f.SDLog && f.SDLog < f.SDHigh, f)
	random, named := rand.New(rand.NewPCG(1, 3)), 0
	for range 2000 {
		f := noiseFloor(levelsOf(LeastForFloor, random.NormFloat64))
		named += len(f.Strays)
	}
	must.Be(t, named <= 40, named, "strays in 2,000 floors of normal executions")
}

// levelsOf draws n levels: x deviations of 0.3 % each.
func levelsOf(n int, x func() float64) (levels []float64) {
	for range n {
		levels = append(levels, math.Exp(0.003*x()))
	}
	return levels
}

// TestNoiseFloorCoverage: whatever the distribution, the interval of Differ holds its true value in
// 95 of 100 floors, and in 90 of 100 tens of floors at least nine hold the value of all ten.
func TestNoiseFloorCoverage(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	normal := random.NormFloat64
	some := func(share float64, far func() float64) func() float64 {
		return func() float64 {
			x := normal()
			if random.Float64() < share {
				x += far()
			}
			return x
		}
	}
	for _, c := range []struct {
		name string
		draw func() float64
	}{
		{"normal", normal},
		{"lognormal", func() float64 { return math.Exp(normal()) }},
		{"a tenth strays of 3 to 10 sd", some(0.1, func() float64 { return 3 + 7*random.Float64() })},
		{"a tenth strays of 100 sd", some(0.1, func() float64 { return 100 })},
		{"two states, one of five", some(0.2, func() float64 { return 10 })},
		{"two states, half", some(0.5, func() float64 { return 10 })},
	} {
		truth := make([]float64, 50_000)
		for i := range truth {
			truth[i] = math.Expm1(0.003 * math.Abs(c.draw()-c.draw()))
		}
		slices.Sort(truth)
		median := arith.Median(truth)
		for _, n := range []int{LeastForFloor, 30} {
			const tens = 100
			held, agree := 0, 0
			for range tens {
				var ten []NoiseFloor
				var all []float64
				for range 10 {
					f := noiseFloor(levelsOf(n, c.draw))
					ten, all = append(ten, f), append(all, f.Differ)
				}
				slices.Sort(all)
				held += holding(ten, median)
				if holding(ten, arith.Median(all)) >= 9 {
					agree++
				}
			}
			must.Be(t, held >= 950 && agree >= 90, c.name, n, "executions:", held, "of 1,000 hold it, and",
				agree, "of 100 times nine of ten agree")
		}
	}
}

// holding counts the floors whose interval holds a value.
func holding(list []NoiseFloor, value float64) (n int) {
	for _, f := range list {
		if f.DifferLow <= value && value <= f.DifferHigh {
			n++
		}
	}
	return n
}

// TestNoiseFloorDetectable: R, power.t.test(n, sd = 0.016, power = 0.8, tol = 1e-12)$delta, then
// expm1. 0.016 is the median between-execution deviation of 200 JMH benchmarks.
func TestNoiseFloorDetectable(t *testing.T) {
	f := NoiseFloor{SDLog: 0.016}
	for n, d := range map[int]float64{5: 0.032391056, 10: 0.021199182, 30: 0.011769951} {
		nearTo(t, "detectable", f.Detectable(n), math.Expm1(d))
	}
}

// TestNoiseFloorInterval: R, sqrt(9 / qchisq(c(0.975, 0.025), 9)), and t.test(log(c(1.01, 1.02,
// 1.03))).
func TestNoiseFloorInterval(t *testing.T) {
	low, high := NoiseFloor{SDLog: 1}.Interval(10)
	nearTo(t, "low", low, 0.68783530)
	nearTo(t, "high", high, 1.82561755)
	ratio, low, high := RatioOfPairs([]NoiseFloor{{Mean: 1}, {Mean: 2}, {Mean: 4}},
		[]NoiseFloor{{Mean: 1.01}, {Mean: 2.04}, {Mean: 4.12}})
	nearTo(t, "ratio", ratio, 1.0199673)
	nearTo(t, "low", low, 0.9954382)
	nearTo(t, "high", high, 1.0451008)
}

func TestNoiseFloorTooFew(t *testing.T) {
	for name, list := range map[string][][]float64{
		"two executions": {{1}, {1}}, "no iterations": {{1}, {1}, {}}, "a time of 0": {{1}, {1}, {0}},
		"not a number": {{1}, {1}, {math.NaN()}},
	} {
		_, err := NoiseFloorOf(list)
		must.Fail(t, err, ErrFloorTooFew, name)
	}
}
