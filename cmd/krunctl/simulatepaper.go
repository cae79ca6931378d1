package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/optimize"
	"krund/internal/analysis/stability"
	"krund/internal/analysis/warmup"
	"krund/internal/analysis/warmupend"
	"krund/internal/exchange"
	"krund/internal/reading/experiment"
	"krund/internal/report"
)

// paperOptions select a paper's tables instead of the replay of [stop].
type paperOptions struct {
	paper, truth string
	stability    stabilityOptions
}

// The papers of --paper.
const (
	laaber  = "laaber"
	traini  = "traini"
	uoptime = "uoptime"
)

// injected is the value of --truth that makes series with known ends of warm-up.
const injected = "injected"

func (o *paperOptions) flags(f *pflag.FlagSet) {
	o.stability = stabilityOptions{p: stability.Default(), warmup: "5-50", executions: "2-5",
		bootstrap: "uniform", criteria: []string{"cv", "rciw", "kld"},
		input: experiment.Options{Column: dataset.Wall, Clean: true}}
	f.StringVar(&o.paper, "paper", "", "print the tables of a paper instead: laaber, traini or uoptime")
	f.StringVar(&o.truth, "truth", injected,
		"traini: where the steady state begins: a file of annotations, or injected")
	f.StringVar(&o.stability.profile, "profile", string(stability.Study),
		"laaber: rules: recommended, study, jmh or paper")
	f.StringVar(&o.stability.step, "step", "1s", "laaber, traini: a step, as in krunctl stability")
	f.DurationVar(&o.stability.batch, "batch", 0,
		"laaber, traini: recorded values are means of the calls in this time; 0: single calls")
}

// simulatePaper prints the tables of a paper for recorded experiments.
func (a *app) simulatePaper(args []string, o simulateOptions, f *pflag.FlagSet) error {
	s := &o.stability
	s.json, s.workers, s.p.Seed, s.input.Key = o.json, o.workers, o.seed, o.key
	if err := s.parse(f); err != nil {
		return usageError(err)
	}
	switch o.paper {
	case laaber:
		return a.laaberTables(args, *s)
	case traini:
		return a.trainiTables(args, o)
	case uoptime:
		list := optimizeOptions{json: o.json, changes: true, limit: optimize.DefaultChange, skip: "0",
			metric: string(optimize.RCIW3), input: s.input}
		if exchange.HasEnding(args[0], ".csv", ".csv.gz") { // Go, in the paper
			list.metric = string(optimize.RMAD)
		}
		list.search = optimize.Options{Threshold: optimize.DefaultThreshold,
			Accuracy: optimize.DefaultAccuracy, Level: optimize.DefaultLevel,
			Resamples: optimize.DefaultResamples, Seed: o.seed, Instances: 1,
			Steps: optimize.DefaultSteps, Outermost: 1, Workers: o.workers, Published: true}
		return a.optimize(args, list)
	}
	return usageError(fmt.Errorf("--paper %q: write laaber, traini or uoptime", o.paper))
}

// laaberTables prints Tables 2 and 3 of Laaber et al.
func (a *app) laaberTables(args []string, o stabilityOptions) error {
	var docs []*stability.Document
	judged := 0
	for _, arg := range args {
		in, err := a.reader(o.workers).Read(arg, o.input)
		if err != nil {
			return err
		}
		doc, err := a.judgeKeys(in.Data, o)
		if err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
		for _, problem := range doc.Problems {
			a.talk("%s: %s", arg, problem)
		}
		judged += count(doc.Keys, func(k stability.KeyDocument) bool { return k.Problem == "" })
		docs = append(docs, doc)
	}
	if judged == 0 {
		return fmt.Errorf("%w: no key has executions that are long enough; krunctl stability says why",
			errUnjudged)
	}
	if o.json {
		return a.printJSON(docs)
	}
	report.LaaberTables(a.stdout, o.parsed, docs)
	return nil
}

// trainiTables prints where policies end warm-up, beside the techniques of the annotations.
func (a *app) trainiTables(args []string, o simulateOptions) error {
	s := &o.stability
	if s.p.Step == stability.Auto {
		return usageError(errors.New("--step auto does not work with --paper traini; write a duration, or " +
			"a number of iterations"))
	}
	known, err := annotated(o.truth)
	if err != nil {
		return err
	}
	doc := &warmupend.Document{Format: warmupend.Format, Sources: args, Step: s.p.Step.String()}
	var list []warmupend.Execution
	for _, arg := range args {
		in, err := a.reader(o.workers).Read(arg, s.input)
		if err != nil {
			return err
		}
		own, err := knownStarts(in.Data, known, o.workers)
		if err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
		list = append(list, own...)
	}
	if len(list) == 0 {
		return fmt.Errorf("%w: no execution has a known steady state", errUnjudged)
	}
	add := func(truth string, list []warmupend.Execution, others []warmupend.Row) error {
		rows, short, err := warmupend.Of(list, s.p, o.workers)
		doc.Truths = append(doc.Truths, warmupend.Truth{Truth: truth, Short: short,
			Rows: slices.Concat(others, rows)})
		return err
	}
	if known != nil {
		err = add("Annotations of "+o.truth, list, known.techniques(list))
	}
	for _, height := range warmupend.Heights {
		if err == nil && known == nil {
			err = add("Injected: the first iterations take "+strconv.Itoa(int(100*height))+" % longer",
				warmupend.Inject(list, height, s.p, o.seed), nil)
		}
	}
	if err != nil {
		return err
	}
	if o.json {
		return a.printJSON(doc)
	}
	report.WarmupEnds(a.stdout, doc)
	return nil
}

// fork names an annotated execution.
type fork struct {
	benchmark string
	number    int
}

// annotations are the forks of a file of annotations.
type annotations struct {
	rows  []exchange.SteadyState
	start map[fork]int // of the steady state; -1: none
}

// annotated reads annotations; nil for injected steps.
func annotated(truth string) (*annotations, error) {
	if truth == injected {
		return nil, nil //nolint:nilnil // nothing is annotated
	}
	rows, err := exchange.ReadSteadyStatesFile(truth)
	if err != nil {
		return nil, err
	}
	n := &annotations{rows: rows, start: map[fork]int{}}
	for i, s := range rows {
		rows[i].Benchmark = exchange.PlainName(s.Benchmark) // as in keys
		at := fork{rows[i].Benchmark, s.Number}
		if n.start[at] = -1; s.Steady {
			n.start[at] = s.Start
		}
	}
	return n, nil
}

// techniques returns what the techniques in the file do, of all forks and of the executions here.
func (n *annotations) techniques(list []warmupend.Execution) []warmupend.Row {
	here := map[fork]bool{}
	for _, e := range list {
		here[fork{e.Key, e.Number}] = true
	}
	var rows []warmupend.Row
	for _, which := range []string{", whole file", ", these"} {
		from := len(rows)
		for _, s := range n.rows {
			if !s.Steady || s.Technique == "" || from > 0 && !here[fork{s.Benchmark, s.Number}] {
				continue
			}
			name := s.Technique + which
			at := slices.IndexFunc(rows, func(r warmupend.Row) bool { return r.Policy == name })
			if at < 0 {
				at = len(rows)
				rows = append(rows, warmupend.Row{Policy: name})
			}
			rows[at].Count(s.Seconds, warmupend.IsOff(s.Low, s.High))
		}
	}
	return rows
}

// knownStarts returns the executions whose steady state is known: from annotations, or if they are
// nil from the analysis.
func knownStarts(d *dataset.Dataset, known *annotations, workers int) ([]warmupend.Execution, error) {
	var list []warmupend.Execution
	for i := range d.Pairs {
		series := warmup.SeriesOf(&d.Pairs[i], dataset.Wall)
		for k, values := range series.Series {
			e := warmupend.Execution{Key: series.Key.Benchmark, Number: series.Numbers[k], Values: values,
				Start: -1}
			if known != nil {
				if at, ok := known.start[fork{e.Key, e.Number}]; ok {
					e.Start = at
				}
			}
			list = append(list, e)
		}
	}
	if known == nil {
		if err := warmupend.FindStarts(list, workers); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(list, func(e warmupend.Execution) bool {
		return e.Start < 0 || e.Start >= len(e.Values)
	}), nil
}
