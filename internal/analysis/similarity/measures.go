package similarity

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Measures are M1 to M5 of two series: dissimilarities from 0 (alike) to 1.
type Measures struct {
	M1 float64 `json:"m1"`
	M2 float64 `json:"m2"`
	M3 float64 `json:"m3"`
	M4 float64 `json:"m4"`
	M5 float64 `json:"m5"`
}

// List returns the measures without their names.
func (m Measures) List() [5]float64 { return [5]float64{m.M1, m.M2, m.M3, m.M4, m.M5} }

// plus adds measures, divided by a number.
func (m Measures) plus(o Measures, by float64) Measures {
	return Measures{m.M1 + o.M1/by, m.M2 + o.M2/by, m.M3 + o.M3/by, m.M4 + o.M4/by, m.M5 + o.M5/by}
}

func mean(all []Measures) Measures {
	var sum Measures
	for _, m := range all {
		sum = sum.plus(m, 1)
	}
	return Measures{}.plus(sum, float64(len(all)))
}

// Options of the measures and the methods. The zero value selects the paper's.
type Options struct {
	Threshold float64 `json:"threshold"` // measures above it indicate dissimilarity; 0: 0.25
	Frames    int     `json:"frames"`    // of SAX; 0: 300
	Alphabet  int     `json:"alphabet"`  // letters of SAX, 2 to 26; 0: 6
	Merge     float64 `json:"merge"`     // SAME: clusters not further apart are merged; 0: 0.2
}

// The defaults of Options. Threshold is the paper's; the others are not published. Merge is a
// round number near 0.19, with which SAME flags as many of the 586 benchmarks in the paper's data
// as the paper reports (23.1%).
const (
	DefaultThreshold = 0.25
	DefaultFrames    = 300
	DefaultAlphabet  = 6
	DefaultMerge     = 0.2
)

func (s Options) filled() Options {
	s.Threshold = cmp.Or(s.Threshold, DefaultThreshold)
	s.Frames = cmp.Or(s.Frames, DefaultFrames)
	s.Alphabet = cmp.Or(s.Alphabet, DefaultAlphabet)
	s.Merge = cmp.Or(s.Merge, DefaultMerge)
	return s
}

// Above returns the number of measures above a threshold.
func (m Measures) Above(threshold float64) int {
	n := 0
	for _, v := range m.List() {
		if v > threshold {
			n++
		}
	}
	return n
}

// Dissimilar applies the paper's majority rule: at least three of the five measures are above the
// threshold.
func (m Measures) Dissimilar(threshold float64) bool { return m.Above(threshold) >= 3 }

// run is a series with the intermediate results that every pair needs.
type run struct {
	values   []float64 // scaled
	sorted   []float64
	mean     float64
	spread   float64 // sum (x-mean)^2
	square   float64 // sum x^2
	constant bool
	word     []byte // SAX
	phrases  int    // of word
}

func newRun(values []float64, scale float64, s Options) *run {
	r := &run{values: make([]float64, len(values)), word: SAX(values, s.Frames, s.Alphabet)}
	for i, v := range values {
		r.values[i] = v * scale
		r.mean += r.values[i] / float64(len(values))
	}
	for _, v := range r.values {
		r.spread += (v - r.mean) * (v - r.mean)
		r.square += v * v
	}
	r.sorted = slices.Sorted(slices.Values(r.values))
	r.constant = r.sorted[0] == r.sorted[len(r.sorted)-1] || r.spread == 0
	r.phrases = LZ76(r.word)
	return r
}

// scaleOf is a power of two that scales the values to near 1, so that their squares are finite and
// not zero. It does not affect results.
func scaleOf(series ...[]float64) float64 {
	largest := 0.0
	for _, x := range series {
		for _, v := range x {
			largest = max(largest, math.Abs(v))
		}
	}
	if largest == 0 {
		return 1
	}
	_, exponent := math.Frexp(largest)
	return math.Ldexp(1, max(min(-exponent, 1023), -1022))
}

func measures(x, y *run) Measures {
	var cross, product, distance float64
	for i, v := range x.values {
		w := y.values[i]
		cross += (v - x.mean) * (w - y.mean)
		product += v * w
		distance += (v - w) * (v - w)
	}
	return Measures{
		correlation(x, y, cross),
		compression(x, y),
		fourier(x, y, distance),
		dissimilarity(x.square, y.square, product),
		kolmogorovSmirnov(x.sorted, y.sorted),
	}
}

// correlation is M1 = 1 - max(r, 0), where r is Pearson's correlation. Two constant series are
// alike, and a constant series is dissimilar to any other.
func correlation(x, y *run, cross float64) float64 {
	if x.constant || y.constant {
		return undefined(x.constant && y.constant)
	}
	return flip(cross / (math.Sqrt(x.spread) * math.Sqrt(y.spread)))
}

// compression is M2 = 2 c(XY)/(c(X)+c(Y)) - 1, clamped to [0, 1], where c is the number of phrases
// of the SAX word. The paper does not name a compression algorithm; LZ76 gives 0 for equal series,
// as the paper requires.
func compression(x, y *run) float64 {
	both := LZ76(slices.Concat(x.word, y.word))
	return clamp(2*float64(both)/float64(x.phrases+y.phrases) - 1)
}

// fourier is M3 = |F(X)-F(Y)| / (|F(X)|+|F(Y)|) over all complex coefficients of the unnormalized
// series. By Parseval's theorem it is computed from the values.
func fourier(x, y *run, distance float64) float64 {
	norms := math.Sqrt(x.square) + math.Sqrt(y.square)
	if norms == 0 {
		return 0
	}
	return clamp(math.Sqrt(distance) / norms)
}

// dissimilarity is M4 = 1 - max(cos, 0). The paper prints a sum of norms in place of the product;
// with the sum, the result would depend on the unit.
func dissimilarity(xx, yy, xy float64) float64 {
	if xx == 0 || yy == 0 {
		return undefined(xx == yy)
	}
	return flip(xy / (math.Sqrt(xx) * math.Sqrt(yy)))
}

// kolmogorovSmirnov is M5: the largest distance between the two empirical distribution functions.
// Both series are sorted and of equal length.
func kolmogorovSmirnov(x, y []float64) float64 {
	i, j, far := 0, 0, 0
	for i < len(x) && j < len(y) {
		at := min(x[i], y[j])
		for i < len(x) && x[i] == at {
			i++
		}
		for j < len(y) && y[j] == at {
			j++
		}
		far = max(far, i-j, j-i)
	}
	return float64(far) / float64(len(x))
}

// undefined is the dissimilarity of two series when at least one of them has no direction.
func undefined(neither bool) float64 {
	if neither {
		return 0
	}
	return 1
}

func flip(v float64) float64  { return clamp(1 - max(v, 0)) }
func clamp(v float64) float64 { return min(max(v, 0), 1) }

// flat is the standard deviation, relative to the mean, below which SAX treats a series as
// constant, because the rest is rounding error.
const flat = 1e-12

// SAX returns the word of a series (Lin, Keogh, Lonardi and Chiu, "A symbolic representation of
// time series", DMKD 2003): the series is normalized to mean 0 and standard deviation 1 (over n),
// averaged over frames, and discretized to letters 'a', 'b', ... at the quantiles of the normal
// distribution. A value on a breakpoint gets the upper letter. A series no longer than frames is
// not averaged. A constant series consists of the letter of 0. letters is clamped to 2 to 26, and
// frames to at least 1.
func SAX(x []float64, frames, letters int) []byte {
	letters = min(max(letters, 2), 26)
	averages := PAA(normalized(x), max(frames, 1))
	cuts := breakpoints(letters)
	word := make([]byte, len(averages))
	for i, v := range averages {
		letter := 0
		for letter < len(cuts) && v >= cuts[letter] {
			letter++
		}
		word[i] = 'a' + byte(letter)
	}
	return word
}

// breakpoints are the quantiles that divide the normal distribution into letters equal parts. The
// middle one is exactly 0.
func breakpoints(letters int) []float64 {
	cuts := make([]float64, letters-1)
	for i := range cuts {
		if 2*(i+1) != letters {
			cuts[i] = distuv.UnitNormal.Quantile(float64(i+1) / float64(letters))
		}
	}
	return cuts
}

// normalized returns (x-mean)/sd, or zeros for a constant series.
func normalized(x []float64) []float64 {
	z := make([]float64, len(x))
	scale, mean := scaleOf(x), 0.0
	for i, v := range x {
		z[i] = v * scale
		mean += z[i]
	}
	mean /= float64(len(x))
	square := 0.0
	for i := range z {
		z[i] -= mean
		square += z[i] * z[i]
	}
	sd := math.Sqrt(square / float64(len(x)))
	for i := range z {
		if sd <= flat*math.Abs(mean) || sd == 0 {
			z[i] = 0
		} else {
			z[i] /= sd
		}
	}
	return z
}

// PAA averages x over the given number of frames of equal length (piecewise aggregate
// approximation). Values on a border contribute to both frames in proportion. A series with no more
// values than frames (1 or more) is returned unchanged.
func PAA(x []float64, frames int) []float64 {
	n := len(x)
	if n <= frames {
		return x
	}
	means := make([]float64, frames)
	for f := range means {
		// In units of 1/frames: value i covers i*frames to (i+1)*frames, and the frame from f*n to
		// (f+1)*n.
		from, to := f*n, (f+1)*n
		for i := from / frames; i*frames < to; i++ {
			part := min(to, (i+1)*frames) - max(from, i*frames)
			means[f] += x[i] * (float64(part) / float64(frames))
		}
		means[f] /= float64(n) / float64(frames)
	}
	return means
}

// LZ76 returns the number of phrases of the exhaustive parse of Lempel and Ziv ("On the complexity
// of finite sequences", IEEE Trans. Inf. Theory 22, 1976): each phrase is the shortest string that
// does not occur in the text before its last letter; the occurrence may overlap it. An incomplete
// last phrase counts. The result is 0 for the empty word.
func LZ76(word []byte) int {
	phrases := 0
	for start := 0; start < len(word); phrases++ {
		end, at := start+1, 0
		for end <= len(word) {
			// An occurrence of the longer string cannot be before that of the shorter one.
			next := bytes.Index(word[at:end-1], word[start:end])
			if next < 0 {
				break
			}
			at += next
			end++
		}
		start = end
	}
	return phrases
}
