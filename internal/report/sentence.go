package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/compare"
	"krund/internal/analysis/dataset"
	"krund/internal/display"
)

// compareAnswers is a comparison in sentences: one, or one for each level of groups, from the one
// with the smallest values to that with the largest, and then those that cannot be told.
func compareAnswers(r *compare.Result) []string {
	if len(r.Changes) == 0 {
		return []string{"Nothing was compared"}
	}
	list := r.Summaries()
	untold := func(s compare.Summary) int { return arith.One(s.Alone+s.CannotTell == s.Keys) }
	slices.SortStableFunc(list, func(a, b compare.Summary) int {
		return cmp.Or(untold(a)-untold(b), cmp.Compare(a.Ratio, b.Ratio))
	})
	answers := make([]string, len(list))
	for i := range list {
		answers[i] = answer{r, &list[i]}.text()
	}
	return answers
}

// CompareAnswer is a comparison in one line.
func CompareAnswer(r *compare.Result) string { return strings.Join(compareAnswers(r), "; ") }

// answer makes the sentence about one level.
type answer struct {
	*compare.Result
	of *compare.Summary
}

// names are those of after and before.
func (a answer) names() (after, before string) {
	switch g := a.Groups; {
	case g != nil && g.By == compare.ByRestart:
		return "after " + a.of.Level + " the program", "after " + g.Base
	case g != nil:
		return a.of.Level, g.Base
	case a.Before.Name == a.After.Name && a.Before.Arm != a.After.Arm:
		return a.After.Arm, a.Before.Arm
	}
	return partyText(a.After), partyText(a.Before)
}

// noun is that of n rows.
func (a answer) noun(n int) string {
	if a.Groups == nil {
		return display.Count(n, "key")
	}
	return display.Count(n, strings.ToLower(rowNoun(a.Groups)))
}

// size says how much lower or higher values are: "is 12.1 % faster than".
func (a answer) size(g share) (verb, size, than string) {
	wall := cmp.Or(a.Rules.Column, dataset.Wall) == dataset.Wall
	factor := max(g.ratio, 1/g.ratio)
	word := map[[2]bool]string{{true, true}: "faster", {true, false}: "slower", {false, true}: "less",
		{false, false}: "more"}[[2]bool{wall, g.lower}]
	verb = "has"
	if wall {
		verb = "is"
	}
	switch {
	case math.IsNaN(g.ratio):
		return verb, word, "than"
	case !doubled(factor):
		return verb, display.Fixed(100*math.Abs(g.ratio-1), 1) + " % " + word, "than"
	case wall && g.lower:
		return "is", timesText(factor) + " times as fast", "as"
	case wall:
		return "takes", timesText(factor) + " times as long", "as"
	}
	return "has", shortRatio(g.ratio) + " times as much", "as"
}

// share are the keys with lower, or with higher, values.
type share struct {
	n     int
	ratio float64
	lower bool
}

// mean says what the size is of several keys.
func (g share) mean() string {
	if g.n < 2 || math.IsNaN(g.ratio) {
		return ""
	}
	return fmt.Sprintf(" (geometric mean of ratios %s)", shortRatio(g.ratio))
}

// timesText is a factor with three digits.
func timesText(v float64) string {
	if !(v >= 1e-6 && v < 1e6) {
		return Number(v)
	}
	return display.Fixed(v, max(0, 2-int(math.Floor(math.Log10(v)))))
}

// text is the sentence, and which executions it is about if an extended experiment has others.
func (a answer) text() string {
	text, others := a.verdict(), 0
	for _, c := range a.of.Changes {
		others += c.OtherTime
	}
	if others > 0 {
		text += fmt.Sprintf("; compared are executions that were measured in turns, without %s of another "+
			"time", display.Count(others, "other"))
	}
	return text
}

// verdict is the size of what is most frequent, and the counts of the rest.
func (a answer) verdict() string {
	after, before := a.names()
	s := *a.of
	shares := []share{{s.Higher, s.HigherRatio, false}, {s.Lower, s.LowerRatio, true}}
	if s.Lower > s.Higher {
		slices.Reverse(shares)
	}
	text := ""
	for _, g := range shares {
		verb, size, than := a.size(g)
		switch {
		case g.n == 0:
		case s.Keys == 1:
			return fmt.Sprintf("%s %s %s %s %s: ratio %s", after, verb, size, than, before,
				steadyText(s.Changes[0]))
		case text == "":
			text = fmt.Sprintf("%s %s %s %s %s in %s%s", after, verb, size, than, before, a.part(g.n),
				g.mean())
		default:
			text += fmt.Sprintf(", %s %s in %d%s", verb, size, g.n, g.mean())
		}
	}
	switch {
	case text != "":
	case s.Same > 0:
		text = fmt.Sprintf("%s is the same as %s in %s: no change of %s or more", after, before,
			a.part(s.Same), compare.Percent(a.Margin))
		s.Same = 0
	case s.Classes > 0:
		text = fmt.Sprintf("%s has other classes of executions than %s in %s", after, before,
			a.part(s.Classes))
		if c := s.Changes[0]; s.Keys == 1 && c.Steady != nil && c.Verdict == compare.Changed {
			text = fmt.Sprintf("cannot tell whether %s is better or worse than %s: its executions have "+
				"other classes; ratio %s", after, before, steadyText(c))
		}
		s.Classes = 0
	default:
		return a.cannotTell(after, before)
	}
	for _, rest := range []struct {
		n    int
		text string
	}{{s.Same, "the same"}, {s.Classes, "other classes"}, {s.CannotTell, "cannot tell"},
		{s.Alone, "nothing to compare"}} {
		if rest.n > 0 {
			text += fmt.Sprintf(", %s in %d", rest.text, rest.n)
		}
	}
	return text
}

// part is n of the keys.
func (a answer) part(n int) string {
	switch {
	case a.of.Keys == 1:
		return "the one " + strings.TrimPrefix(a.noun(1), "1 ")
	case n == 2 && n == a.of.Keys:
		return "both " + strings.TrimPrefix(a.noun(n), "2 ")
	case n == a.of.Keys:
		return "all " + a.noun(n)
	}
	return fmt.Sprintf("%d of %s", n, a.noun(a.of.Keys))
}

// cannotTell says what would have been seen, and what a new experiment would show.
func (a answer) cannotTell(after, before string) string {
	if a.of.Keys == 1 {
		return fmt.Sprintf("cannot tell whether %s differs from %s: %s", after, before,
			a.of.Changes[0].Reason)
	}
	text := fmt.Sprintf("cannot tell whether %s differs from %s in any of %s", after, before,
		a.noun(a.of.Keys))
	low, high := math.Inf(1), 0.0
	var help *compare.Change
	for _, c := range a.of.Changes {
		if c.Steady == nil {
			continue
		}
		if d := float64(c.Steady.Detectable); !math.IsNaN(d) {
			low, high = min(low, d), max(high, d)
		}
		if c.Help != nil && (help == nil || c.Help.Executions < help.Help.Executions) {
			help = c
		}
	}
	switch {
	case high == 0:
		return text + ": " + a.of.Changes[0].Reason
	case low == high:
		text += fmt.Sprintf(": a change of %s would have been seen", compare.Percent(high))
	default:
		text += fmt.Sprintf(": changes of %s to %s would have been seen", compare.Percent(low),
			compare.Percent(high))
	}
	if help != nil {
		unit := "executions per side"
		if a.Paired {
			unit = "blocks"
		}
		text += fmt.Sprintf("; a new experiment with %d %s would show %s in %s", help.Help.Executions, unit,
			compare.Percent(help.Help.Shows), cmp.Or(help.Row, help.Key))
	}
	return text
}

// shortRatio writes a ratio with three digits, and those near 1 with three decimals.
func shortRatio(v float64) string {
	switch {
	case v >= 0.1 && v < 10:
		return display.Fixed(v, 3)
	case v >= 10 && v < 1000:
		return display.Fixed(v, 1)
	}
	return Number(v)
}
