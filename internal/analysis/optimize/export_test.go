package optimize

// EstimateAt estimates one configuration of a benchmark, without intervals.
func EstimateAt(s *Suite, name string, at Position) (e Estimate, ok bool) {
	o, err := Options{}.Complete()
	if err != nil {
		return e, false
	}
	for i := range s.Benchmarks {
		if s.Benchmarks[i].Name == name {
			return newSearch(s, i, o).estimate(at, needs{}), true
		}
	}
	return e, false
}
