package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/optimize"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
	"krund/internal/exchange"
)

// SuiteOptions select what to read from the arguments of optimize.
type SuiteOptions struct {
	Selection
	Skip    Skip
	Seconds float64 // duration of an iteration; 0: as measured
}

// Skip selects the iterations to skip at the start of each execution. The zero value skips none.
type Skip struct {
	Iterations int
	Steady     bool // those before the steady state
}

// ParseSkip parses a number of iterations, or "steady".
func ParseSkip(s string) (Skip, error) {
	if s == "steady" {
		return Skip{Steady: true}, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return Skip{}, fmt.Errorf("%q must be a number of iterations, or steady", s)
	}
	return Skip{Iterations: n}, nil
}

// Suite reads an argument of optimize: a result file of µOpTime, or anything that Read reads.
func (r Reader) Suite(arg string, o SuiteOptions) (*optimize.Suite, error) {
	if !r.IsExperiment(arg) {
		s, err := exchange.ReadUOpTimeFile(arg)
		if err != nil {
			return nil, err
		}
		if s != nil {
			return s, o.fit(s)
		}
	}
	d, reading, warnings, err := r.suiteData(arg, o)
	if err != nil {
		return nil, err
	}
	s, err := optimize.FromDataset(d, reading)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", arg, err)
	}
	s.Warnings = append(s.Warnings, warnings...)
	return s, requireValues(s)
}

// fit applies the options to a suite of µOpTime, and rejects those that do not apply to it.
func (o SuiteOptions) fit(s *optimize.Suite) error {
	if o.Key != "" {
		s.Benchmarks = slices.DeleteFunc(s.Benchmarks,
			func(b optimize.Benchmark) bool { return b.Name != o.Key })
		if len(s.Benchmarks) == 0 {
			return UsageError{fmt.Errorf("--key: %s has no benchmark %q; in a file of µOpTime, write its "+
				"whole name", s.Source, o.Key)}
		}
	}
	if o.Skip != (Skip{}) {
		return UsageError{errors.New("--skip: files of µOpTime have no iterations in order")}
	}
	if o.Seconds > 0 {
		for i := range s.Benchmarks {
			s.Benchmarks[i].Seconds = o.Seconds
		}
	}
	return nil
}

// requireValues returns an error for a suite without values.
func requireValues(s *optimize.Suite) error {
	for i := range s.Benchmarks {
		if len(s.Benchmarks[i].Rows) > 0 {
			return nil
		}
	}
	for _, b := range s.Benchmarks {
		for _, w := range b.Warnings {
			return fmt.Errorf("%s: no execution can be used: %s: %s", s.Source, b.Name, w)
		}
	}
	return fmt.Errorf("%s: there are no executions", s.Source)
}

func (r Reader) suiteData(arg string, o SuiteOptions) (*dataset.Dataset, optimize.Reading, []string, error) {
	how := optimize.Reading{Column: o.Column, Seconds: o.Seconds}
	o.Clean = true
	in, err := r.Read(arg, o.Selection)
	if err != nil {
		return nil, how, nil, err
	}
	perOperation := in.Data.Format == exchange.FormatGo || in.Data.Format == exchange.FormatJMH
	if perOperation && how.Seconds == 0 {
		how.Seconds = 1 // the default of go test; the file does not contain it
	}
	var warnings []string
	switch {
	case o.Skip.Steady:
		how.Skip, warnings, err = r.beforeSteady(arg, o.Key)
	case o.Skip.Iterations > 0:
		how.Skip = func(string) int { return o.Skip.Iterations }
	}
	return in.Data, how, warnings, err
}

// beforeSteady returns the number of iterations before the steady state of each key: the maximum
// over its executions.
func (r Reader) beforeSteady(arg, keys string) (func(string) int, []string, error) {
	_, doc, err := r.Analyzed(arg, keys, nil)
	if err != nil {
		return nil, nil, err
	}
	skip := map[string]int{}
	var warnings []string
	for i := range doc.Pairs {
		p := &doc.Pairs[i]
		name := p.ParsedKey().String()
		n, without := warmupOf(p)
		skip[name] = n
		if without > 0 {
			warnings = append(warnings, fmt.Sprintf("%s: %s without a steady state; they skip nothing",
				name, display.Count(without, "execution")))
		}
	}
	return func(key string) int { return skip[key] }, warnings, nil
}

// warmupOf returns the maximum number of iterations before the steady state, and the number of
// executions without a steady state.
func warmupOf(p *warmup.Pair) (n, without int) {
	for i := range p.Executions {
		e := &p.Executions[i]
		switch {
		case e.Status != warmup.Analysed:
		case e.Steady == nil:
			without++
		case e.Classification != classify.Flat:
			n = max(n, e.Steady.Iteration-1)
		}
	}
	return n, without
}
