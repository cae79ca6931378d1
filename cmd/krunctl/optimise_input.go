package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strconv"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/optimise"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/exchange"
)

// suite reads an argument of optimise: a result file of µOpTime, or anything
// that analyze reads.
func (a *app) suite(arg string, o optimiseOptions) (*optimise.Suite, error) {
	if !a.isExperiment(arg) {
		s, err := a.uoptimeFile(arg)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arg, err)
		}
		if s != nil && o.input.key != "" {
			return nil, usageError{fmt.Errorf("--key: %s is of µOpTime, whose benchmarks have no benchmark:vm:variant", arg)}
		}
		if s != nil {
			return s, o.fitUOpTime(s)
		}
	}
	d, reading, warnings, err := a.suiteData(arg, o)
	if err != nil {
		return nil, err
	}
	s, err := optimise.FromDataset(d, reading)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", arg, err)
	}
	s.Warnings = append(s.Warnings, warnings...)
	return s, someKeys(s)
}

// suiteRuns reads the parts of one experiment.
func (a *app) suiteRuns(args []string, o optimiseOptions) (*optimise.Suite, error) {
	if o.skip == skipSteady {
		return nil, usageError{errors.New("--skip steady looks at each file for itself; with --suite-runs write a number")}
	}
	var runs []*dataset.Dataset
	var reading optimise.Reading
	for _, arg := range args {
		d, r, _, err := a.suiteData(arg, o)
		if err != nil {
			return nil, err
		}
		runs, reading = append(runs, d), r
	}
	s, err := optimise.FromDatasets(runs, reading)
	if err != nil {
		return nil, err
	}
	return s, someKeys(s)
}

// someKeys refuses a source without any value.
func someKeys(s *optimise.Suite) error {
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
	return fmt.Errorf("%s: there are no executions to look at", s.Source)
}

// suiteData reads what analyze reads.
func (a *app) suiteData(arg string, o optimiseOptions) (d *dataset.Dataset, r optimise.Reading, warnings []string, err error) {
	in, err := a.analysisInput(arg, o.input)
	if err != nil {
		return nil, r, nil, err
	}
	r = optimise.Reading{Column: o.input.column, Seconds: o.iterationTime.Seconds()}
	if perOperation := in.data.Format == exchange.FormatGo || in.data.Format == exchange.FormatJMH; perOperation && r.Seconds == 0 {
		r.Seconds = 1 // the default of go test; the values do not tell
	}
	n, steady, err := o.skipped()
	switch {
	case err != nil:
		return nil, r, nil, usageError{err}
	case steady:
		if r.Skip, warnings, err = a.beforeSteady(arg, o.input.key); err != nil {
			return nil, r, nil, err
		}
	case n > 0:
		r.Skip = func(string) int { return n }
	}
	return in.data, r, warnings, nil
}

// skipSteady is the text of --skip for what comes before the steady state.
const skipSteady = "steady"

// skipped reads --skip.
func (o *optimiseOptions) skipped() (n int, steady bool, err error) {
	if o.skip == skipSteady {
		return 0, true, nil
	}
	n, err = strconv.Atoi(o.skip)
	if err != nil || n < 0 {
		return 0, false, fmt.Errorf("--skip %q: a number of iterations, or %s", o.skip, skipSteady)
	}
	return n, false, nil
}

// beforeSteady gives the iterations before the steady state of each key: the
// most of its executions.
func (a *app) beforeSteady(arg, keys string) (func(string) int, []string, error) {
	_, doc, err := a.analysed(arg, keys)
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
			warnings = append(warnings, fmt.Sprintf("%s: %s without a steady state; nothing of them is skipped for it", name, display.Count(without, "execution")))
		}
	}
	return func(key string) int { return skip[key] }, warnings, nil
}

// warmupOf is the most iterations that an execution needed to get steady, and
// how many executions never did.
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

// mostUnpacked is how many bytes a packed file of µOpTime may have.
const mostUnpacked = 2 << 30

// uoptimeFile reads a result file of µOpTime, also compressed; nil when the
// file is something else.
func (a *app) uoptimeFile(name string) (s *optimise.Suite, err error) {
	file, err := durable.OpenUserFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	defer func() { err = firstOf(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	from := durable.NewPackedInput(file, info.Size())
	head, err := from.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	in := bufio.NewReaderSize(from, exchange.SniffSize)
	packed := bytes.Equal(head, []byte{0x1f, 0x8b})
	if packed {
		z, err := gzip.NewReader(from)
		if err != nil {
			return nil, fmt.Errorf("unpack it: %w", err)
		}
		in = bufio.NewReaderSize(from.Bound(z, mostUnpacked), exchange.SniffSize)
	}
	if head, err = in.Peek(exchange.SniffSize); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	if !exchange.IsUOpTime(head) {
		if packed {
			return nil, usageError{errors.New("it is compressed, and no result file of µOpTime; unpack it first (gzip -d)")}
		}
		return nil, nil
	}
	s, err = exchange.ReadUOpTime(in)
	if size := (*durable.UnpackError)(nil); errors.As(err, &size) {
		return nil,
			fmt.Errorf("read the results: %w; if you trust it, unpack it (gzip -d) and name what comes out", size)
	}
	if err != nil {
		return nil, err
	}
	s.Source = name
	return s, nil
}

// fitUOpTime applies the options that also are about files of µOpTime, and
// refuses the others.
func (o *optimiseOptions) fitUOpTime(s *optimise.Suite) error {
	if o.skip != "0" {
		return usageError{errors.New("--skip: files of µOpTime have no iterations in order")}
	}
	if o.iterationTime > 0 {
		for i := range s.Benchmarks {
			s.Benchmarks[i].Seconds = o.iterationTime.Seconds()
		}
	}
	return nil
}
