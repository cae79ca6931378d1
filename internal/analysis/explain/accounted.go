package explain

// spending has the time that a source took in the iterations that are no outliers, as the means of
// segments leave those out.
type spending struct {
	time, usual []float64 // sums before each iteration: nanoseconds, number
}

// spendingIn returns nil if the times of the source in execution e are unknown.
func (s *source) spendingIn(e int, r *run) *spending {
	spent := s.runs[e].spent
	if spent == nil || !r.seconds {
		return nil
	}
	if s.spending == nil {
		s.spending = make([]*spending, len(s.runs))
	}
	if s.spending[e] == nil {
		p := &spending{make([]float64, r.n+1), make([]float64, r.n+1)}
		next := 0
		for i, v := range spent {
			p.time[i+1], p.usual[i+1] = p.time[i]+v, p.usual[i]+1
			if next < len(r.targets[Outliers]) && r.targets[Outliers][next] == i {
				p.time[i+1], p.usual[i+1] = p.time[i], p.usual[i]
				next++
			}
		}
		s.spending[e] = p
	}
	return s.spending[e]
}

// mean is the time per iteration in [from, to), 0 if it has none.
func (p *spending) mean(from, to int) float64 {
	from, to = max(from, 0), min(to, len(p.time)-1)
	if from >= to || p.usual[to] == p.usual[from] {
		return 0
	}
	return (p.time[to] - p.time[from]) / (p.usual[to] - p.usual[from])
}

// around returns the times per iteration before and after changepoint c, in its segments.
func (r *run) around(p *spending, c int) (before, after float64) {
	a, b := r.lengths(c)
	return p.mean(c-a, c), p.mean(c, c+b)
}

// accounted is probe for the feature Time: whether the time that the source takes per iteration
// changes by at least leastTime of what the iterations change at changepoint k.
func (t *test) accounted(runs []*run, e, k int) func(x, i int) float64 {
	r := runs[e]
	c := r.targets[t.target][k]
	before, after := r.lengths(c)
	change := 1e9 * (r.segment(c).Mean - r.segment(c-1).Mean)
	return func(x, i int) float64 {
		p := t.source.spendingIn(x, runs[x])
		if p == nil || change == 0 {
			return 0
		}
		share := func(i int) float64 { return (p.mean(i, i+after) - p.mean(i-before, i)) / change }
		if share(i) < leastTime {
			return 0
		}
		return largest(i, share)
	}
}
