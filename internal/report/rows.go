// Package report presents an analysis to readers: as tables in six formats, plots, and a directory
// of HTML pages.
//
// It computes no results: classes, intervals and warnings come from the analysis document (package
// warmup) and from the facts in the records. It only chooses ranges of axes and bins of histograms.
//
// Start reading at [Rows], the values of the study's Table 2, which every table format writes, and
// at [NewRun], the geometry of a run-sequence plot. It has two renderers: [Figure] for SVG, PDF and
// PNG, and assets/plots.js, which is interactive, for browsers. [Site] writes the pages.
//
// All content of files (names of benchmarks, messages of kernels) is treated as text: HTML and
// LaTeX are escaped by context.
package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
	"krund/internal/experiment/key"
)

// Row is a key's line in the study's Table 2.
type Row struct {
	Key        string             `json:"key"`
	Benchmark  string             `json:"benchmark"`
	VM         string             `json:"vm"`
	Variant    string             `json:"variant"`
	Arm        string             `json:"arm,omitempty"`
	Instrument string             `json:"instrument,omitempty"` // as in warmup.Pair
	Executions int                `json:"executions"`           // planned and made, reruns included
	Analysed   int                `json:"analysed"`
	Class      classify.PairClass `json:"classification"` // "" if nothing was analyzed
	Counts     classify.Counts    `json:"counts"`
	// The steady state, nil where there is none: see warmup.Pair.
	SteadyIteration   *arith.Spread       `json:"steady_iteration"`
	SteadySeconds     *arith.Spread       `json:"steady_seconds"`
	SteadyPerformance *warmup.Performance `json:"steady_performance"`
	// Levels are those of the executions; nil when none has one.
	Levels *warmup.Levels `json:"levels"`
	// Thumbnails over the executions that have a steady state.
	IterationHistogram   *Thumbnail       `json:"iteration_histogram"`
	PerformanceHistogram *Thumbnail       `json:"performance_histogram"`
	Warnings             []warmup.Warning `json:"warnings"`

	starts []warmup.Steady // of the executions that have a steady state
}

// VariantArm returns "variant@arm"; without an arm, the variant.
func (r *Row) VariantArm() string { return key.Key{Variant: r.Variant, Arm: r.Arm}.VariantArm() }

// Rows returns a row per pair of the document, in its order.
func Rows(doc *warmup.Document) []Row {
	rows := make([]Row, len(doc.Pairs))
	for i := range doc.Pairs {
		rows[i] = rowOf(&doc.Pairs[i])
	}
	return rows
}

func rowOf(p *warmup.Pair) Row {
	r := Row{
		Key: p.Key, Benchmark: p.Benchmark, VM: p.VM, Variant: p.Variant, Arm: p.Arm,
		Instrument: p.Instrument, Executions: len(p.Executions), Analysed: p.Status.Analysed,
		Class: p.Classification, Counts: p.Counts,
		SteadyIteration: p.SteadyIteration, SteadySeconds: p.SteadySeconds,
		SteadyPerformance: p.SteadyPerformance, Levels: p.Levels,
		Warnings: p.Warnings,
	}
	var iterations, means []float64
	longest := 0
	for i := range p.Executions {
		e := &p.Executions[i]
		longest = max(longest, e.Iterations)
		if e.Steady != nil {
			r.starts = append(r.starts, *e.Steady)
			iterations = append(iterations, float64(e.Steady.Iteration))
			means = append(means, e.Steady.Mean)
		}
	}
	if len(iterations) > 0 {
		r.IterationHistogram = newThumbnail(iterations, 1, float64(max(longest, 2)))
		r.PerformanceHistogram = newThumbnail(means, slices.Min(means), slices.Max(means))
	}
	return r
}

// bins is the number of bars of a thumbnail, as in warmup_stats' tables.
const bins = 10

// Thumbnail is a small histogram: counts of values in bins of equal width.
type Thumbnail struct {
	Low    float64   `json:"low"`  // left edge of the first bin
	High   float64   `json:"high"` // right edge of the last one, which belongs to it
	Counts [bins]int `json:"counts"`
}

func newThumbnail(values []float64, low, high float64) *Thumbnail {
	h := &Thumbnail{Low: low, High: high}
	for _, v := range values {
		h.Counts[h.bin(v)]++
	}
	return h
}

// bin returns the index of the bin of a value.
func (h *Thumbnail) bin(v float64) int {
	if !(h.High > h.Low) {
		return bins / 2 // all values are equal
	}
	return min(max(int(math.Floor((v-h.Low)/(h.High-h.Low)*bins)), 0), bins-1)
}

// median returns the index of the bin that contains the lower median, which tables highlight, as
// the study's do; -1 without values.
func (h *Thumbnail) median() int {
	total, sum := 0, 0
	for _, n := range h.Counts {
		total += n
	}
	for i, n := range h.Counts {
		if sum += n; total > 0 && 2*sum >= total {
			return i
		}
	}
	return -1
}

// bars are the eight block characters of a thumbnail in text.
var bars = [...]rune{'▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'}

// Text draws the histogram with block characters: a space for an empty bin.
func (h *Thumbnail) Text() string {
	if h == nil {
		return ""
	}
	most := slices.Max(h.Counts[:])
	var b strings.Builder
	for _, n := range h.Counts {
		if n == 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(bars[(n*len(bars)-1)/most])
	}
	return b.String()
}

// ClassText returns the symbol and, for inconsistent pairs, the number of executions in each class,
// the most frequent first: "x (6\ 4~)".
func (r Row) ClassText(symbol func(classify.PairClass) string) string {
	if r.Class == classify.None {
		return "?"
	}
	text := symbol(r.Class)
	if r.BelowDelta() {
		return text + "?"
	}
	if r.Class != classify.GoodInconsistent && r.Class != classify.BadInconsistent {
		return text
	}
	var parts []string
	for _, c := range r.byCount() {
		parts = append(parts, strconv.Itoa(r.Counts.Of(c))+symbol(classify.PairClass(c)))
	}
	return text + " (" + strings.Join(parts, " ") + ")"
}

// BelowDelta reports whether the key is flat with iterations shorter than the analysis's absolute
// delta: then no change of a mean could have counted, so that flat says nothing. Its class is
// followed by a question mark.
func (r Row) BelowDelta() bool {
	return r.Class == classify.PairClass(classify.Flat) && slices.ContainsFunc(r.Warnings,
		func(w warmup.Warning) bool { return w.Code == "below_delta" })
}

// byCount are the classes that executions have, the most frequent first.
func (r Row) byCount() []classify.Class {
	classes := slices.Clone(classify.Classes)
	slices.SortStableFunc(classes, func(x, y classify.Class) int { return r.Counts.Of(y) - r.Counts.Of(x) })
	return slices.DeleteFunc(classes, func(c classify.Class) bool { return r.Counts.Of(c) == 0 })
}

// ExecutionsText returns "30", or "28 of 30" if some are left out; of an instrumented key
// "30, events".
func (r Row) ExecutionsText() string {
	if level := r.Instrument; level != "" {
		r.Instrument = ""
		return r.ExecutionsText() + ", " + level
	}
	if r.Analysed == r.Executions {
		return strconv.Itoa(r.Executions)
	}
	return fmt.Sprintf("%d of %d", r.Analysed, r.Executions)
}

// Number formats a number of iterations, or another number without a unit, with four significant
// digits, without exponent unless it is very small or very large; from 1000 with one decimal, as in
// the study's tables.
func Number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return ""
	case a >= 1000:
		return display.Fixed(v, 1)
	case a != 0 && a < 1e-4:
		return strconv.FormatFloat(v, 'e', 3, 64)
	default:
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
}

// countsText formats "median (5th, 95th percentile)" of numbers of iterations; "" for nil.
func countsText(s *arith.Spread) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%s (%s, %s)", Number(s.Median), Number(s.P5), Number(s.P95))
}

// valuesText is countsText for values of a unit.
func valuesText(s *arith.Spread, unit display.Unit) string {
	if s == nil {
		return ""
	}
	return unit.Range(s.Median, s.P5, s.P95)
}

// StartText formats when the executions become steady: both numbers of iterations if there are two,
// between which percentiles would look exact, else "median (5th, 95th percentile)"; "" for none.
func (r Row) StartText() string {
	if len(r.starts) != 2 || r.SteadyIteration == nil {
		return countsText(r.SteadyIteration)
	}
	a, b := float64(r.starts[0].Iteration), float64(r.starts[1].Iteration)
	return Number(min(a, b)) + ", " + Number(max(a, b))
}

// StartTimeText is StartText in time.
func (r Row) StartTimeText() string {
	if len(r.starts) != 2 || r.SteadySeconds == nil {
		return valuesText(r.SteadySeconds, secondsUnit)
	}
	a, b := float64(r.starts[0].Seconds), float64(r.starts[1].Seconds)
	return secondsUnit.Value(min(a, b)) + ", " + secondsUnit.Value(max(a, b))
}

// performanceHead is the head of a column of performanceText.
func performanceHead(p warmup.Parameters) string {
	return fmt.Sprintf("steady perf ±%g%%", 100*p.Confidence)
}

// performanceText formats "mean ±half"; "" for nil.
func performanceText(p *warmup.Performance, unit display.Unit) string {
	if p == nil {
		return ""
	}
	return unit.Interval(p.Mean, p.Half)
}

// MedianText and MeanText format the median and the mean of the executions' levels; "" without any.
func (r Row) MedianText(unit display.Unit) string {
	if r.Levels == nil {
		return ""
	}
	return unit.Value(r.Levels.Median)
}

// MeanText is described at MedianText.
func (r Row) MeanText(unit display.Unit) string {
	if r.Levels == nil {
		return ""
	}
	return unit.Value(r.Levels.Mean)
}

// secondsUnit is that of times beside the analyzed values.
var secondsUnit = display.UnitOf(dataset.Seconds)

// plain is classify's symbol in plain text.
func plain(c classify.PairClass) string { return cmp.Or(c.Symbol(), "?") }

// classSigns are the study's signs for classes, in Unicode and in LaTeX.
var classSigns = map[classify.PairClass][2]string{
	"flat": {"―", `$-$`}, "warmup": {"╲", `$\searrow$`}, "slowdown": {"╱", `$\nearrow$`},
	"no steady state": {"∿", `$\sim$`}, classify.GoodInconsistent: {"=", `$=$`},
	classify.BadInconsistent: {"≠", `$\neq$`},
}

func unicodeSymbol(c classify.PairClass) string { return cmp.Or(classSigns[c][0], "?") }

func latexSymbol(c classify.PairClass) string { return cmp.Or(classSigns[c][1], "?") }

// ClassRow is a line of the study's Table 1.
type ClassRow struct {
	Class      classify.PairClass `json:"class"`
	Pairs      int                `json:"pairs"`
	Executions *int               `json:"executions"` // nil for the inconsistent classes
}

// ClassRows returns the study's Table 1: pairs and executions in each class.
func ClassRows(doc *warmup.Document) []ClassRow {
	var list []ClassRow
	for _, c := range classify.Classes {
		n := doc.Totals.Executions.Of(c)
		list = append(list, ClassRow{classify.PairClass(c), doc.Totals.Pairs[classify.PairClass(c)], &n})
	}
	for _, c := range []classify.PairClass{classify.GoodInconsistent, classify.BadInconsistent} {
		list = append(list, ClassRow{c, doc.Totals.Pairs[c], nil})
	}
	return list
}

// percent formats a share of a whole as "12.5%"; "0%" if the whole is 0.
func percent(n, of int) string {
	if of == 0 {
		return "0%"
	}
	return strconv.FormatFloat(100*float64(n)/float64(of), 'f', 1, 64) + "%"
}

// classified returns the number of pairs and executions with a class.
func classified(doc *warmup.Document) (pairs, executions int) {
	for _, n := range doc.Totals.Pairs {
		pairs += n
	}
	return pairs, doc.Totals.Executions.Total()
}
