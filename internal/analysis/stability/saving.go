package stability

// Saving is the time that dynamic reconfiguration saves of a suite with steps of a second, as the
// paper counts (RQ 2): each executed warm-up step takes 1+overhead seconds, each measured one a
// second.
type Saving struct {
	Total, Full float64 // seconds, dynamic and full
}

// Part is 1 - Total/Full; NaN when nothing was added.
func (s Saving) Part() float64 { return 1 - s.Total/s.Full }

// Add counts a benchmark that ran an execution for each of warmups, of so many steps, and measure
// steps in each; in full it has executions with warmup and measureFull steps.
func (s *Saving) Add(warmups []int, measure int, overhead float64, executions, warmup, measureFull int) {
	for _, n := range warmups {
		s.Total += (1+overhead)*float64(n) + float64(measure)
	}
	s.Full += float64(executions * (warmup + measureFull))
}
