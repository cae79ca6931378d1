package similarity

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// flat is the standard deviation, relative to the mean, below which a series is constant for SAX:
// what is left is rounding.
const flat = 1e-12

// SAX gives the word of a series (Lin, Keogh, Lonardi and Chiu, "A symbolic representation of time
// series", DMKD 2003): normalised to mean 0 and standard deviation 1 (over n), averaged over
// frames, and cut into letters 'a', 'b', ... at the quantiles of the normal distribution; a value
// on a cut has the upper letter. A series no longer than frames is not averaged. A constant series
// consists of the letter of 0. There are 2 to 26 letters, and 1 frame or more; numbers outside are
// taken for the nearest inside.
func SAX(x []float64, frames, letters int) []byte {
	letters = min(max(letters, 2), 26)
	averages := PAA(normalised(x), max(frames, 1))
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

// breakpoints are the quantiles that cut the normal distribution into letters equal parts. The
// middle one is 0 exactly.
func breakpoints(letters int) []float64 {
	cuts := make([]float64, letters-1)
	for i := range cuts {
		if 2*(i+1) != letters {
			cuts[i] = distuv.UnitNormal.Quantile(float64(i+1) / float64(letters))
		}
	}
	return cuts
}

// normalised gives (x-mean)/sd, or zeros for a constant series.
func normalised(x []float64) []float64 {
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

// PAA averages x over so many frames of equal length (piecewise aggregate approximation). Values on
// a border count for both frames by their parts. No more values than frames (1 or more) are
// returned as they are.
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
