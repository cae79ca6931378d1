package stability

// Saving is the time that dynamic reconfiguration saves in a suite with steps of one second, by the
// paper's accounting (RQ 2): each executed warm-up step takes 1+overhead seconds, each measured one
// a second.
type Saving struct {
	Total float64 `json:"total_s"` // of the shortened experiment
	Full  float64 `json:"full_s"`
}

// Part is 1 - Total/Full; NaN when nothing was added.
func (s Saving) Part() float64 { return 1 - s.Total/s.Full }

// Add adds a benchmark that ran one execution per element of warmups, the number of its warm-up
// steps, with measure steps in each; the full experiment has executions with warmup and measureFull
// steps.
func (s *Saving) Add(warmups []int, measure int, overhead float64, executions, warmup, measureFull int) {
	for _, n := range warmups {
		s.Total += (1+overhead)*float64(n) + float64(measure)
	}
	s.Full += float64(executions * (warmup + measureFull))
}
