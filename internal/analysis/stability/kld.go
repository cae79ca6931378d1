package stability

import (
	"math"
	"slices"
)

// Variance selects how the variance for KLD's bandwidth is computed.
type Variance int

// TwoPass is accurate for small variances of large values. OnePass, mean of squares minus square of
// the mean, is what the authors' library does: cancellation may lose small variances, and the
// similarity is then 0.
const (
	TwoPass Variance = iota
	OnePass
)

// gridSize is the number of points at which the densities are compared.
const gridSize = 1000

// kernelReach is the reach of a kernel in bandwidths.
const kernelReach = 5

// kernels holds buffers for two densities, so that a comparison does not allocate.
type kernels struct {
	p, q [gridSize]float64
}

// sample is an ascending sample with the statistics that KLD needs.
type sample struct {
	values    []float64
	bandwidth float64
	low, high float64 // of the range
}

// sorting builds a sample of values, which it sorts and keeps.
func sorting(x []float64, v Variance) sample {
	slices.Sort(x)
	q1, q3 := type6(x, 0.25), type6(x, 0.75)
	return sample{values: x, bandwidth: bandwidth(x, v), low: max(0, q1-1.5*(q3-q1)), high: q3 + 1.5*(q3-q1)}
}

// type6 is the quantile by R's type 6, at position p(n+1).
func type6(sorted []float64, p float64) float64 {
	n := float64(len(sorted))
	at := p * (n + 1)
	switch {
	case at < 1:
		return sorted[0]
	case at >= n:
		return sorted[len(sorted)-1]
	}
	floor := math.Floor(at)
	lower, upper := sorted[int(floor)-1], sorted[int(floor)]
	return lower + (at-floor)*(upper-lower)
}

// bandwidth is Silverman's rule as in smile 1.5.3: 1.06 min(sd, IQR/1.34) n^-0.2, with the
// quartiles x[3n/4] and x[n/4]. It is NaN for one value, and when cancellation makes the variance
// negative.
func bandwidth(sorted []float64, v Variance) float64 {
	n := float64(len(sorted))
	var square float64
	if v == OnePass {
		sum, squares := 0.0, 0.0
		for _, x := range sorted {
			sum += x
			squares += float64(x * x)
		}
		square = squares - sum*(sum/n)
	} else {
		square = momentsOf(sorted).square
	}
	sd := math.Sqrt(square / (n - 1))
	iqr := sorted[len(sorted)*3/4] - sorted[len(sorted)/4]
	return 1.06 * min(sd, iqr/1.34) / math.Pow(n, 0.2) // min propagates NaN
}

// similarity is the similarity of two samples, from 0 to 1: 2^-KL(a,b) 2^-KL(b,a), with the
// Kullback-Leibler divergences of their kernel densities in natural logarithms, on 1000 points of
// [max(0, q1-1.5 IQR), q3+1.5 IQR] (the union of both samples' ranges; type 6 quartiles). It is 1
// when that range is a single point, and 0 when a density is zero everywhere or the densities do
// not overlap. The paper's "removes outliers" refers to this range: values are not removed.
func (k *kernels) similarity(a, b sample) float64 {
	low, high := min(a.low, b.low), max(a.high, b.high)
	if !(low < high) {
		return 1
	}
	if !(a.bandwidth > 0) || !(b.bandwidth > 0) {
		return 0
	}
	step := (high - low) / (gridSize - 1)
	if !(step > 0) || math.IsInf(step, 0) {
		return 0 // values too small or too large to compare
	}
	density(&k.p, a, low, step)
	density(&k.q, b, low, step)
	sum, common := 0.0, false
	for i, p := range k.p {
		if q := k.q[i]; p > 0 && q > 0 {
			sum += (p - q) * math.Log(p/q) * step // KL(a,b) + KL(b,a)
			common = true
		}
	}
	if !common || math.IsNaN(sum) {
		return 0
	}
	return min(math.Exp2(-sum), 1)
}

// density adds a Gaussian kernel for each value to the points low, low+step, ... within reach:
// those y for which the value is in [y-5h, y+5h).
func density(points *[gridSize]float64, s sample, low, step float64) {
	*points = [gridSize]float64{}
	h := s.bandwidth
	weight := 1 / (math.Sqrt(2*math.Pi) * h * float64(len(s.values)))
	ratio := step / h
	square := math.Exp(-ratio * ratio) // of the factors of neighboring points
	for i := 0; i < len(s.values); {
		v, count := s.values[i], 0
		for ; i < len(s.values) && s.values[i] == v; i++ {
			count++
		}
		from := int(min(max(math.Ceil((v-kernelReach*h-low)/step)-1, 0), gridSize))
		to := int(min(max(math.Floor((v+kernelReach*h-low)/step)+2, 0), gridSize))
		for from < to && !(v < low+float64(from)*step+kernelReach*h) {
			from++
		}
		for from < to && !(v >= low+float64(to-1)*step-kernelReach*h) {
			to--
		}
		kernel(points[from:to], (low+float64(from)*step-v)/h, ratio, square, weight*float64(count))
	}
}

// kernel adds weight exp(-z^2/2) for z = first, first+ratio, ... Each value is the previous one
// times a factor, and each factor the previous one times square; both are recomputed regularly to
// limit rounding errors. Four independent values are computed at a time, for instruction-level
// parallelism.
func kernel(points []float64, first, ratio, square, weight float64) {
	const anew = 64
	square2 := square * square
	square4 := square2 * square2
	square6, square16 := square4*square2, square4*square4*square4*square4
	for len(points) > 0 {
		block := points[:min(len(points), anew)]
		points = points[len(block):]
		factor := math.Exp(-ratio * (first + ratio/2))
		a := weight * math.Exp(-first*first/2)
		b := a * factor
		c := b * (factor * square)
		d := c * (factor * square2)
		// The factors over four points: factor^4 square^(0+1+2+3), and so on.
		fa := factor * factor * factor * factor * square6
		fb := fa * square4
		fc := fb * square4
		fd := fc * square4
		for ; len(block) >= 4; block = block[4:] {
			block[0] += a
			block[1] += b
			block[2] += c
			block[3] += d
			a, b, c, d = a*fa, b*fb, c*fc, d*fd
			fa, fb, fc, fd = fa*square16, fb*square16, fc*square16, fd*square16
		}
		rest := [...]float64{a, b, c}
		for i := range block {
			block[i] += rest[i]
		}
		first += ratio * anew
	}
}
