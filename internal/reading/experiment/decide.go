package experiment

import (
	"errors"
	"path/filepath"
	"slices"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/sequential"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/experiment/stop"
)

// ErrNoRules is the error if the configuration does not finish keys early.
var ErrNoRules = errors.New("the configuration has no stop.rules, so no key is finished early; " +
	"`krunctl enough simulate` shows what they would save")

// PolicyOf returns the policy of a configuration.
func PolicyOf(s config.Stop) sequential.Policy {
	return sequential.Policy{Rules: s.Rules, Minimum: s.Minimum, Alpha: s.Alpha, HalfWidth: s.HalfWidth,
		Margin: s.Margin}
}

// Decide decides which keys of an experiment need no more executions, from the configuration that
// it was started with and its records alone. host is the name of the machine whose sections of the
// configuration apply, keys the text of --key.
func (r Reader) Decide(arg, keys, host string) (stop.Answer, error) {
	pattern, err := ParsePattern(keys)
	if err != nil {
		return stop.Answer{}, err
	}
	e, err := Open(r.FS, arg)
	if err != nil {
		return stop.Answer{}, err
	}
	cfg, err := e.Config(host)
	if err != nil {
		return stop.Answer{}, err
	}
	if len(cfg.Stop.Rules) == 0 {
		return stop.Answer{}, UsageError{ErrNoRules}
	}
	if err := checkPattern(pattern, e.Keys(host)); err != nil {
		return stop.Answer{}, err
	}
	d, _, err := r.part(e.Dir(), func(string) bool { return false })
	if err != nil {
		return stop.Answer{}, err
	}
	r.reportLeftOut(e.Dir(), d)
	for i := range d.Pairs {
		d.Pairs[i].Executions = slices.DeleteFunc(d.Pairs[i].Executions, func(e dataset.Execution) bool {
			return e.Outcome != results.Completed
		})
	}
	groups, err := r.groups(d, cfg, pattern)
	if err != nil {
		return stop.Answer{}, err
	}
	answer := stop.Answer{Format: stop.Format, Experiment: cfg.Experiment.Name, ConfigHash: cfg.Hash,
		Groups: []stop.Group{}}
	policy := PolicyOf(cfg.Stop)
	all := planned(cfg)
	statements := policy.Statements(all)
	if slices.Contains(policy.Rules, stop.HalfWidth) {
		spread(d, all)
	}
	for _, g := range groups {
		policy.Usual = sequential.UsualOf(all, slices.IndexFunc(all, func(other sequential.Group) bool {
			return other[0].Name == g[0].Name
		}))
		decided := policy.Decide(g, statements)
		if keeps(cfg, g) {
			decided.Finish, decided.Reason = false, "the configuration keeps it (stop.keep)"
		}
		answer.Groups = append(answer.Groups, decided)
	}
	if slices.ContainsFunc(groups, func(g sequential.Group) bool { return keeps(cfg, g) }) {
		answer.Changed, err = r.changed(d, cfg)
	}
	return answer, err
}

// keeps reports whether a group is measured to the end.
func keeps(cfg *config.Config, g sequential.Group) bool {
	return slices.ContainsFunc(g, func(k sequential.Key) bool { return cfg.Stop.Keeps(k.Name) })
}

// changed reports why the machine has changed, by the keys that are measured to the end.
func (r Reader) changed(d *dataset.Dataset, cfg *config.Config) (string, error) {
	var kept []sequential.Group
	seen := map[key.Key]bool{}
	for i := range cfg.Stop.Keep {
		groups, err := r.groups(d, cfg, &cfg.Stop.Keep[i])
		if err != nil {
			return "", err
		}
		for _, g := range groups {
			if !seen[g[0].Name] {
				seen[g[0].Name] = true
				kept = append(kept, g)
			}
		}
	}
	return PolicyOf(cfg.Stop).Changed(kept), nil
}

// planned returns the groups of the configuration without executions.
func planned(cfg *config.Config) []sequential.Group {
	var groups []sequential.Group
	for _, keys := range cfg.Groups() {
		var g sequential.Group
		for _, k := range keys {
			copied := func(a config.Arm) bool { return a.Name == k.Arm && a.Null }
			g = append(g, sequential.Key{Name: k, Null: slices.ContainsFunc(cfg.Arms, copied)})
		}
		groups = append(groups, g)
	}
	return groups
}

// spread gives the groups their executions that count, for what they vary by: reduced to their
// second halves, without an analysis, which would take minutes in each decision.
func spread(d *dataset.Dataset, groups []sequential.Group) {
	for _, g := range groups {
		for i := range g {
			if p := d.Find(g[i].Name); p != nil {
				g[i].Fill(p, &warmup.Pair{Executions: make([]warmup.Execution, len(p.Executions))},
					dataset.Wall, false)
			}
		}
	}
}

// groups returns the groups with a key that matches, of a data set that has only the executions
// that count. Groups with fewer of them than the minimum are not analyzed: they have their number.
func (r Reader) groups(d *dataset.Dataset, cfg *config.Config, pattern *key.Pattern) (
	[]sequential.Group, error) {
	var groups []sequential.Group
	for _, g := range planned(cfg) {
		matches := func(k sequential.Key) bool { return pattern == nil || pattern.Match(k.Name) }
		if !slices.ContainsFunc(g, matches) {
			continue
		}
		few := slices.ContainsFunc(g, func(k sequential.Key) bool {
			p := d.Find(k.Name)
			return p == nil || len(p.Executions) < cfg.Stop.Minimum
		})
		for i := range g {
			k := &g[i]
			p := d.Find(k.Name)
			if p == nil {
				continue
			}
			for _, e := range p.Executions {
				k.Records = append(k.Records, filepath.Base(e.Record))
			}
			if few {
				k.Executions = make([]sequential.Execution, len(p.Executions))
			} else if err := r.fill(k, p, cfg.Stop); err != nil {
				return nil, err
			}
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// fill analyzes the executions of a key.
func (r Reader) fill(k *sequential.Key, p *dataset.Pair, s config.Stop) error {
	d := &dataset.Dataset{Info: dataset.Info{Format: Format}, Pairs: []dataset.Pair{*p}}
	doc, err := warmup.Analyze(d, warmup.Default(classify.Relative),
		warmup.Options{Workers: r.Workers, NoPerformance: true})
	if err != nil {
		return err
	}
	k.Fill(p, &doc.Pairs[0], dataset.Wall, slices.Contains(s.Rules, stop.Similar))
	return nil
}
