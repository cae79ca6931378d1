package bootstrap

import "math/bits"

// Constants of the generators.
const (
	// of SplitMix64 (Steele, Lea and Flood 2014)
	gamma = 0x9e3779b97f4a7c15
	mixA  = 0xbf58476d1ce4e5b9
	mixB  = 0x94d049bb133111eb
	// of wyrand (Wang Yi)
	stride  = 0xa0761d6478bd642f
	scatter = 0xe7037ed1a0b428db
)

// mix is SplitMix64's finalizer: a bijection that spreads every bit.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * mixA
	z = (z ^ z>>27) * mixB
	return z ^ z>>31
}

// stream is a counter-based generator: word i of a stream is a hash of its key and i (wyrand's), so
// that a resample can begin at any position at no cost.
type stream uint64

// newStream derives the key of a stream from any numbers.
func newStream(keys ...uint64) stream {
	h := uint64(0)
	for _, k := range keys {
		h = mix(h + gamma + mix(k+gamma))
	}
	return stream(h)
}

// next returns 64 random bits.
func (s *stream) next() uint64 {
	*s += stride
	hi, lo := bits.Mul64(uint64(*s), uint64(*s)^scatter)
	return hi ^ lo
}

// index returns a uniform integer below n > 0 (Lemire 2019).
func (s *stream) index(n uint64) uint64 {
	hi, lo := bits.Mul64(s.next(), n)
	if lo < n {
		for reject := -n % n; lo < reject; {
			hi, lo = bits.Mul64(s.next(), n)
		}
	}
	return hi
}

// drawer sums values drawn from one segment.
//
// One random word yields four indexes: the first is the integer part of word/2^64 × n, the next
// that of the remaining fraction × n, and so on (Brackett-Rozinsky and Lemire 2024). All n^4
// outcomes are equally likely when words whose last fraction is below 2^64 mod n^4 are rejected.
// Segments too long for this use one word per index.
type drawer struct {
	values []float64
	n      uint64
	reject uint64 // 2^64 mod n^4, or 0 for one word per index
}

// longestBatched keeps the probability of a rejection below 1 in 256.
const longestBatched = 1 << 14

// newDrawer draws from values, which it does not copy; there must be at least one.
func newDrawer(values []float64) drawer {
	d := drawer{values: values, n: uint64(len(values))}
	if d.n <= longestBatched {
		power := d.n * d.n * d.n * d.n
		d.reject = -power % power
	}
	return d
}

// sum draws as many values as the segment has and adds them.
func (d *drawer) sum(s *stream) float64 {
	if d.n > longestBatched {
		return d.sumSingly(s)
	}
	values, n := d.values, d.n
	var a, b, c, e float64
	left := len(values)
	for ; left >= 4; left -= 4 {
		i, j, k, l := d.four(s, n)
		a += values[i]
		b += values[j]
		c += values[k]
		e += values[l]
	}
	i, j, k, _ := d.four(s, n)
	switch left {
	case 3:
		c += values[k]
		fallthrough
	case 2:
		b += values[j]
		fallthrough
	case 1:
		a += values[i]
	}
	return (a + b) + (c + e)
}

// four returns four uniform indexes below n, which is d.n.
func (d *drawer) four(s *stream, n uint64) (i, j, k, l uint64) {
	for {
		word := s.next()
		i, word = bits.Mul64(word, n)
		j, word = bits.Mul64(word, n)
		k, word = bits.Mul64(word, n)
		l, word = bits.Mul64(word, n)
		if word >= d.reject {
			return i, j, k, l
		}
	}
}

// sumSingly is sum with one word per index.
func (d *drawer) sumSingly(s *stream) float64 {
	sum := 0.0
	for range d.values {
		sum += d.values[s.index(d.n)]
	}
	return sum
}
