package stability

import (
	"math/rand/v2"
	"slices"
	"sort"
)

// The uses of random numbers; each use has its own stream.
const (
	forStep = iota + 1
	forPool
	forWidth
	forFull
	forShort
	forFullMeans
	forShortMeans
)

// mix hashes numbers to one (SplitMix64's finalizer; Steele, Lea and Flood 2014).
func mix(keys ...uint64) uint64 {
	const gamma = 0x9e3779b97f4a7c15
	h := uint64(0)
	for _, k := range keys {
		h += k + gamma
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}

func number(c Criterion) uint64 { return uint64(slices.Index(Criteria, c)) }

// random returns a generator for one use.
func random(keys ...uint64) *rand.Rand {
	return rand.New(rand.NewPCG(mix(keys...), mix(append([]uint64{1}, keys...)...)))
}

// draw appends n calls of the histogram, drawn with replacement.
func (h *Histogram) draw(into []float64, n int, r *rand.Rand) []float64 {
	for range n {
		into = append(into, h.Values[h.pick(r)])
	}
	return into
}

// pick returns the index of a value, weighted by its count.
func (h *Histogram) pick(r *rand.Rand) int {
	n := len(h.Values)
	total := h.Total()
	if total == float64(n) { // every count is 1
		return int(r.Uint64N(uint64(n)))
	}
	at := r.Float64() * total
	i := sort.Search(n, func(i int) bool { return h.ends[i] > at })
	return min(i, n-1)
}
