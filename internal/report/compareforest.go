package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/compare"
	"krund/internal/display"
)

// ComparePlots draws a comparison: the effects of all keys on one axis and, if there is a
// calibration, the p-values of tables without a change.
func ComparePlots(r *compare.Result) []Drawing {
	list := []Drawing{compareForest(r)}
	if r.Calibration != nil {
		list = append(list, &Bars{
			Title: fmt.Sprintf("p-values of %s of the same data without a change",
				display.Count(r.Calibration.Splits, "table")),
			Axis: "p-value; a test that holds its level has equal bars", Counts: r.Calibration.Histogram,
		})
	}
	return list
}

// verdictOrder is the order of the keys in plots and on pages: the changes first.
var verdictOrder = []compare.Verdict{compare.Worse, compare.Better, compare.Changed, compare.CannotTell,
	compare.Same}

var verdictMarks = map[compare.Verdict]Mark{compare.Worse: WorseMark, compare.Better: BetterMark,
	compare.Changed: PlainMark, compare.Same: SameMark, compare.CannotTell: FaintMark}

// compareForest draws the ratio after/before of each key with its interval, the smallest change
// that could have been found as a wide gray line, and the interval of the null arm as a band.
func compareForest(r *compare.Result) *Forest {
	f, changes := &Forest{Title: compareTitle(r)}, ByVerdict(r)
	if len(changes) > mostForestRows {
		f.Title += fmt.Sprintf(", %d of %d keys", mostForestRows, len(changes))
		changes = changes[:mostForestRows]
	}
	names := compareNames(r)
	for i := range changes {
		benchmark, rest := names(changes[i].Key)
		f.Rows = append(f.Rows, compareLine(&changes[i], benchmark+" "+rest))
	}
	f.Span = ratioSpan(changes)
	f.Ticks = ratioTicks(f.Span)
	return f
}

// ByVerdict returns the keys in the order of their verdicts, and within one the largest effect
// first.
func ByVerdict(r *compare.Result) []compare.Change {
	return slices.SortedStableFunc(slices.Values(r.Changes), func(a, b compare.Change) int {
		return cmp.Or(slices.Index(verdictOrder, a.Verdict)-slices.Index(verdictOrder, b.Verdict),
			-cmp.Compare(effectSize(&a), effectSize(&b)))
	})
}

// effectSize is the size of a change in any direction; 0 without one.
func effectSize(c *compare.Change) float64 {
	if c.Steady == nil || c.Steady.Ratio == nil {
		return 0
	}
	return math.Abs(math.Log(float64(c.Steady.Ratio.Estimate)))
}

func compareLine(c *compare.Change, name string) ForestRow {
	row := ForestRow{Label: name, Mark: NoMark, Text: string(c.Verdict)}
	e := c.Steady
	if e == nil || e.Ratio == nil {
		return row
	}
	i := e.Ratio
	row.Point, row.Mark = float64(i.Estimate), verdictMarks[c.Verdict]
	low, high := i.Of(c.Verdict)
	row.Ends = Span{float64(low), float64(high)}
	row.Text = changeText(i.Estimate, low, high)
	if byClass(c) {
		row.Text += ", class"
	}
	if d := float64(e.Detectable); d > 0 && !math.IsInf(d, 0) {
		row.Light = &Span{1 / (1 + d), 1 + d}
	}
	if n := c.Null; n != nil && n.Ratio != nil {
		row.Band = &Span{float64(n.Ratio.AloneLow), float64(n.Ratio.AloneHigh)}
	}
	return row
}

// ratioSpan is the range of the axis: around 1, all estimates, and intervals up to three times as
// far.
func ratioSpan(changes []compare.Change) Span {
	const least, times, margin = 0.02, 3, 1.08
	far, low, high := least, 0.0, 0.0
	for i := range changes {
		far = max(far, times*effectSize(&changes[i]))
	}
	for i := range changes {
		if e := changes[i].Steady; e != nil && e.Ratio != nil {
			low = min(low, max(math.Log(float64(e.Ratio.Low)), -far))
			high = max(high, min(math.Log(float64(e.Ratio.High)), far))
		}
	}
	return Span{math.Exp(min(low*margin, -least)), math.Exp(max(high*margin, least))}
}

// ratioTicks are round percentages; for large changes round factors.
func ratioTicks(s Span) []float64 {
	if s.High > 2.5 || s.Low < 0.4 {
		return s.logTicks(forestLogTicks)
	}
	ticks := Span{100 * (s.Low - 1), 100 * (s.High - 1)}.Ticks(forestTicks)
	for i := range ticks {
		ticks[i] = 1 + ticks[i]/100
	}
	return ticks
}

// ratioTick writes a ratio as a percentage, or as a factor from 2.5 on.
func ratioTick(v float64) string {
	if v >= 2.5 || v <= 0.4 {
		return "×" + strconv.FormatFloat(v, 'g', 3, 64)
	}
	return signed(v, threeDigits)
}

func threeDigits(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

func oneDecimal(v float64) string { return display.Fixed(v, 1) }

// signed writes a ratio as a change in percent, with a sign: "+3.1 %".
func signed(ratio float64, number func(float64) string) string {
	p := 100 * (ratio - 1)
	if math.Abs(p) < 1e-9 { // 1 + 5/100 - 5/100
		p = 0
	}
	text := number(math.Abs(p))
	if ratio > 1e-12 && ratio < 0.001 { // not 100.0 %
		text = strconv.FormatFloat(-p, 'f', 1-int(math.Floor(math.Log10(100*ratio))), 64)
	}
	if strings.Trim(text, "0.") == "" {
		return text + " %"
	}
	if p < 0 {
		return "−" + text + " %"
	}
	return "+" + text + " %"
}

// changeText writes a ratio and its interval as changes: "+3.1 % (+1.0, +5.2)".
func changeText[T ~float64](ratio, low, high T) string {
	bound := func(v float64) string { return strings.TrimSuffix(signed(v, oneDecimal), " %") }
	from, to := endsText(float64(low), float64(high), 1, bound)
	return fmt.Sprintf("%s (%s, %s)", signed(float64(ratio), oneDecimal), from, to)
}

// compareNames names the keys of a comparison with short packages, as benchmark and "VM variant".
func compareNames(r *compare.Result) func(key string) (benchmark, rest string) {
	names := make([]string, len(r.Changes))
	for i := range r.Changes {
		names[i], _, _ = strings.Cut(r.Changes[i].Key, ":")
	}
	short := shortNames(names)
	return func(key string) (string, string) {
		benchmark, rest, _ := strings.Cut(key, ":")
		return short[benchmark], display.PlainLine(strings.ReplaceAll(rest, ":", " "))
	}
}
