package optimize

import "fmt"

// Evaluate returns the result of a configuration for the benchmark with the index i, and reports
// whether it is stable with an average within the accuracy of the full one. It is for a
// configuration that several benchmarks share. Repetitions beyond those measured are ignored. The
// errors are those of Optimize.
func Evaluate(s *Suite, i int, at Position, o Options) (c Choice, good bool, err error) {
	if o, err = o.Complete(); err != nil {
		return c, false, err
	}
	if i < 0 || i >= len(s.Benchmarks) {
		return c, false, fmt.Errorf("%w: benchmark %d of %d", ErrOptions, i, len(s.Benchmarks))
	}
	if err := s.Check(); err != nil {
		return c, false, err
	}
	for k, full := range s.Benchmarks[i].Full {
		at[k] = min(max(at[k], 1), full)
	}
	search := newSearch(s, i, o)
	c = search.choice(at)
	full := search.estimate(s.Benchmarks[i].Full, needs{})
	good = search.stable(c.Metric(o.Metric)) && search.near(c.Summary(o.Metric).Average,
		full.Summary(o.Metric).Average)
	return c, good, nil
}
