package explain

import "math"

const (
	// besideFar is how many iterations before and after an outlier count as beside it, besideNear
	// how many of them its hits are compared with. Those count for the feature Around, too: more
	// find longer bursts and lose those of shortBurst.
	besideFar, besideNear = 10, 2
	// shortBurst is the number of iterations of the shortest burst that is told from a cause. Of
	// the hits at distances of at most besideNear from a place in such a burst, a share of 1/(1 +
	// 2*4/5 + 2*3/5) is at the place itself, and less in a longer one.
	shortBurst = 5
	// signAlpha is the error of the sign test. It is smaller than that of the shares, because a
	// candidate was chosen for its hits, which move the sign test in short series.
	signAlpha = 0.001
)

// beside compares what outliers have with what the iterations around them have.
type beside struct {
	at    int // outliers with the feature, of which an iteration around them lacks it
	only  int // outliers without the feature, but with an iteration around them that has it
	hits  int // outliers with the feature
	close int // iterations at distances of at most besideNear that have it
}

// beside counts at the targets that no statement explains yet. A long outlier is compared with as
// many successive iterations, next to it and without it.
func (s *study) beside(t *test) beside {
	var b beside
	s.eachOpen(t.target, func(e, k int) {
		r := s.runs[e]
		own, probe := r.targets[t.target][k], t.probe(s.runs, e, k)
		width := r.width(r.longer(t.source, e, own))
		with, without := 0, 0
		for d := 1; d <= besideFar; d++ {
			for _, i := range [2]int{own + d, own - width + 1 - d} {
				switch {
				case i < 0 || i+width > r.n:
				case probe(e, i) == 0:
					without++
				default:
					with++
					if d <= besideNear {
						b.close++
					}
				}
			}
		}
		switch hit := probe(e, own) > 0; {
		case hit:
			b.hits++
			if without > 0 {
				b.at++
			}
		case with > 0:
			b.only++
		}
	})
	return b
}

// inBursts reports whether the feature may be at outliers only because it comes at the same time:
// because something else brings both, for some iterations. It is in the very iteration if no
// outlier has it only beside it; if more have it than have it only beside them (sign test: in a
// common burst both are equally probable where half of the iterations have the feature); or if it
// is more frequent at outliers than a burst of shortBurst iterations could make it in comparison
// with the iterations next to them. The latter finds the cause of some outliers among others.
func (b beside) inBursts(alpha float64) bool {
	nearby := 0.0
	for d := 1; d <= besideNear; d++ {
		nearby += 2 * float64(shortBurst-d) / shortBurst
	}
	return b.only > 0 && atLeast(b.at, b.at+b.only, 0.5) > signAlpha &&
		atLeast(b.hits, b.hits+b.close, 1/(1+nearby)) > alpha
}

// atLeast is the probability of k or more of n, each with probability p.
func atLeast(k, n int, p float64) float64 {
	sum := 0.0
	all, _ := math.Lgamma(float64(n + 1))
	for i := k; i <= n; i++ {
		these, _ := math.Lgamma(float64(i + 1))
		others, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(all - these - others + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return min(1, sum)
}
