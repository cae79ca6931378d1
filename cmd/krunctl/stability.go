package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"krund/internal/analysis/bootstrap"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/stability"
	"krund/internal/analysis/warmup"
	"krund/internal/exchange"
	"krund/internal/reading/experiment"
	"krund/internal/report"
	"krund/internal/report/console"
)

// stabilityOptions are the flags.
type stabilityOptions struct {
	criteria           []string
	format             string
	profile, step      string
	bootstrap          string
	warmup, executions string
	batch              time.Duration
	p                  stability.Parameters
	input              experiment.Selection
	parsed             []stability.Criterion
}

func stabilityCommand(a *app) *cobra.Command {
	o := stabilityOptions{p: stability.Default(), input: experiment.Selection{Column: dataset.Wall}}
	c := &cobra.Command{
		Use:   "stability DIR|NAME.toml|FILE...",
		Short: "Where could warm-up and executions have stopped by themselves?",
		Args:  arguments(1, 1000, "experiments or files of results"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.parse(c.Flags()); err != nil {
				return usageError(err)
			}
			return a.stability(args, o)
		},
	}
	o.flags(c.Flags())
	a.keyFlag(c, &o.input.Key)
	return c
}

func (o *stabilityOptions) flags(f *pflag.FlagSet) {
	p := &o.p
	formatFlag(f, &o.format, "text", "json", "csv")
	f.StringSliceVar(&o.criteria, "criterion", []string{"cv", "rciw", "kld"}, "criteria: cv, rciw, kld")
	f.Float64Var(&p.Threshold, "threshold", 0,
		"threshold of a single criterion (default cv 0.01, rciw 0.03, kld 0.99)")
	f.StringVar(&o.profile, "profile", string(stability.Recommended),
		"rules: recommended, study, jmh or paper")
	f.IntVar(&p.Window, "window", p.Window, "number of values of the criterion that must be stable")
	f.StringVar(&o.step, "step", "auto",
		"a step: a duration, or a number of iterations; auto: 1s, or less for short series")
	f.DurationVar(&o.batch, "batch", 0,
		"recorded values are means of the calls in this time; 0: single calls")
	f.StringVar(&o.warmup, "warmup", "5-50", "minimum and maximum steps of warm-up")
	f.IntVar(&p.Measure, "measure", p.Measure, "steps measured after warm-up")
	f.StringVar(&o.executions, "executions", "2-5", "minimum and maximum executions")
	f.IntVar(&p.Full, "full", p.Full,
		"steps that the full experiment measures after the longest warm-up; 0: all")
	f.IntVar(&p.Draws, "draws", p.Draws, "calls drawn from each step; 0: all calls, for cv only")
	f.IntVar(&p.Resamples, "resamples", p.Resamples, "bootstrap resamples of rciw")
	f.IntVar(&p.QualityResamples, "ratio-resamples", p.QualityResamples,
		"bootstrap resamples of the A/A test")
	f.Float64Var(&p.Confidence, "confidence", p.Confidence, "confidence level of both intervals")
	f.StringVar(&o.bootstrap, "bootstrap", bootstrap.Uniform.String(),
		"draws: uniform, or pa as in the paper's tool, including its errors")
	f.Float64Var(&p.Overhead, "overhead", p.Overhead,
		"time of the criterion relative to that of warm-up; negative: as measured in the paper")
	f.Uint64Var(&p.Seed, "seed", 1, "seed of the random numbers")
	namesFlags(f, &o.input.VM, &o.input.Variant)
	ruleFlag(f, "window", "warmup", "measure", "executions", "full", "threshold", "draws", "resamples",
		"ratio-resamples", "confidence", "bootstrap", "overhead", "seed", "vm", "variant")
}

// parse parses the flags into parameters.
func (o *stabilityOptions) parse(f *pflag.FlagSet) (err error) {
	p := &o.p
	for _, text := range o.criteria {
		c, err := stability.ParseCriterion(text)
		if err != nil {
			return fmt.Errorf("--criterion: %w", err)
		}
		o.parsed = append(o.parsed, c)
	}
	if f.Changed("threshold") && (len(o.parsed) != 1 || !(p.Threshold > 0)) {
		return errors.New("--threshold must be positive, and needs a single --criterion")
	}
	if p.Profile, err = stability.ParseProfile(o.profile); err != nil {
		return fmt.Errorf("--profile: %w", err)
	}
	if p.Step, err = stability.ParseLength(o.step); err != nil {
		return fmt.Errorf("--step: %w", err)
	}
	if p.Index, err = bootstrap.ParseIndex(o.bootstrap); err != nil {
		return fmt.Errorf("--bootstrap: %w", err)
	}
	if p.WarmupMin, p.WarmupMax, err = parseRange(o.warmup); err != nil {
		return fmt.Errorf("--warmup: %w", err)
	}
	if p.ExecutionsMin, p.ExecutionsMax, err = parseRange(o.executions); err != nil {
		return fmt.Errorf("--executions: %w", err)
	}
	p.Batch = o.batch.Seconds()
	if p.Draws == 0 {
		if len(o.parsed) != 1 || o.parsed[0] != stability.CV {
			return errors.New("--draws 0 works only for cv; add --criterion cv")
		}
		p.Exact, p.Draws = true, stability.Default().Draws
	}
	return p.Check()
}

// parseRange reads "5-50".
func parseRange(text string) (low, high int, err error) {
	first, last, found := strings.Cut(text, "-")
	low, err = strconv.Atoi(first)
	high, err2 := strconv.Atoi(last)
	if !found || err != nil || err2 != nil || low < 1 || high < low {
		return 0, 0, fmt.Errorf("%q is not a minimum and a maximum, such as 5-50", text)
	}
	return low, high, nil
}

func (a *app) stability(args []string, o stabilityOptions) error {
	look := func(d *dataset.Dataset) (*stability.Document, error) { return a.judgeKeys(d, o) }
	return lookAtEach(a, args, o.input, look, printing[*stability.Document]{
		json: o.format == "json", csv: o.format == "csv", rows: report.StabilityRows,
		table: func(doc *stability.Document) { report.StabilityText(a.stdout, doc) },
	}, func(doc *stability.Document) int {
		return count(doc.Keys, func(k stability.KeyResult) bool { return k.Problem == "" })
	})
}

// judgeKeys shows the progress of stability.JudgeKeys, and adds a problem if the recorded values
// are means that were treated as single calls.
func (a *app) judgeKeys(d *dataset.Dataset, o stabilityOptions) (*stability.Document, error) {
	bar := console.NewProgress(a.stderr, a.now, d.Source)
	defer bar.Clear()
	doc, err := stability.JudgeKeys(d, o.parsed, o.p, runtime.NumCPU(), func(done, of int) {
		bar.Show(warmup.Progress{Executions: done, Of: of})
	})
	means := []string{exchange.FormatJMH, exchange.FormatGo, exchange.FormatPyperf}
	unknown := slices.ContainsFunc(d.Pairs, func(p dataset.Pair) bool {
		return slices.ContainsFunc(p.Executions, func(e dataset.Execution) bool { return e.Calls == nil })
	})
	if o.p.Batch == 0 && unknown && slices.Contains(means, d.Format) {
		doc.Problems = append(doc.Problems,
			"recorded values are means of many calls but were treated as single calls: "+
				"give the duration of an iteration with --batch, such as 100ms")
	}
	return doc, err
}
