package sequential

// This file finds the version that changed the speed of a key, by measuring few of the
// versions between a good and a bad one.
//
// A measurement compares a version with the good one in blocks, so that drift cancels: its values
// are the differences of the logarithms of both executions of each block. Before the culprit they
// scatter around 0, from the culprit on around the size of the change, which is not known. The
// posterior probability of each version being the culprit needs nothing but these values, so it
// does not matter in which order and why versions were measured, and the decision after a power cut
// is the same. Start reading at [Bisect]; docs/bisect.md has its cost, and how often it is right.

import (
	"math"
)

// BisectQuestion is what to find.
type BisectQuestion struct {
	Versions int // from the good one, 0, to the bad one, Versions-1
	// Delta bounds the probability of naming the wrong culprit; half of it that of calling good and
	// bad different when they are not.
	Delta float64
	// Most is the number of blocks of the bad version after which, without evidence, good and bad
	// are not different enough.
	Most int
}

// BisectVersion has what is known of a version: the differences from the good one, a value per
// block.
type BisectVersion struct {
	Differences []float64
	Skip        bool // it cannot be built or measured
}

// BisectAction is what to do next.
type BisectAction string

// The actions.
const (
	Measure BisectAction = "measure"   // BisectDecision.Version, next
	Found   BisectAction = "found"     // one of First to Last is the culprit
	Same    BisectAction = "no change" // good and bad do not differ enough
)

// BisectDecision is the answer to a question after some measurements.
type BisectDecision struct {
	Action  BisectAction `json:"action"`
	Version int          `json:"version"` // to measure; for Found, the most probable culprit
	// First and Last are the possible culprits that no measurement can tell apart, because the
	// versions between them are skipped.
	First int `json:"first"`
	Last  int `json:"last"`
	// Probability of the culprit being among First to Last.
	Probability float64 `json:"probability"`
	Change      float64 `json:"change"` // of the bad version, as a ratio
	Blocks      int     `json:"blocks"` // that were measured
	// Culprit has the probability of each version being the culprit; that of version 0 is 0.
	Culprit []float64 `json:"culprit"`
}

// Bisect decides what to do. The result depends on nothing else. versions has
// BisectQuestion.Versions elements, of which the first has no differences.
func Bisect(q BisectQuestion, versions []BisectVersion) BisectDecision {
	d := BisectDecision{Action: Measure, Version: q.Versions - 1, First: 1, Last: q.Versions - 1,
		Culprit: make([]float64, q.Versions)}
	for _, v := range versions {
		d.Blocks += len(v.Differences)
	}
	bad := SampleOf(versions[q.Versions-1].Differences)
	d.Change = math.Exp(bad.Mean)
	if e := bad.LogE(0); !(e >= math.Log(2/q.Delta)) && !certain(bad) {
		if bad.N >= q.Most {
			d.Action = Same
		}
		return d
	}
	posterior(versions, d.Culprit)
	best, at := 0.0, 1
	for first := 1; first < q.Versions; {
		last, sum := first, d.Culprit[first]
		for last < q.Versions-1 && versions[last].Skip {
			last++
			sum += d.Culprit[last]
		}
		if sum > best {
			best, d.First, d.Last, d.Probability = sum, first, last, sum
		}
		first = last + 1
	}
	for c := d.First; c <= d.Last; c++ {
		if d.Culprit[c] > d.Culprit[at] || c == d.First {
			at = c
		}
	}
	if best >= 1-q.Delta/2 {
		d.Action, d.Version = Found, at
		return d
	}
	d.Version = next(versions, d.Culprit)
	return d
}

// certain reports whether all differences are equal and not 0.
func certain(s Sample) bool { return s.N >= 3 && s.Variance == 0 && s.Mean != 0 }

// next returns the version to measure: the one that divides the probability best.
func next(versions []BisectVersion, culprit []float64) int {
	best, at, sum := 2.0, len(versions)-1, 0.0
	for v := 1; v < len(versions); v++ {
		sum += culprit[v] // that v is bad
		if distance := math.Abs(sum - 0.5); !versions[v].Skip && distance < best {
			best, at = distance, v
		}
	}
	return at
}

// posterior fills in the probability of each version being the culprit, with a uniform prior, a
// flat one of the change, and Jeffreys' of the variance of a block.
func posterior(versions []BisectVersion, culprit []float64) {
	samples := make([]Sample, len(versions))
	within, total := 0.0, 0.0
	for i := range versions {
		samples[i] = SampleOf(versions[i].Differences)
		total += float64(samples[i].N)
		if samples[i].N > 1 {
			within += samples[i].Variance * float64(samples[i].N-1)
		}
	}
	top := math.Inf(-1)
	logs := make([]float64, len(samples))
	weight, mean, right := 0.0, 0.0, 0.0  // of the versions from c on
	left := make([]float64, len(samples)) // sums of the squares of the versions before c
	for c := 1; c < len(samples); c++ {
		left[c] = left[c-1]
		left[c] += float64(samples[c-1].N) * samples[c-1].Mean * samples[c-1].Mean
	}
	for c := len(samples) - 1; c > 0; c-- {
		if w := float64(samples[c].N); w > 0 {
			delta := samples[c].Mean - mean
			weight += w
			mean += delta * w / weight
			right += w * delta * (samples[c].Mean - mean)
		}
		square := math.Max(within+left[c]+right, least)
		logs[c] = -math.Log(weight)/2 - (total-1)/2*math.Log(square)
		top = math.Max(top, logs[c])
	}
	sum := 0.0
	for c := 1; c < len(samples); c++ {
		culprit[c] = math.Exp(logs[c] - top)
		sum += culprit[c]
	}
	for c := 1; c < len(samples); c++ {
		culprit[c] /= sum
	}
}

// least is the smallest sum of squares: differences of logarithms have rounding errors of about
// 1e-16, and values that are exactly alike are no proof.
const least = 1e-24
