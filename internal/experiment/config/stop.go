package config

import (
	"fmt"
	"slices"
	"strconv"
	"time"

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

// StopIterations is [stop.iterations]: when a process execution ends before its last iteration.
// docs/stability.md describes the criteria and what the numbers mean.
type StopIterations struct {
	Criterion string  // CriterionCV, ...; "": never
	Profile   string  // ProfileRecommended, ...
	Threshold float64 // 0: that of the criterion
	Step      string  // a duration such as "1s", or a number of iterations
	WarmupMin int     // steps
	WarmupMax int
	Measure   int  // steps after warm-up
	DryRun    bool // decide and record, but do not stop
}

// On reports whether a criterion is evaluated.
func (s StopIterations) On() bool { return s.Criterion != CriterionNone }

// The criteria and the profiles: stability.Criterion and stability.Profile.
const (
	CriterionNone = ""
	CriterionCV   = "cv"
	CriterionRCIW = "rciw"
	CriterionKLD  = "kld"

	ProfileRecommended = "recommended"
	ProfileStudy       = "study"
	ProfileJMH         = "jmh"
	ProfilePaper       = "paper"
)

// maxSteps bounds the steps of warm-up and of a measurement, and with them the watcher's memory.
const maxSteps = 10_000

func (r *reader) stopIterations(n *node) StopIterations {
	s := r.section("stop.iterations", n)
	defer s.done()
	c := StopIterations{
		Criterion: s.choice("criterion", CriterionNone, CriterionNone, CriterionCV, CriterionRCIW,
			CriterionKLD),
		Profile: s.choice("profile", ProfileRecommended, ProfileRecommended, ProfileStudy, ProfileJMH,
			ProfilePaper),
		Threshold: s.number("threshold", 0, func(v float64) bool { return v >= 0 && v <= 1 },
			"a number from 0 to 1; 0 is the criterion's own"),
		Step:      s.text("step", "1s"),
		WarmupMin: s.count("warmup_min", 5, 1, maxSteps),
		WarmupMax: s.count("warmup_max", 50, 1, maxSteps),
		Measure:   s.count("measure", 10, 1, maxSteps),
		DryRun:    s.flag("dry_run", false),
	}
	if n := s.node.child("step"); n != nil && !isStep(c.Step) {
		s.bad(n, "step", `write a duration such as "1s", or a number of iterations such as "100"`)
	}
	if c.WarmupMax < c.WarmupMin {
		s.add(s.lines.of("stop.iterations.warmup_max", "stop.iterations.warmup_min"),
			fmt.Sprintf("stop.iterations.warmup_max is %d, and warmup_min is %d", c.WarmupMax, c.WarmupMin),
			"write a maximum that is at least the minimum")
	}
	return c
}

// isStep reports whether text is a positive duration or number.
func isStep(text string) bool {
	if n, err := strconv.Atoi(text); err == nil {
		return n > 0 && n <= MaxIterations
	}
	d, err := time.ParseDuration(text)
	return err == nil && d > 0
}
