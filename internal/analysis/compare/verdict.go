package compare

import (
	"krund/internal/analysis/classify"
	"krund/internal/analysis/quantile"
)

// Verdict is the result of a comparison.
type Verdict string

// The verdicts. Smaller is better, for iterations and times as well as for counts.
const (
	Better     Verdict = "better"
	Worse      Verdict = "worse"
	Same       Verdict = "same"
	CannotTell Verdict = "cannot tell"
)

// Mirror returns the verdict with before and after exchanged.
func (v Verdict) Mirror() Verdict {
	switch v {
	case Better:
		return Worse
	case Worse:
		return Better
	}
	return v
}

// classes compares classes: a change from a bad to a good class is better. Two different classes
// that are both good, or both bad, cannot be ranked.
func classes(before, after classify.PairClass) Verdict {
	good := func(c classify.PairClass) bool {
		return c == classify.PairClass(classify.Flat) || c == classify.PairClass(classify.Warmup) ||
			c == classify.GoodInconsistent
	}
	switch {
	case before == classify.None || after == classify.None:
		return CannotTell
	case before == after:
		return Same
	case good(after) && !good(before):
		return Better
	case good(before) && !good(after):
		return Worse
	}
	return CannotTell
}

func intervals(before, after *quantile.Spread) Interval {
	v := Interval{before, after, Same}
	switch {
	case before == nil || after == nil:
		v.Verdict = CannotTell
	case after.P95 < before.P5:
		v.Verdict = Better
	case after.P5 > before.P95:
		v.Verdict = Worse
	}
	return v
}

// overall combines the verdicts of class and performance into that of the key. If they contradict
// each other, the verdict is CannotTell. The time until the steady state is not taken into account.
func overall(c *Change) Verdict {
	class, ratio := c.Classification, c.Ratio.Verdict
	switch {
	case class == Better && ratio == Worse, class == Worse && ratio == Better:
		return CannotTell
	case class == Better, class == Worse:
		return class
	}
	return ratio
}
