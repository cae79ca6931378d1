// Package replay tells what stopping early would have done in a recorded experiment. Start reading
// at [Recorded].
package replay

import (
	"fmt"
	"slices"
	"strings"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/sequential"
	"krund/internal/analysis/stability"
	"krund/internal/analysis/warmup"
	"krund/internal/analysis/warmupend"
	"krund/internal/durable"
	"krund/internal/exchange"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/reading/experiment"
	"krund/internal/reading/summary"
)

// Policy is a policy of [stop] with its settings.
type Policy struct {
	Policy   sequential.Replayable
	Settings sequential.Policy
}

// Recorded reads and analyzes an experiment or a file of results. Each execution has the seconds
// that it took, with the time between two executions.
func Recorded(reader experiment.Reader, arg, keys string) ([]sequential.Group, error) {
	type execution struct {
		key    key.Key
		number int
	}
	took := map[execution]float64{}
	var samples []summary.Sample
	reader.NoPerformance = true
	reader.Visit = func(r *results.Record) {
		s := summary.SampleOf(r)
		if r.Outcome == results.Completed {
			took[execution{r.Key, r.Pexec}] = s.Wall.Seconds()
		}
		samples = append(samples, s)
	}
	in, err := reader.Read(arg, experiment.Selection{Column: dataset.Wall, Key: keys})
	if err != nil {
		return nil, err
	}
	// the rules of krunctl status --decision, whatever those of the stored analysis are
	doc, err := reader.Analyze(in, warmup.Default(classify.Relative), reader.Stored(in.Analysis))
	if err != nil {
		return nil, err
	}
	between := summary.Estimate(nil, samples, summary.Waits{}, true).Between.Seconds()
	groups := sequential.GroupsOf(in.Data, doc, true)
	for _, g := range groups {
		for i := range g {
			for n := range g[i].Executions {
				e := &g[i].Executions[n]
				seconds, ok := took[execution{g[i].Name, e.Number}]
				if !ok && doc.Unit == dataset.Seconds {
					for _, v := range e.Series {
						seconds += v
					}
				}
				e.Seconds = seconds + between
			}
		}
	}
	return groups, nil
}

// OnlineParameters returns the criterion and the parameters of a watcher.
func OnlineParameters(s results.WatcherStop) (stability.Criterion, stability.Parameters, error) {
	p := stability.Default()
	p.Threshold, p.WarmupMin, p.WarmupMax = s.Threshold, s.WarmupMin, s.WarmupMax
	p.Measure, p.Seed = s.Measure, s.Seed
	criterion, err := stability.ParseCriterion(s.Criterion)
	if err != nil {
		return "", p, err
	}
	if p.Profile, err = stability.ParseProfile(s.Profile); err != nil {
		return "", p, err
	}
	p.Step, err = stability.ParseLength(s.Step)
	return criterion, p, err
}

// Policies returns the policies of these names, one for each half width if they ask for it.
// "config" is the one in the configuration of the experiment arg, with the sections of host.
func Policies(names []string, settings sequential.Policy, halfWidths []float64, fsys durable.FS,
	arg, host string) ([]Policy, error) {
	var list []Policy
	for _, name := range names {
		if name == "config" {
			own, err := configured(fsys, arg, host)
			if err != nil {
				return nil, err
			}
			list = append(list, own)
			continue
		}
		policy, err := sequential.ParseReplayable(name)
		if err != nil {
			return nil, experiment.Usage(fmt.Errorf("--policy: %w", err))
		}
		for i, h := range halfWidths {
			settings.HalfWidth = h
			if i == 0 || policy.AsksHalfWidth() {
				list = append(list, Policy{Policy: policy, Settings: settings})
			}
		}
	}
	return list, nil
}

// configured returns the policy in the configuration of an experiment.
func configured(fsys durable.FS, arg, host string) (Policy, error) {
	e, err := experiment.Open(fsys, arg)
	if err != nil {
		return Policy{}, err
	}
	cfg, err := e.Config(host)
	if err != nil {
		return Policy{}, err
	}
	settings := experiment.PolicyOf(cfg.Stop)
	var names []string
	for _, r := range settings.Rules {
		names = append(names, string(r))
	}
	if len(names) == 0 {
		return Policy{}, experiment.UsageError{Err: experiment.ErrNoRules}
	}
	policy, err := sequential.ParseReplayable(strings.Join(names, "+"))
	return Policy{policy, settings}, err
}

// Injected takes the place of a file of annotations: series get known ends of warm-up.
const Injected = "injected"

// fork names an annotated execution.
type fork struct {
	benchmark string
	number    int
}

// Annotations are the forks of a file of annotations.
type Annotations struct {
	rows  []exchange.SteadyState
	start map[fork]int // of the steady state; -1: none
}

// Annotated reads annotations; nil for injected steps.
func Annotated(truth string) (*Annotations, error) {
	if truth == Injected {
		return nil, nil //nolint:nilnil // nothing is annotated
	}
	rows, err := exchange.ReadSteadyStatesFile(truth)
	if err != nil {
		return nil, err
	}
	n := &Annotations{rows: rows, start: map[fork]int{}}
	for i, s := range rows {
		rows[i].Benchmark = exchange.PlainName(s.Benchmark) // as in keys
		at := fork{rows[i].Benchmark, s.Number}
		if n.start[at] = -1; s.Steady {
			n.start[at] = s.Start
		}
	}
	return n, nil
}

// Techniques returns what the techniques in the file do, of all forks and of the executions here.
func (n *Annotations) Techniques(list []warmupend.LabeledSeries) []warmupend.Row {
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

// KnownStarts returns the executions whose steady state is known: from annotations, or if they are
// nil from the analysis.
func KnownStarts(d *dataset.Dataset, known *Annotations, workers int) ([]warmupend.LabeledSeries, error) {
	var list []warmupend.LabeledSeries
	for i := range d.Pairs {
		series := warmup.SeriesOf(&d.Pairs[i], dataset.Wall)
		for k, values := range series.Series {
			e := warmupend.LabeledSeries{Key: series.Key.Benchmark, Number: series.Numbers[k], Values: values,
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
	return slices.DeleteFunc(list, func(e warmupend.LabeledSeries) bool {
		return e.Start < 0 || e.Start >= len(e.Values)
	}), nil
}
