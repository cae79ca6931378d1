package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/plot/vg"

	"krund/internal/analysis/compare"
	"krund/internal/display"
)

// Forest is a static plot of a comparison, with a line per key: its name, the ratio after/before
// with an interval on a common logarithmic axis, and the change in words.
type Forest struct {
	Title string
	Rows  []ForestRow
	Span  Span // of the axis; parts of intervals beyond it are cut off
	Ticks []float64

	narrow bool // for a small screen: names and texts are above their lines
}

// ForestRow is a line of a Forest.
type ForestRow struct {
	Label string
	Text  string // on the right
	Point float64
	Ends  Span // of the interval
	// Light is a wide gray line behind the interval, Band a gray area behind both; nil: none.
	Light, Band *Span
	Mark        Mark
}

// Mark is the sign of a value. Signs differ in shape as well as in color.
type Mark int

// The marks.
const (
	PlainMark  Mark = iota // a blue circle
	BetterMark             // a green triangle that points down: less time
	WorseMark              // an orange triangle that points up
	SameMark               // a blue square
	FaintMark              // a gray ring
	NoMark                 // only the label and the text
)

const (
	forestRow                   = 20 // height
	forestLeft, forestRight     = 300, 730
	mostForestRows              = 400
	forestLogTicks, forestTicks = 8, 6
)

func (f *Forest) title() string { return f.Title }

// narrowUnits is the width of a narrow figure.
const narrowUnits = 380

func (f *Forest) width() vg.Length {
	if f.narrow {
		return narrowUnits
	}
	return figureUnits
}

// rowHeight is that of a row, whose line is in the middle of the lowest forestRow units.
func (f *Forest) rowHeight() vg.Length {
	if f.narrow {
		return 2 * forestRow
	}
	return forestRow
}

func (f *Forest) height() vg.Length {
	return titleHeight + vg.Length(len(f.Rows))*f.rowHeight() + axisHeight
}

func (f *Forest) draw(c canvas, top vg.Length, _ int) {
	const small = 20 // margin of a narrow figure
	title(c, f.Title, 8, top, f.width())
	top += titleHeight
	p := panel{canvas: c, xs: Span{math.Log(f.Span.Low), math.Log(f.Span.High)}, ys: Span{0, 1},
		size: textSize, Rectangle: box(forestLeft, forestRight, top, vg.Length(len(f.Rows))*f.rowHeight())}
	if f.narrow {
		p.Rectangle = box(small, narrowUnits-small, top, vg.Length(len(f.Rows))*f.rowHeight())
	}
	for i := range f.Rows {
		f.band(p, f.Rows[i].Band, top+vg.Length(i+1)*f.rowHeight()-forestRow)
	}
	f.axis(p)
	p.lines(changeInk, p.upright(p.log(1)))
	for i := range f.Rows {
		f.row(p, &f.Rows[i], top+vg.Length(i+1)*f.rowHeight()-forestRow/2)
	}
}

// log is the place of a ratio on a logarithmic axis.
func (p panel) log(ratio float64) vg.Length { return p.x(math.Log(ratio)) }

// axis draws the grid and the numbers below it.
func (f *Forest) axis(p panel) {
	logs := make([]float64, len(f.Ticks))
	for i, t := range f.Ticks {
		logs[i] = math.Log(t)
	}
	p.ruler(logs, func(v float64) string { return f.Span.ratioTick(math.Exp(v)) })
	p.lines(axisInk, append(corners(p.Rectangle), p.Min))
	p.axisName("change of the steady state")
}

func (f *Forest) band(p panel, s *Span, top vg.Length) {
	if s == nil {
		return
	}
	if a, b, ok := f.clip(p, *s); ok {
		p.area(bandInk, "", corners(vg.Rectangle{Min: vg.Point{X: a, Y: top},
			Max: vg.Point{X: b, Y: top + forestRow}}))
	}
}

func (f *Forest) row(p panel, r *ForestRow, y vg.Length) {
	name := label{text: r.Label, at: vg.Point{X: forestLeft - 8, Y: y}, anchor: end,
		size: fitting(r.Label, forestLeft-16)}
	text := label{text: r.Text, at: vg.Point{X: forestRight + 8, Y: y},
		size: fitting(r.Text, figureUnits-forestRight-12)}
	if f.narrow {
		above, half := y-forestRow, vg.Length(narrowUnits/2)
		name = label{text: r.Label, at: vg.Point{X: 8, Y: above}, size: fitting(r.Label, half-8)}
		text = label{text: r.Text, at: vg.Point{X: narrowUnits - 8, Y: above}, anchor: end,
			size: fitting(r.Text, half-16)}
	}
	p.text(name)
	p.text(text)
	if r.Mark == NoMark {
		return
	}
	if r.Light != nil {
		if a, b, ok := f.clip(p, *r.Light); ok {
			p.lines(lightInk, []vg.Point{{X: a, Y: y}, {X: b, Y: y}})
		}
	}
	style := marks[r.Mark]
	if a, b, ok := f.clip(p, r.Ends); ok {
		p.lines(style.line, []vg.Point{{X: a, Y: y}, {X: b, Y: y}})
	}
	if !(r.Point >= f.Span.Low && r.Point <= f.Span.High) {
		return
	}
	x := p.log(r.Point)
	if style.corners == nil {
		p.circles(style.line, markRadius, []vg.Point{{X: x, Y: y}})
		return
	}
	p.area(style.fill, r.Label+": "+r.Text, around(vg.Point{X: x, Y: y}, style.corners))
}

// clip returns the ends of an interval in the panel; ok is false if it lies outside.
func (f *Forest) clip(p panel, s Span) (from, to vg.Length, ok bool) {
	low, high := max(s.Low, f.Span.Low), min(s.High, f.Span.High)
	if !(low <= high) {
		return 0, 0, false
	}
	return p.log(low), p.log(high), true
}

const markRadius = 4.5

var marks = [...]struct {
	line, fill ink
	corners    [][2]vg.Length // nil: a ring
}{
	PlainMark:  {sameInk, sameFill, [][2]vg.Length{{-4, 0}, {0, -4}, {4, 0}, {0, 4}}},
	BetterMark: {betterInk, betterFill, [][2]vg.Length{{-6, -4}, {6, -4}, {0, 6}}},
	WorseMark:  {worseInk, worseFill, [][2]vg.Length{{-6, 4}, {6, 4}, {0, -6}}},
	SameMark:   {sameInk, sameFill, [][2]vg.Length{{-4, -4}, {4, -4}, {4, 4}, {-4, 4}}},
	FaintMark:  {faintInk, faintInk, nil},
}

// fitting returns the size at which a text fits into a width.
func fitting(text string, width vg.Length) vg.Length {
	const letter = 0.56 // mean width of a letter relative to the size
	return min(nameSize, width/(letter*vg.Length(max(utf8.RuneCountInString(text), 1))))
}

// logTicks returns up to about n values 1, 2 or 5 times a power of ten within a positive span; if
// those are too many, only the powers of ten.
func (s Span) logTicks(n int) []float64 {
	if !(s.Low > 0) || math.IsInf(s.High, 0) {
		return nil
	}
	first, last := int(math.Floor(math.Log10(s.Low))), int(math.Ceil(math.Log10(s.High)))
	every := max(1, (last-first+n-1)/n)
	for _, steps := range [][]float64{{1, 1.5, 2, 3, 4, 5, 6, 8}, {1, 2, 5}, {1}} {
		var ticks []float64
		for e := first; e <= last; e += every {
			for _, k := range steps {
				if t := k * math.Pow10(e); t >= s.Low && t <= s.High {
					ticks = append(ticks, t)
				}
			}
		}
		if len(ticks) <= n || len(steps) == 1 {
			return ticks
		}
	}
	return nil
}

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
	if s.doubles() {
		return s.logTicks(forestLogTicks)
	}
	ticks := Span{100 * (s.Low - 1), 100 * (s.High - 1)}.Ticks(forestTicks)
	for i := range ticks {
		ticks[i] = 1 + ticks[i]/100
	}
	return ticks
}

// doubles reports whether a ratio doubles or halves within the span.
func (s Span) doubles() bool { return doubled(s.Low) || doubled(s.High) }

// doubled reports whether a factor says more than a percentage, as of 2 or more, or its inverse.
func doubled(ratio float64) bool { return ratio >= 2 || ratio <= 0.5 }

// ratioTick writes a ratio on an axis: as a percentage, or all of them as factors.
func (s Span) ratioTick(v float64) string {
	if s.doubles() {
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

// changeText writes a ratio and its interval as changes, "+3.1 % (+1.0, +5.2)", or as the factors
// that sentences have, "×92.1 (85.8, 98.8)".
func changeText[T ~float64](ratio, low, high T) string {
	if doubled(float64(ratio)) {
		from, to := endsText(float64(low), float64(high), 1, timesText)
		return fmt.Sprintf("×%s (%s, %s)", timesText(float64(ratio)), from, to)
	}
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
