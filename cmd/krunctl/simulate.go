package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/optimize"
	"krund/internal/analysis/sequential"
	"krund/internal/analysis/stability"
	"krund/internal/analysis/warmupend"
	"krund/internal/exchange"
	"krund/internal/reading/experiment"
	"krund/internal/reading/replay"
	"krund/internal/report"
)

type simulateOptions struct {
	format     string
	policies   []string
	halfWidths []float64
	identical  int
	seed       uint64
	key        string
	policy     sequential.Policy
	paperOptions
}

func simulateCommand(a *app) *cobra.Command {
	var o simulateOptions
	c := &cobra.Command{
		Use:   "simulate DIR|NAME.toml|FILE...",
		Short: "What would stopping early have saved?",
		Args:  arguments(1, 1000, "experiments or files of results"),
		RunE: func(c *cobra.Command, args []string) error {
			if o.paper != "" {
				return a.simulatePaper(args, o, c.Flags())
			}
			return a.simulate(args, o)
		},
	}
	f := c.Flags()
	formatFlag(f, &o.format, "text", "json")
	f.StringSliceVar(&o.policies, "policy", []string{"halfwidth"}, "policies to replay")
	f.Float64SliceVar(&o.halfWidths, "halfwidth", []float64{0.01, 0.02, 0.03, 0.05, 0.1},
		"wanted half widths of the interval of the level, relative: 0.01 is ± 1 %")
	f.IntVar(&o.policy.Minimum, "minimum", 3, "executions of each key before it may be finished, at least 3")
	f.Float64Var(&o.policy.Alpha, "alpha", 0.05, "error of the statements, above 0 and below 1")
	f.Float64Var(&o.policy.Margin, "margin", 0.01, "smallest change that counts: 0.01 is 1 %")
	f.IntVar(&o.policy.Keep, "keep", 0, "measure every so many keys to the end, and the others, too, "+
		"once these show that the machine has changed; 0: none")
	f.IntVar(&o.identical, "identical", 0, "number of tables of identical code; 0: none")
	f.Uint64Var(&o.seed, "seed", 1, "seed of --identical and --paper")
	o.paperOptions.flags(f)
	ruleFlag(f, "seed", "minimum", "alpha", "margin", "keep", "truth", "profile", "step", "batch")
	a.keyFlag(c, &o.key)
	return c
}

func (o simulateOptions) check() error {
	inside := func(v float64) bool { return v > 0 && v < 1 }
	const most = 100_000
	switch {
	case o.policy.Minimum < 3: // as in [stop]
		return errors.New("--minimum must be at least 3")
	case !inside(o.policy.Alpha) || !inside(o.policy.Margin):
		return errors.New("--alpha and --margin must be above 0 and below 1")
	case len(o.halfWidths) == 0 || len(o.policies) == 0:
		return errors.New("--halfwidth and --policy need a value")
	case o.policy.Keep < 0:
		return errors.New("--keep must be a number of keys, or 0")
	case o.identical < 0 || o.identical > most:
		return fmt.Errorf("--identical must be 0 to %d", most)
	}
	for _, h := range o.halfWidths {
		if !inside(h) {
			return errors.New("--halfwidth must be above 0 and below 1")
		}
	}
	return nil
}

func (a *app) simulate(args []string, o simulateOptions) error {
	if err := o.check(); err != nil {
		return usageError(err)
	}
	replays, err := replay.Policies(o.policies, o.policy, o.halfWidths, a.fsys, args[0], a.host)
	if err != nil {
		return err
	}
	var groups []sequential.Group
	for _, arg := range args {
		own, err := replay.Recorded(a.reader(runtime.NumCPU()), arg, o.key)
		if err != nil {
			return err
		}
		groups = append(groups, own...)
	}
	groups = slices.DeleteFunc(groups, func(g sequential.Group) bool { return len(g[0].Executions) < 2 })
	if len(groups) == 0 {
		return fmt.Errorf("%w: no key has two completed executions", errUnjudged)
	}
	s := &sequential.Simulation{Format: 1, Sources: args, Minimum: o.policy.Minimum, Alpha: o.policy.Alpha,
		Margin: o.policy.Margin, Keep: o.policy.Keep}
	for _, r := range replays {
		s.Replays = append(s.Replays, sequential.ReplayOf(groups, r.Policy, r.Settings))
	}
	if o.identical > 0 {
		s.Identical = sequential.IdenticalOf(groups, o.policy, o.identical, o.seed)
	}
	return a.answer(o.format, s, func() { report.SimulateText(a.stdout, s) })
}

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
		judged += count(doc.Keys, func(k stability.KeyResult) bool { return k.Problem == "" })
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
