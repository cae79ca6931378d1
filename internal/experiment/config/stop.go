package config

import (
	"fmt"
	"slices"

	"krund/internal/experiment/stop"
)

// fewestExecutions is the smallest stop.minimum: two values have hardly an estimate of a variance.
const fewestExecutions = 3

func (s *section) stop() Stop {
	share := func(v float64) bool { return v > 0 && v < 1 }
	const advice = "a number above 0 and below 1, such as 0.01"
	c := Stop{
		Minimum:   s.count("minimum", 3, fewestExecutions, maxExecutions),
		Alpha:     s.number("alpha", 0.05, share, advice),
		HalfWidth: s.number("halfwidth", 0.01, share, advice),
		Margin:    s.number("margin", 0.01, share, advice),
		Deadline:  s.duration("deadline", "5m", 1, false),
		Keep:      s.patterns("keep"),

		Iterations: s.stopIterations(s.node.child("iterations")),
	}
	s.known = append(s.known, "iterations")
	names := make([]string, len(stop.Rules))
	for i, rule := range stop.Rules {
		names[i] = string(rule)
	}
	for _, name := range s.texts("rules", nil, func(name string) (what, fix string) {
		if !slices.Contains(names, name) {
			return fmt.Sprintf("there is no rule %q", name), didYouMean(name, names, "write "+orList(names))
		}
		return "", ""
	}) {
		if !slices.Contains(c.Rules, stop.Rule(name)) {
			c.Rules = append(c.Rules, stop.Rule(name))
		}
	}
	return c
}

// checkMinimum reports a minimum that no key reaches.
func (c *Config) checkMinimum(found *problems) {
	most := 0
	for _, k := range c.keys {
		most = max(most, c.Planned(k))
	}
	if len(c.Stop.Rules) > 0 && most > 0 && c.Stop.Minimum > most && !c.doubtful["stop.minimum"] &&
		!c.doubtful["experiment.executions"] {
		found.add(c.lines.of("stop.minimum", "stop"), fmt.Sprintf("stop.minimum is %d, and no key has more "+
			"than %d executions, so none can be finished early", c.Stop.Minimum, most),
			"write a smaller number, plan more executions, or remove stop.rules")
	}
}

// checkStop reports a question that the experiment cannot answer.
func (c *Config) checkStop(found *problems) {
	if slices.Contains(c.Stop.Rules, stop.Verdict) && len(c.Arms) == 0 && !c.doubtful["arms"] {
		found.add(c.lines.of("stop.rules", "stop"), `stop.rules has "verdict", and there are no [arms]`,
			`define what is compared, or write "halfwidth"`)
	}
}
