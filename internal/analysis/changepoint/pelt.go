package changepoint

// newSolution initializes the prefixes that are too short to be divided.
func newSolution(c cost, n, minimum int, penalty float64) *solution {
	s := &solution{penalty: penalty, f: make([]float64, n+1), last: make([]int32, n+1)}
	s.f[0] = -penalty
	for t := minimum; t < 2*minimum; t++ {
		s.f[t] = c.segment(0, t)
	}
	return s
}

// solution is a finished run: the optimal cost of every prefix and the start of its last segment.
type solution struct {
	penalty float64
	f       []float64
	last    []int32
}

// ends backtracks from n and returns the end of each segment, ascending, n included.
func (s *solution) ends() []int {
	count := 0
	for t := len(s.last) - 1; t > 0; t = int(s.last[t]) {
		count++
	}
	ends := make([]int, count)
	for t := len(s.last) - 1; t > 0; t = int(s.last[t]) {
		count--
		ends[count] = t
	}
	return ends
}
