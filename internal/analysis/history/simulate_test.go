package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/compare"
	"krund/rig/must"
)

// The simulations print the tables of docs/history.md; `make history-bench` runs more of them.
var (
	simulatedKeys    = must.Often(12, 1000)
	nightTables      = must.Often(1, 4)
	tableNights      = must.Often(100, 200)
	nightStep        = must.Often(4, 1) // of nightKinds
	simulatedChanges = must.Often(20, 500)
)

// kind makes histories without a change.
type kind struct {
	name   string
	within float64                                    // standard deviation of executions
	noise  func(r *rand.Rand, versions int) []float64 // of the versions, standard deviation about 1
	times  float64                                    // standard deviation of the noise
	slow   float64                                    // share of executions that are 10 % slower
	limit  float64                                    // false alerts in terms of the rate, at most
}

// Seeds. The methods were chosen with others.
const falseSeed, delaySeed = 2001, 2002

func normal(r *rand.Rand, n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = r.NormFloat64()
	}
	return list
}

func heavy(r *rand.Rand, n int) []float64 { // Student's t, 3 degrees of freedom
	list := normal(r, n)
	for i := range list {
		square := 0.0
		for range 3 {
			z := r.NormFloat64()
			square += z * z
		}
		list[i] /= math.Sqrt(square)
	}
	return list
}

func skewed(r *rand.Rand, n int) []float64 {
	list := normal(r, n)
	for i := range list {
		list[i] = (math.Exp(0.5*list[i]) - 1.133) / 0.604
	}
	return list
}

// spiked: this share of the versions is far off.
func spiked(share float64) func(r *rand.Rand, n int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		list := normal(r, n)
		for i := range list {
			list[i] += float64(20 * arith.One(r.Float64() < share))
		}
		return list
	}
}

// drifting has this autocorrelation.
func drifting(correlation float64) func(r *rand.Rand, n int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		list := normal(r, n)
		for i := 1; i < n; i++ {
			list[i] = correlation*list[i-1] + math.Sqrt(1-correlation*correlation)*list[i]
		}
		return list
	}
}

// states: this share of the versions, at random, is in the slower of two states.
func states(share float64) func(r *rand.Rand, n int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		list := make([]float64, n)
		for i := range list {
			list[i] = float64(arith.One(r.Float64() < share))
		}
		return list
	}
}

var kinds = []kind{
	{"executions only", 0.015, normal, 0, 0, 1},
	{"versions differ", 0.015, normal, 0.007, 0, 1},
	{"heavy tails", 0.015, heavy, 0.007, 0, 1},
	{"skewed", 0.015, skewed, 0.007, 0, 1},
	{"noisy key", 0.08, normal, 0.007, 0, 1},
	{"spikes, 2 %", 0.015, spiked(0.02), 0.01, 0, 1},
	{"spikes, 5 %", 0.015, spiked(0.05), 0.01, 0, 1},
	{"versions, 10 % slow", 0.015, states(0.1), 0.1, 0, 1},
	{"versions, 30 % slow", 0.015, states(0.3), 0.1, 0, 1},
	{"versions, 50 % slow", 0.015, states(0.5), 0.1, 0, 1},
	{"far apart", 0.002, states(0.3), 0.5, 0, 1},
	{"executions, 5 % slow", 0.005, normal, 0.007, 0.05, 1},
	{"executions, 30 % slow", 0.005, normal, 0.007, 0.3, 1},
	{"drift, 0.5", 0.015, drifting(0.5), 0.01, 0, 10},
	{"drift, 0.8", 0.015, drifting(0.8), 0.01, 0, 60},
}

func (k kind) values(r *rand.Rand, versions, at int, factor float64) [][]float64 {
	list := make([][]float64, versions)
	noise := k.noise(r, versions)
	for v := range list {
		level := math.Exp(k.times * noise[v])
		if v >= at {
			level *= factor
		}
		for range 5 {
			x := level * math.Exp(k.within*r.NormFloat64())
			if k.slow > 0 && r.Float64() < k.slow {
				x *= 1.1
			}
			list[v] = append(list[v], x)
		}
	}
	return list
}

// thresholdOf is the threshold of a table of 40 keys at the default rate.
func thresholdOf(versions int) []float64 {
	list := make([]float64, versions)
	for i := range list {
		list[i] = math.Log(40 / DefaultRate)
	}
	return list
}

// TestFalseAlerts: histories of 200 versions without a change have at most the promised rate of
// alerts per key and version, and are rarely reported to drift.
func TestFalseAlerts(t *testing.T) {
	for _, k := range kinds {
		r := source(falseSeed)
		alerts, drifts := 0, 0
		for range simulatedKeys {
			h := keyHistory(Key{Name: "a", Values: k.values(r, 200, 200, 1)}, thresholdOf(200), 0.95)
			alerts += len(h.Changes)
			drifts += arith.One(h.Autocorrelation > 0)
		}
		looks := simulatedKeys * 200
		low, high := compare.Binomial(alerts, looks, 0.95)
		t.Logf("%-21s %5d alerts in %d looks: %.2f of the bound (%.2f, %.2f); %.3f of the keys drift", k.name,
			alerts, looks, float64(alerts)/float64(looks)*40/DefaultRate, low*40/DefaultRate,
			high*40/DefaultRate, float64(drifts)/float64(simulatedKeys))
		must.Be(t, low <= k.limit*DefaultRate/40, k.name, alerts, "alerts")
	}
}

// TestDelay: changes are found, soon, and where they are.
func TestDelay(t *testing.T) {
	for _, k := range kinds {
		line := fmt.Sprintf("%-21s", k.name)
		for _, factor := range []float64{1.02, 1.05, 1.1} {
			r := source(delaySeed)
			found, delay, inside, exact, covered := 0, 0, 0, 0, 0
			for range simulatedChanges {
				h := keyHistory(Key{Name: "a", Values: k.values(r, 80, 40, factor)}, thresholdOf(80), 0.95)
				for _, c := range h.Changes {
					if c.Found < 40 {
						continue
					}
					found++
					delay += c.Found - 39
					inside += arith.One(c.First <= 40 && c.Last >= 40)
					exact += arith.One(c.Version == 40)
					covered += arith.One(c.Low <= factor && c.High >= factor)
					break
				}
			}
			share := func(n int) float64 { return float64(n) / float64(max(found, 1)) }
			line += fmt.Sprintf(" | %.0f %%: %.2f, %4.1f, culprit %.2f (%.2f), size %.2f", 100*(factor-1),
				float64(found)/float64(simulatedChanges),
				share(delay), share(inside), share(exact), share(covered))
			must.Be(t, k.name != "versions differ" || factor != 1.1 || (found >= simulatedChanges &&
				share(delay) <= 4 && share(inside) >= 0.95), k.name, found, share(delay), share(inside))
		}
		t.Log(line)
	}
}

// keyHistory examines a key by itself.
func keyHistory(k Key, thresholds []float64, confidence float64) KeyHistory {
	points, _ := k.points(thresholds)
	d := detector{all: points, from: 1}
	for _, p := range points {
		if at, sum := d.next(p); sum >= p.threshold {
			d.change(at, sum)
		}
	}
	h := KeyHistory{Key: k.Name}
	h.describe(&d, confidence)
	return h
}
