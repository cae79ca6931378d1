// Package replay tells what stopping early would have done in a recorded experiment. Start reading
// at [Recorded].
package replay

import (
	"fmt"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/sequential"
	"krund/internal/analysis/stability"
	"krund/internal/analysis/warmup"
	"krund/internal/durable"
	"krund/internal/experiment/config"
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

// PolicyOf returns the policy of a configuration, to replay it.
func PolicyOf(cfg *config.Config) (Policy, error) {
	settings := experiment.PolicyOf(cfg.Stop)
	name := ""
	for i, r := range settings.Rules {
		if i > 0 {
			name += "+"
		}
		name += string(r)
	}
	if name == "" {
		return Policy{}, experiment.UsageError{Err: experiment.ErrNoRules}
	}
	policy, err := sequential.ParseReplayable(name)
	return Policy{policy, settings}, err
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
			k := &g[i]
			for n, e := range k.Executions {
				seconds, ok := took[execution{k.Name, e.Number}]
				if !ok && doc.Unit == dataset.Seconds {
					for _, v := range k.Series[n] {
						seconds += v
					}
				}
				k.Seconds = append(k.Seconds, seconds+between)
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
// "config" is the one that configured returns.
func Policies(names []string, settings sequential.Policy, halfWidths []float64,
	configured func() (Policy, error)) ([]Policy, error) {
	var list []Policy
	for _, name := range names {
		if name == "config" {
			own, err := configured()
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

// Configured returns the policy in the configuration of an experiment. host is the machine whose
// sections apply.
func Configured(fsys durable.FS, arg, host string) (Policy, error) {
	e, err := experiment.Open(fsys, arg)
	if err != nil {
		return Policy{}, err
	}
	cfg, err := e.Config(host)
	if err != nil {
		return Policy{}, err
	}
	return PolicyOf(cfg)
}
