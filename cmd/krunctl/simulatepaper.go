package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/optimize"
	"krund/internal/analysis/stability"
	"krund/internal/analysis/warmupend"
	"krund/internal/exchange"
	"krund/internal/reading/experiment"
	"krund/internal/reading/replay"
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

func (o *paperOptions) flags(f *pflag.FlagSet) {
	o.stability = stabilityOptions{p: stability.Default(), warmup: "5-50", executions: "2-5",
		bootstrap: "uniform", criteria: []string{"cv", "rciw", "kld"},
		input: experiment.Selection{Column: dataset.Wall, Clean: true}}
	f.StringVar(&o.paper, "paper", "", "print the tables of a paper instead: laaber, traini or uoptime")
	f.StringVar(&o.truth, "truth", replay.Injected,
		"traini: where the steady state begins: a file of annotations, or injected")
	f.StringVar(&o.stability.profile, "profile", string(stability.Study),
		"laaber: rules: recommended, study, jmh or paper")
	f.StringVar(&o.stability.step, "step", "1s", "laaber, traini: a step, as in krunctl enough stability")
	f.DurationVar(&o.stability.batch, "batch", 0,
		"laaber, traini: recorded values are means of the calls in this time; 0: single calls")
}

// simulatePaper prints the tables of a paper for recorded experiments.
func (a *app) simulatePaper(args []string, o simulateOptions, f *pflag.FlagSet) error {
	s := &o.stability
	s.format, s.p.Seed, s.input.Key = o.format, o.seed, o.key
	if err := s.parse(f); err != nil {
		return usageError(err)
	}
	switch o.paper {
	case laaber:
		return a.laaberTables(args, *s)
	case traini:
		return a.trainiTables(args, o)
	case uoptime:
		list := optimizeOptions{format: o.format, changes: true, limit: optimize.DefaultChange, skip: "0",
			metric: string(optimize.RCIW3), input: s.input}
		if exchange.HasEnding(args[0], ".csv", ".csv.gz") { // Go, in the paper
			list.metric = string(optimize.RMAD)
		}
		list.search = optimize.Options{Threshold: optimize.DefaultThreshold,
			Accuracy: optimize.DefaultAccuracy, Level: optimize.DefaultLevel,
			Resamples: optimize.DefaultResamples, Seed: o.seed, Instances: 1,
			Steps: optimize.DefaultSteps, Outermost: 1, Published: true}
		return a.optimize(args, list)
	}
	return usageError(fmt.Errorf("--paper %q: write laaber, traini or uoptime", o.paper))
}

// laaberTables prints Tables 2 and 3 of Laaber et al.
func (a *app) laaberTables(args []string, o stabilityOptions) error {
	var docs []*stability.Document
	judged := 0
	for _, arg := range args {
		in, err := a.reader(runtime.NumCPU()).Read(arg, o.input)
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
		return fmt.Errorf("%w: no key has executions that are long enough; krunctl enough stability says why",
			errUnjudged)
	}
	return a.answer(o.format, docs, func() { report.LaaberTables(a.stdout, o.parsed, docs) })
}

// trainiTables prints where policies end warm-up, beside the techniques of the annotations.
func (a *app) trainiTables(args []string, o simulateOptions) error {
	s := &o.stability
	if s.p.Step == stability.Auto {
		return usageError(errors.New("--step auto does not work with --paper traini; write a duration, or " +
			"a number of iterations"))
	}
	known, err := replay.Annotated(o.truth)
	if err != nil {
		return err
	}
	doc := &warmupend.Document{Format: warmupend.Format, Sources: args, Step: s.p.Step.String()}
	var list []warmupend.LabeledSeries
	for _, arg := range args {
		in, err := a.reader(runtime.NumCPU()).Read(arg, s.input)
		if err != nil {
			return err
		}
		own, err := replay.KnownStarts(in.Data, known, runtime.NumCPU())
		if err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
		list = append(list, own...)
	}
	if len(list) == 0 {
		return fmt.Errorf("%w: no execution has a known steady state", errUnjudged)
	}
	add := func(truth string, list []warmupend.LabeledSeries, others []warmupend.Row) error {
		rows, short, err := warmupend.Of(list, s.p, runtime.NumCPU())
		doc.Truths = append(doc.Truths, warmupend.Truth{Truth: truth, Short: short,
			Rows: slices.Concat(others, rows)})
		return err
	}
	if known != nil {
		err = add("Annotations of "+o.truth, list, known.Techniques(list))
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
	return a.answer(o.format, doc, func() { report.WarmupEnds(a.stdout, doc) })
}
