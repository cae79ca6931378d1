package bootstrap

import (
	"math"
	"slices"
)

const (
	// reach is the range of a distribution in standard deviations on either side of its mean. Its
	// steps are so small that interpolation is off by less than 0.001 standard deviations.
	reach, steps = 12, 1024
	// vanishing is the size of the characteristic function at which its series ends,
	// mostFrequencies the number of terms after which it must have.
	vanishing, mostFrequencies = 1e-12, 160
	// fewest is the number of values below which draws are as fast.
	fewest = 400
	// One frequency in leap up to farthest is searched for a return of the characteristic function:
	// means are then nearly multiples of a step, of 0.01 standard deviations or more. The function
	// is symmetric about its return, which lies therefore at least at twice the frequency where it
	// has vanished.
	leap, farthest, returned = 16, 2400, 1e-6
	// sample is the number of values of a segment that a search looks at.
	sample = 64
)

// distribution is that of the resampled mean of an execution, F at 2 reach/steps intervals. near is
// where a search for u in F begins: near[k] is the last index from which F is below k/steps.
type distribution struct {
	mean, sd float64
	f        [steps + 1]float64
	near     [steps]int32
}

// newDistribution computes F from the characteristic function of a resample. Nil: F must be found
// by drawing, because the function does not vanish, or not for good.
func newDistribution(segments [][]float64) *distribution {
	var n, total, squares float64
	for _, values := range segments {
		mean := MeanOf(values)
		for _, v := range values {
			squares += float64((v - mean) * (v - mean))
		}
		n += float64(len(values))
		total += float64(mean * float64(len(values)))
	}
	sd := math.Sqrt(squares)
	if n < fewest || !(sd > 0) || math.IsInf(sd, 0) {
		return nil
	}
	all, some := newCharacteristic(segments, sd, 1), newCharacteristic(segments, sd, leap)
	d := &distribution{mean: total / n, sd: sd / n}
	for i := range d.f {
		d.f[i] = float64(i) / steps
	}
	size, k := 1.0, 0
	for ; size > vanishing && k < mostFrequencies; k++ {
		phi := all.next()
		d.add(k+1, phi)
		size = math.Abs(real(phi)) + math.Abs(imag(phi))
	}
	if size > vanishing {
		return nil
	}
	for at := leap; at < farthest; at += leap {
		phi := some.next()
		if at > 2*k && math.Abs(real(phi))+math.Abs(imag(phi)) > returned {
			return nil
		}
	}
	i := 0
	for k := range d.near {
		for i+1 < steps && d.f[i+1] < float64(k)/steps {
			i++
		}
		d.near[k] = int32(i)
	}
	return d
}

// characteristic is the characteristic function of a resample's sum about its mean: the product
// over the segments of that of a draw, the mean of exp(itv), to the power of their length. The
// frequencies t are multiples of π/(reach sd).
type characteristic struct {
	turns, powers [][]complex128 // exp(itv) at the first and the current t
	draws         []int
}

// newCharacteristic has only multiples of by frequencies, and if by is not 1 only a sample of the
// values.
func newCharacteristic(segments [][]float64, sd float64, by int) characteristic {
	var c characteristic
	for _, values := range segments {
		var turns []complex128
		every, mean := 1, MeanOf(values)
		if by > 1 {
			every = max(1, len(values)/sample)
		}
		for i := 0; i < len(values); i += every {
			turns = append(turns, power(turn((values[i]-mean)/sd*(math.Pi/reach)), by))
		}
		c.turns = append(c.turns, turns)
		c.powers = append(c.powers, slices.Repeat([]complex128{1}, len(turns)))
		c.draws = append(c.draws, len(values))
	}
	return c
}

// next returns the function at the next frequency.
func (c *characteristic) next() complex128 {
	phi := complex(1, 0)
	for s, powers := range c.powers {
		var re, im float64
		turns := c.turns[s][:len(powers)]
		for i, p := range powers {
			p = times(p, turns[i])
			powers[i] = p
			re += real(p)
			im += imag(p)
		}
		n := float64(len(powers))
		phi = times(phi, power(complex(re/n, im/n), c.draws[s]))
	}
	return phi
}

// add adds the integral of the k-th term of the density's Fourier series to F.
func (d *distribution) add(k int, phi complex128) {
	by := 1 / (float64(k) * math.Pi)
	if k%2 == 0 {
		by = -by
	}
	for i := range d.f {
		root := roots[i*k%steps]
		re, im := real(root)-1, -imag(root)
		d.f[i] += float64(by * (float64(real(phi)*im) + float64(imag(phi)*re)))
	}
}

// draw returns a resampled mean.
func (d *distribution) draw(random *stream) float64 {
	u := (float64(random.next()>>12) + 0.5) * 0x1p-52
	i := int(d.near[int(u*steps)])
	for i+1 < steps && d.f[i+1] < u { // f[i] < u <= f[i+1], and f[0] = 0, f[steps] = 1
		i++
	}
	part := (u - d.f[i]) / (d.f[i+1] - d.f[i])
	return d.mean + float64(d.sd*(2*reach/float64(steps)*(float64(i)+part)-reach))
}

// roots are exp(2πi j/steps).
var roots = func() (r [steps]complex128) {
	r[0], r[1] = 1, turn(2*math.Pi/steps)
	for j := 2; j < steps; j++ {
		r[j] = times(r[j-1], r[1])
	}
	return r
}()

// turn is exp(ix) for |x| <= π/reach, by its series.
func turn(x float64) complex128 {
	sum, term := complex(1, 0), complex(1, 0)
	for k := 1; k < 14; k++ {
		term = complex(-imag(term)*x/float64(k), real(term)*x/float64(k))
		sum += term
	}
	return sum
}

// power returns z^n.
func power(z complex128, n int) complex128 {
	result := complex(1, 0)
	for ; n > 0; n /= 2 {
		if n%2 == 1 {
			result = times(result, z)
		}
		z = times(z, z)
	}
	return result
}

// times is a*b on every processor: see package arith.
func times(a, b complex128) complex128 {
	return complex(float64(real(a)*real(b))-float64(imag(a)*imag(b)),
		float64(real(a)*imag(b))+float64(imag(a)*real(b)))
}
