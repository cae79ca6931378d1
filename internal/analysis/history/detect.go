package history

import (
	"math"

	"krund/internal/analysis/arith"
)

// point is one version of a key: the mean of its executions, on the scale of the test.
type point struct {
	x      float64
	weight float64 // see usual
	noise  float64 // variance of x that the differences between its executions explain
	floor  float64 // variance that the rounding of the values up to here explains
	offset float64 // standard error of its conversion to another machine's scale, see Seam

	threshold  float64 // of the logarithm of the sum of the e-values; see thresholds
	version    int     // index
	executions int
}

// moments are the sums of consecutive points.
type moments struct {
	n            int
	weight, mean float64
	square       float64 // weighted sum of the squared deviations from the mean
	noise        float64 // sum of weight*noise
	offset       float64 // weighted mean
	own          part    // of the newest machine's points
}

// part is what a machine has measured of some points.
type part struct {
	n            int
	weight, mean float64
}

func (m moments) with(p point) moments {
	d := p.x - m.mean
	m.n++
	m.weight += p.weight
	m.mean += d * p.weight / m.weight
	m.square += d * p.weight * (p.x - m.mean)
	m.noise += p.weight * p.noise
	m.offset += (p.offset - m.offset) * p.weight / m.weight
	if p.offset == 0 {
		m.own.n++
		m.own.weight += p.weight
		m.own.mean += (p.x - m.own.mean) * p.weight / m.own.weight
	}
	return m
}

// without is the inverse of with.
func (m moments) without(p point) moments {
	if m.n == 1 {
		return moments{}
	}
	mean := m.mean + (m.mean-p.x)*p.weight/(m.weight-p.weight)
	own := m.own
	if p.offset == 0 {
		if own = (part{}); m.own.n > 1 {
			own = part{m.own.n - 1, m.own.weight - p.weight,
				m.own.mean + (m.own.mean-p.x)*p.weight/(m.own.weight-p.weight)}
		}
	}
	return moments{m.n - 1, m.weight - p.weight, mean, max(0, m.square-(p.x-m.mean)*p.weight*(p.x-mean)),
		m.noise - p.weight*p.noise, m.offset + (m.offset-p.offset)*p.weight/(m.weight-p.weight), own}
}

// past is what earlier segments of the key say about the variance of a version.
type past struct {
	square, noise float64
	n, freedom    int
	segments      int
	// alike is the correlation of neighboring versions; alone: by those of the key itself.
	alike float64
	alone bool
}

// variance returns the variance of a point of weight 1: at least what the differences between
// executions and the rounding of values explain.
func (a past) variance(floor float64) float64 {
	free := max(float64(a.freedom), 1)
	if a.alike > 0 && !a.alone { // a segment of n hides inflation/n of the variance in its mean, not 1/n
		n := max(float64(a.n)/float64(a.segments), 2)
		free *= (n - inflation(n, a.alike)) / (n - 1)
	}
	return max(a.square/free, a.noise/float64(a.n), floor)
}

func (a past) with(m moments) past {
	return past{a.square + m.square, a.noise + m.noise, a.n + m.n,
		a.freedom + max(m.n-1, 0), a.segments + arith.One(m.n > 0), a.alike, a.alone}
}

// logE returns the logarithm of the e-value of a change between two neighboring segments: the Bayes
// factor of Student's two-sample statistic with the right Haar prior of the common mean and
// variance, and a normal mixture of variance spread of the standardized difference (Gönen et al.
// 2005; as a function of the number of points after the change it is a test martingale, Hendriksen
// et al. 2021). The variance is at least what the differences between executions explain.
func logE(a past, before, after moments, floor float64) float64 {
	if before.n == 0 || after.n == 0 {
		return 0
	}
	all := a.with(before).with(after)
	freedom := float64(all.freedom)
	if freedom <= 0 {
		return 0
	}
	if !a.alone {
		freedom *= (1 - a.alike*a.alike) / (1 + a.alike*a.alike)
	}
	d, size := contrast(before, after, a.alike, a.alone)
	square := freedom * all.variance(floor)
	w := 1 + size*spread
	if square == 0 {
		if d == 0 {
			return 0
		}
		return (freedom+1)/2*math.Log(w) - math.Log(w)/2
	}
	u := d * d * size / square // t²/freedom
	return -math.Log(w)/2 + (freedom+1)/2*(math.Log1p(u)-math.Log1p(u/w))
}

// contrast returns the difference of the means of two segments, and its weight: that of all points
// or, if it is known better so, of those of the newest machine. long: as little is known, as if all
// segments were long.
func contrast(before, after moments, alike float64, long bool) (d, weight float64) {
	variance := func(n int, weight float64) float64 {
		if long {
			return inflation(math.Inf(1), alike) / weight
		}
		return inflation(float64(n), alike) / weight
	}
	seam := before.offset - after.offset
	all := variance(before.n, before.weight) + variance(after.n, after.weight) + seam*seam
	if a, b := before.own, after.own; seam != 0 && a.n > 0 && b.n > 0 {
		if own := variance(a.n, a.weight) + variance(b.n, b.weight); own < all {
			return b.mean - a.mean, 1 / own
		}
	}
	return after.mean - before.mean, 1 / all
}

// spread is the variance of the mixture of standardized changes in logE. It affects how early
// changes of which size are found, not the rate of false alerts (docs/history.md).
const spread = 4

// found is a change that run has found.
type found struct {
	at     int     // first point after the change
	when   int     // point with which it was found
	logSum float64 // evidence: logarithm of the sum of the e-values
	group  int     // 1 + the version of the change of the group that the key joined; 0: none
}

// window bounds how many points back a change is looked for, so that the time that a version needs
// does not grow with the history. A subset of the e-values has at most their sum.
const window = 100

// detector looks for changes of a key, one point after the other. What it finds up to a point
// depends on no later point.
type detector struct {
	key             int     // index of the key
	all             []point // of the key: those that are to be looked at, and those that were disturbed
	points, clipped []point // as measured, and as clip bounds them
	list            []found // in the order in which they were found
	places          []place // what the last point shows: the evidence of a change at each point

	earlier     past
	alike       neighbors
	others      similar // what is known of the other keys
	begin, from int     // of the segment; first point at which a change is looked for
}

// next adds a point, and returns where a change most probably happened, with the logarithm of the
// sum of the evidence.
func (d *detector) next(p point) (at int, sum float64) {
	t := len(d.points)
	d.points = append(d.points, p)
	p.x = clip(d.points[d.begin:t], p)
	d.clipped = append(d.clipped, p)
	at, sum = d.look(d.earlier)
	drifting := d.earlier
	drifting.alike = d.alike.with(d.points[d.begin:max(at, d.begin)]).near(d.others)
	drifting.alone = !d.others.known
	if sum >= math.Log(doubt) && drifting.alike > 0 {
		at, sum = d.look(drifting)
	}
	return at, sum
}

// doubt is the evidence from which on it matters whether a key drifts.
const doubt = 10

// change begins a segment at a point, because the last point has shown a change there.
func (d *detector) change(at int, sum float64) {
	t := len(d.points) - 1
	d.alike = d.alike.with(d.points[d.begin:at])
	d.list = append(d.list, found{at: at, when: t, logSum: sum})
	d.earlier = d.earlier.with(sumOf(d.clipped[d.begin:at]))
	d.begin, d.from, d.places = at, t+1, nil
	copy(d.clipped[at:], d.points[at:])
}

// The values of clip, chosen by simulation (docs/history.md).
const (
	clipAt     = 5  // standard deviations
	clipFewest = 6  // points; with fewer nothing is known about their distribution
	clipMost   = 50 // points that are considered
)

// clip returns the value of a point, bounded by other points of its segment (for run, those before
// it): their median plus and minus five standard deviations, estimated by the median absolute
// deviation. So a version that was disturbed does not hide the changes of many later ones.
func clip(segment []point, p point) float64 {
	if len(segment) < clipFewest {
		return p.x
	}
	segment = segment[max(0, len(segment)-clipMost):]
	values := make([]float64, len(segment))
	noise := 0.0
	for i, q := range segment {
		values[i] = q.x
		noise += q.weight * q.noise / float64(len(segment))
	}
	middle, sd := center(values)
	scale := max(sd, math.Sqrt(max(noise, p.floor)))
	if scale == 0 { // all values have been equal, and nothing is known about their noise
		return p.x
	}
	scale *= clipAt / math.Sqrt(min(p.weight, 1))
	return min(max(p.x, middle-scale), middle+scale)
}

// sumOf returns the moments of points.
func sumOf(points []point) moments {
	var m moments
	for _, p := range points {
		m = m.with(p)
	}
	return m
}

// look returns the logarithm of the sum of the e-values of a change at each point of the segment
// from d.from on, and the point with the largest e-value.
//
// A change must be there without any single version after it: of the e-values with all of them,
// without the first, and without the one that lies farthest in the direction of the change, the
// smallest counts. It is at most the one without the first, which is a test martingale. The sum is
// at most what the order of the versions shows at one of the points: see order.
func (d *detector) look(earlier past) (at int, logSum float64) {
	points, raw := d.clipped, d.points
	last := len(points) - 1
	floor := points[last].floor
	before, after := sumOf(points[d.begin:]), moments{}
	high, low := last, last
	logSum, at = math.Inf(-1), last
	d.places = d.places[:0]
	largest, shown := math.Inf(-1), math.Inf(-1)
	for s := last; s > d.begin && s >= max(d.from, last-window); s-- {
		p := points[s]
		before, after = before.without(p), after.with(p)
		if p.x > points[high].x {
			high = s
		}
		if p.x < points[low].x {
			low = s
		}
		if after.n < 2 {
			continue
		}
		farthest := points[high]
		if after.mean < before.mean {
			farthest = points[low]
		}
		whole := logE(earlier, before, after, floor)
		e := min(whole, logE(earlier, before, after.without(p), floor),
			logE(earlier, before, after.without(farthest), floor))
		logSum = logAdd(logSum, e)
		if e > 0 {
			o := order(raw[d.begin:last+1], s-d.begin, (before.mean+after.mean)/2)
			shown, e = max(shown, o), min(e, o)
		}
		d.places = append(d.places, place{s, e})
		if whole > largest {
			largest, at = whole, s
		}
	}
	return at, min(logSum, shown)
}

// logAdd returns log(exp(a)+exp(b)).
func logAdd(a, b float64) float64 {
	if math.IsInf(a, -1) {
		return b
	}
	high, low := max(a, b), min(a, b)
	return high + math.Log1p(math.Exp(low-high))
}
