package compare

import (
	"math"

	"krund/internal/analysis/arith"
)

// Summary counts the verdicts about a level, or about after. Smaller values are better.
type Summary struct {
	Level string `json:"level"` // of groups; "" is after
	Keys  int    `json:"keys"`  // that are compared, or have nothing to be compared with
	// Lower and Higher have a verdict by their steady state; LowerRatio and HigherRatio are the
	// geometric means of their ratios after/before (NaN: none).
	Lower       int       `json:"lower"`
	Higher      int       `json:"higher"`
	LowerRatio  float64   `json:"-"`
	HigherRatio float64   `json:"-"`
	Ratio       float64   `json:"-"` // geometric mean of all ratios; NaN: none
	Same        int       `json:"same"`
	Classes     int       `json:"classes"` // have a verdict by the classes of their executions alone
	CannotTell  int       `json:"cannot_tell"`
	Alone       int       `json:"alone"` // have nothing to be compared with
	Changes     []*Change `json:"-"`
}

// Summaries returns a summary of each level; without groups, one.
func (r *Result) Summaries() []Summary {
	levels := []string{""}
	if r.Groups != nil {
		levels = r.Groups.Levels
	}
	list := make([]Summary, len(levels))
	for i, level := range levels {
		s := Summary{Level: level}
		var lower, higher, all []float64
		for k := range r.Changes {
			c := &r.Changes[k]
			if c.Level != level {
				continue
			}
			s.Keys++
			s.Changes = append(s.Changes, c)
			ratio, significant := c.significant(1 - r.Confidence)
			if ratio > 0 {
				all = append(all, math.Log(ratio))
			}
			switch {
			case c.OnlyIn != "":
				s.Alone++
			case c.Verdict == Same:
				s.Same++
			case c.Verdict == CannotTell:
				s.CannotTell++
			case !significant:
				s.Classes++
			case c.lower():
				s.Lower++
				lower = append(lower, math.Log(ratio))
			default:
				s.Higher++
				higher = append(higher, math.Log(ratio))
			}
		}
		s.LowerRatio, s.HigherRatio, s.Ratio = geometric(lower), geometric(higher), geometric(all)
		list[i] = s
	}
	return list
}

// significant returns the ratio of the steady states (NaN: there is none), and whether they differ.
func (c *Change) significant(alpha float64) (ratio float64, ok bool) {
	switch {
	case c.Steady == nil:
		return math.NaN(), false
	case c.Steady.Ratio != nil:
		ratio = float64(c.Steady.Ratio.Estimate)
	default:
		ratio = math.NaN()
	}
	return ratio, c.Steady.Corrected <= alpha && c.Verdict != CannotTell && c.Verdict != Same
}

// lower reports whether after has the smaller values.
func (c *Change) lower() bool {
	if c.Steady.Ratio != nil {
		return c.Steady.Ratio.Estimate < 1
	}
	return c.Steady.Difference.Estimate < 0
}

// geometric returns the geometric mean of values, whose logarithms are given; NaN of none.
func geometric(logs []float64) float64 {
	if len(logs) == 0 {
		return math.NaN()
	}
	return math.Exp(arith.MeanOf(logs))
}
