package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/compare"
	"krund/internal/analysis/enough"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// enoughKeys is how many keys have a sentence of their own.
const enoughKeys = 20

// EnoughText prints how many executions are enough. The table has at most most characters a line;
// 0: any number.
func EnoughText(w io.Writer, most int, d *enough.Document) {
	fmt.Fprintf(w, "%s\n\n", enoughAnswer(d))
	var rows [][]string
	for i := range d.Keys {
		rows = append(rows, enoughRow(&d.Keys[i], d.Unit))
	}
	level, change := compare.Percent(d.Level), compare.Percent(d.Change)
	display.NarrowTable(w, most, 1, []string{"key", ">measured", ">warm-up over", ">after", ">level",
		">for ± " + level, ">takes", ">for " + change, ">takes", ">split"}, rows)
	fmt.Fprintf(w, "\nwarm-up over, after: iterations and their time; the median execution, the latest\n"+
		"for ± %s: executions if they vary as measured; in two stages; to be sure (%v)\n"+
		"for %s: executions per side (b: blocks) as measured; to be sure (%v)\n"+
		"split: executions per boot x steady iterations, of the same time\n"+
		"level: geometric mean of the executions, ± its %s t interval, which is what --level asks for;\n"+
		"  %s\n\n", level, d.Assurance, change, d.Assurance, compare.Percent(d.Confidence),
		otherIntervals("analyze", "compare"))
	var unknown remarks
	for i := range d.Keys {
		k := &d.Keys[i]
		if why := cannotTell(k); why != "" {
			unknown.add(why, why, k.Key)
		}
		if k.Bottleneck != "" && i < enoughKeys {
			fmt.Fprintln(w, display.Wrap(display.Terminal(k.Key)+": "+k.Bottleneck+splitText(k), most,
				"  "))
		}
	}
	if more := len(d.Keys) - enoughKeys; more > 0 {
		fmt.Fprintf(w, "%s more: --format json\n", display.Count(more, "key"))
	}
	var warnings []string
	for _, g := range unknown {
		warnings = append(warnings, warningLine(g.Keys, g.Texts, len(d.Keys)))
	}
	printWarnings(w, append(warnings, d.Notes...))
}

// cannotTell says what the pilot cannot tell; "" if it can.
func cannotTell(k *enough.Key) string {
	switch {
	case k.Unknown != "":
		return "cannot tell: " + k.Unknown
	case k.ForLevel.Sure == 0:
		return fmt.Sprintf("cannot tell with %d executions: more than %d would be needed to be sure",
			k.Executions, compare.MostExecutions)
	case k.WarmUp.Steady < k.Executions:
		return "some executions have no steady state, and the level of their second half: run more iterations"
	}
	return ""
}

func splitText(k *enough.Key) string {
	const worth = 0.95 // of the variance
	if k.Split == nil || !(k.Split.Variance < worth) {
		return ""
	}
	return fmt.Sprintf("; executions of %s leave %s of the result's variance in the same time",
		display.Count(k.Split.Iterations, "steady iteration"), compare.Percent(float64(k.Split.Variance)))
}

func splitCell(k *enough.Key) string {
	if k.Split == nil {
		return "-"
	}
	return fmt.Sprintf("%d x %d", k.Split.PerBoot, k.Split.Iterations)
}

func enoughRow(k *enough.Key, unit string) []string {
	warmup, after, level := "-", "-", "-"
	if w := k.WarmUp; w.Steady > 0 {
		warmup = fmt.Sprintf("%d; %d", w.Iterations, w.Latest)
		if !math.IsNaN(float64(w.Last)) {
			after = anySeconds(float64(w.Seconds)) + "; " + anySeconds(float64(w.Last))
		}
	}
	if !math.IsNaN(float64(k.HalfWidth)) {
		level = withUnit(float64(k.Mean), unit) + " ± " + compare.Percent(float64(k.HalfWidth))
	}
	l, c := k.ForLevel, k.ForChange
	change := numbers(c.About, c.Sure)
	if k.Paired {
		change += " b"
	}
	return []string{k.Key, strconv.Itoa(k.Executions), warmup, after, level,
		numbers(l.About, l.TwoStages, l.Sure), times(l.Takes, l.TwoTake, l.SureTakes), change,
		times(c.Takes, c.SureTakes), splitCell(k)}
}

// numbers joins numbers of executions; one that is unknown or too large is 0.
func numbers(list ...int) string {
	return joined(list, func(n int) bool { return n > 0 }, strconv.Itoa)
}

func times(list ...warmup.Real) string {
	return joined(list, func(s warmup.Real) bool { return !math.IsNaN(float64(s)) },
		func(s warmup.Real) string { return anySeconds(float64(s)) })
}

// joined is "-" for what is not known, and once if nothing is.
func joined[T any](list []T, known func(T) bool, text func(T) string) string {
	if !slices.ContainsFunc(list, known) {
		return "-"
	}
	texts := make([]string, len(list))
	for i, v := range list {
		if texts[i] = "-"; known(v) {
			texts[i] = text(v)
		}
	}
	return strings.Join(texts, "; ")
}

// enoughAnswer is the first line.
func enoughAnswer(d *enough.Document) string {
	var level, change total
	missing := 0 // executions of the second stage
	for i := range d.Keys {
		k := &d.Keys[i]
		missing += max(0, k.ForLevel.TwoStages-k.Executions)
		level.add(k.ForLevel.About, k.ForLevel.TwoStages, k.ForLevel.Sure, k.ForLevel.TwoTake)
		change.add(k.ForChange.About, k.ForChange.Sure, k.ForChange.Sure, k.ForChange.SureTakes)
	}
	if level.keys == 0 {
		return "Cannot tell how many executions are enough: " + unknownText(d)
	}
	if d.Pilot != "" {
		return knownText(d)
	}
	those := ""
	if missing == 0 {
		those = ", those that were measured"
	}
	text := fmt.Sprintf("For ± %s: about %s executions; %s to be sure of it (%v).\n"+
		"In two stages %s are enough%s%s.", compare.Percent(d.Level), level.about, level.sure, d.Assurance,
		level.middle, those, level.takes())
	if change.keys > 0 {
		text += fmt.Sprintf("\nFor a change of %s: about %s per side; %s to be sure of it (%v%s).",
			compare.Percent(d.Change), change.about, change.sure, d.Assurance, change.takes())
	}
	if n := len(d.Keys) - level.keys; n > 0 {
		text += fmt.Sprintf("\n%s cannot be told.", display.Count(n, "key"))
	}
	return text
}

// knownText says how well the levels are known after the second stage.
func knownText(d *enough.Document) string {
	known, worst := 0, 0.0
	for i := range d.Keys {
		if half := float64(d.Keys[i].HalfWidth); !math.IsNaN(half) {
			worst = max(worst, half)
			known += arith.One(half <= d.Level)
		}
	}
	return fmt.Sprintf("After two stages %d of %s are known to ± %s, the worst to ± %s (%s intervals).",
		known, display.Count(len(d.Keys), "level"), compare.Percent(d.Level), compare.Percent(worst),
		compare.Percent(d.Confidence))
}

func unknownText(d *enough.Document) string {
	for i := range d.Keys {
		if why := d.Keys[i].Unknown; why != "" {
			return why
		}
	}
	return "there is no execution to judge by"
}

// span is the smallest and the largest number of the keys.
type span struct{ low, high int }

func (s *span) add(n int) {
	if s.low == 0 || n < s.low {
		s.low = n
	}
	s.high = max(s.high, n)
}

func (s span) String() string {
	if s.low == s.high {
		return strconv.Itoa(s.low)
	}
	return fmt.Sprintf("%d to %d", s.low, s.high)
}

// total is over the keys of which all numbers are known.
type total struct {
	about, middle, sure span
	seconds             float64
	keys                int
}

func (t *total) add(about, middle, sure int, seconds warmup.Real) {
	if about == 0 || middle == 0 || sure == 0 {
		return
	}
	t.about.add(about)
	t.middle.add(middle)
	t.sure.add(sure)
	t.seconds += float64(seconds)
	t.keys++
}

func (t *total) takes() string {
	if math.IsNaN(t.seconds) {
		return ""
	}
	return "; " + anySeconds(t.seconds) + " in all"
}
