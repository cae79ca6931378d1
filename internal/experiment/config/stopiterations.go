package config

import (
	"fmt"
	"strconv"
	"time"
)

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
