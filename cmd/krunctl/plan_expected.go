package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"krund/internal/analysis/sequential"
	"krund/internal/analysis/stability"
	"krund/internal/display"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/reading/summary"
)

// expected is what the keys of a plan that another experiment has would take, if [stop] and
// [stop.iterations] ended them as they would have ended them there.
type expected struct {
	From       string            `json:"from"`
	Keys       int               `json:"keys"` // of the plan that the other experiment has
	Executions sequential.Saving `json:"executions"`
	Iterations sequential.Saving `json:"iterations"`
	Seconds    sequential.Saving `json:"seconds"`
}

// expect replays the rules of a configuration over another experiment.
func (a *app) expect(cfg *config.Config, from string) (*expected, error) {
	if len(cfg.Stop.Rules) == 0 && !cfg.Stop.Iterations.On() {
		return nil, usageError(errors.New("--from shows what stop.rules and [stop.iterations] would save, " +
			"and the configuration has neither"))
	}
	groups, err := a.recorded(from, simulateOptions{workers: runtime.NumCPU()})
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
		return nil, fmt.Errorf("%w: no key of the plan has completed executions in %s", errUnjudged, from)
	}
	needed, err := neededOf(cfg, groups)
	if err != nil {
		return nil, err
	}
	x := &expected{From: from}
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
	r, err := policyOf(cfg)
	if err != nil {
		return nil, err
	}
	statements := r.settings.Statements(groups)
	for i, replayed := range sequential.ReplayOf(groups, r.policy, r.settings).Groups {
		kept := slices.ContainsFunc(groups[i], func(k sequential.Key) bool { return cfg.Stop.Keeps(k.Name) })
		// the last execution may be the one that finished it, as if the other experiment had [stop]
		if kept || replayed.Reason == "" && !r.settings.Decide(groups[i], statements).Finish {
			continue
		}
		for _, k := range groups[i] {
			needed[k.Name] = min(needed[k.Name], replayed.Needed)
		}
	}
	return needed, nil
}

// add adds a key of which so many executions are needed.
func (x *expected) add(cfg *config.Config, k sequential.Key, needed int) error {
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
	criterion, p, err := onlineParameters(results.WatcherStop{Criterion: s.Criterion, Profile: s.Profile,
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

// boundsText writes the least and the most that is left of an experiment.
func boundsText(b *summary.Bounds) string {
	text := fmt.Sprintf("%s executions, %s iterations", rangeText(b.Executions), rangeText(b.Iterations))
	if b.NS != nil {
		text += fmt.Sprintf(", about %s to %s", display.Duration(time.Duration(b.NS.Least)),
			display.Duration(time.Duration(b.NS.Most)))
	}
	return text
}

func rangeText(r summary.Range) string {
	if r.Least == r.Most {
		return fmt.Sprint(r.Most)
	}
	return fmt.Sprintf("%d to %d", r.Least, r.Most)
}

// expectedText writes what is expected of the keys that another experiment has.
func expectedText(x *expected, keys int) string {
	text := fmt.Sprintf("%.0f of %.0f executions, %.0f of %.0f iterations", x.Executions.Needed,
		x.Executions.All, x.Iterations.Needed, x.Iterations.All)
	if x.Seconds.All > 0 {
		text += fmt.Sprintf(", about %s of %s", display.Seconds(x.Seconds.Needed),
			display.Seconds(x.Seconds.All))
	}
	of := "all keys"
	if x.Keys < keys {
		of = fmt.Sprintf("%d of %d keys", x.Keys, keys)
	}
	return fmt.Sprintf("%s: %s, as in %s", text, of, x.From)
}
