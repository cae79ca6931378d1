package replay

import (
	"errors"
	"fmt"
	"slices"

	"krund/internal/analysis/sequential"
	"krund/internal/analysis/stability"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/reading/experiment"
	"krund/internal/reading/summary"
)

// Expected is what the keys of a plan that another experiment has would take, if [stop] and
// [stop.iterations] ended them as they would have ended them there.
type Expected struct {
	From       string            `json:"from"`
	Keys       int               `json:"keys"` // of the plan that the other experiment has
	Executions sequential.Saving `json:"executions"`
	Iterations sequential.Saving `json:"iterations"`
	Seconds    sequential.Saving `json:"seconds"`
}

// Expect replays the rules of a configuration over another experiment.
func Expect(reader experiment.Reader, cfg *config.Config, from string) (*Expected, error) {
	if len(cfg.Stop.Rules) == 0 && !cfg.Stop.Iterations.On() {
		return nil, experiment.UsageError{
			Err: errors.New("--from shows what stop.rules and [stop.iterations] " +
				"would save, and the configuration has neither"),
		}
	}
	groups, err := Recorded(reader, from, "")
	if err != nil {
		return nil, err
	}
	planned := cfg.Keys()
	groups = slices.DeleteFunc(groups, func(g sequential.Group) bool {
		return slices.ContainsFunc(g, func(k sequential.Key) bool {
			return len(k.Executions) == 0 || !slices.Contains(planned, k.Name)
		})
	})
	if len(groups) == 0 {
		return nil, fmt.Errorf(
			"%w: no key of the plan has completed executions in %s",
			experiment.ErrUnjudged,
			from,
		)
	}
	needed, err := neededOf(cfg, groups)
	if err != nil {
		return nil, err
	}
	x := &Expected{From: from}
	for _, g := range groups {
		for _, k := range g {
			if err := x.add(cfg, k, needed[k.Name]); err != nil {
				return nil, err
			}
		}
	}
	return x, nil
}

// neededOf returns how many executions of each planned key [stop] needs.
func neededOf(cfg *config.Config, groups []sequential.Group) (map[key.Key]int, error) {
	needed := map[key.Key]int{}
	for _, g := range groups {
		for _, k := range g {
			needed[k.Name] = cfg.Executions(k.Name)
		}
	}
	if len(cfg.Stop.Rules) == 0 {
		return needed, nil
	}
	r, err := PolicyOf(cfg)
	if err != nil {
		return nil, err
	}
	statements := r.Settings.Statements(groups)
	for i, replayed := range sequential.ReplayOf(groups, r.Policy, r.Settings).Groups {
		kept := slices.ContainsFunc(groups[i], func(k sequential.Key) bool { return cfg.Stop.Keeps(k.Name) })
		// the last execution may be the one that finished it, as if the other experiment had [stop]
		policy := r.Settings
		policy.Usual = sequential.UsualOf(groups, i)
		if kept || replayed.Reason == "" && !policy.Decide(groups[i], statements).Finish {
			continue
		}
		for _, k := range groups[i] {
			needed[k.Name] = min(needed[k.Name], replayed.Needed)
		}
	}
	return needed, nil
}

// add adds a key of which so many executions are needed.
func (x *Expected) add(cfg *config.Config, k sequential.Key, needed int) error {
	planned := cfg.Iterations(k.Name)
	var iterations, all, seconds float64 // of its executions
	for i, e := range k.Executions {
		series, inside := k.Series[i], 0.0
		for _, v := range series {
			inside += v
		}
		n, err := stopsAt(cfg, k.Name, series, e.Number)
		if err != nil {
			return err
		}
		each, outside := inside/float64(len(series)), max(0, k.Seconds[i]-inside)
		iterations += float64(n)
		seconds += outside + float64(n)*each
		all += outside + float64(planned)*each
	}
	total, count := float64(cfg.Executions(k.Name)), float64(len(k.Executions))
	x.Keys++
	for _, s := range []struct {
		of          *sequential.Saving
		all, needed float64
	}{{&x.Executions, 1, 1}, {&x.Iterations, float64(planned), iterations / count},
		{&x.Seconds, all / count, seconds / count}} {
		s.of.All += total * s.all
		s.of.Needed += float64(needed) * s.needed
	}
	return nil
}

// stopsAt returns how many iterations of an execution [stop.iterations] needs: all if it would not
// have ended this one.
func stopsAt(cfg *config.Config, k key.Key, series []float64, number int) (int, error) {
	planned, s := cfg.Iterations(k), cfg.Stop.Iterations
	if !summary.Ends(cfg, k) {
		return planned, nil
	}
	criterion, p, err := OnlineParameters(results.WatcherStop{Criterion: s.Criterion, Profile: s.Profile,
		Threshold: s.Threshold, Step: s.Step, WarmupMin: s.WarmupMin, WarmupMax: s.WarmupMax,
		Measure: s.Measure, Seed: cfg.Experiment.Seed})
	if err != nil {
		return 0, err
	}
	online, err := stability.NewOnline(p, criterion, number)
	if err != nil {
		return 0, err
	}
	for _, v := range series {
		d, err := online.Add(v)
		if err != nil {
			return 0, err
		}
		if d.StopAt > 0 {
			return min(planned, d.StopAt), nil
		}
	}
	return planned, nil
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
