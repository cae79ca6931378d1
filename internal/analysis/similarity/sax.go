package similarity

import (
	"bytes"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

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
