package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/quantile"
	"krund/internal/analysis/warmup"
	"krund/internal/key"
)

// Row is a key's line in the study's Table 2.
type Row struct {
	Key        string             `json:"key"`
	Benchmark  string             `json:"benchmark"`
	VM         string             `json:"vm"`
	Variant    string             `json:"variant"`
	Arm        string             `json:"arm,omitempty"`
	Executions int                `json:"executions"` // planned and made, reruns included
	Analysed   int                `json:"analysed"`
	Class      classify.PairClass `json:"classification"` // "" if nothing was analyzed
	Counts     classify.Counts    `json:"counts"`
	// The steady state, nil where there is none: see warmup.Pair.
	SteadyIteration   *quantile.Spread    `json:"steady_iteration"`
	SteadySeconds     *quantile.Spread    `json:"steady_seconds"`
	SteadyPerformance *warmup.Performance `json:"steady_performance"`
	// Thumbnails over the executions that have a steady state.
	IterationHistogram   *Histogram       `json:"iteration_histogram"`
	PerformanceHistogram *Histogram       `json:"performance_histogram"`
	Warnings             []warmup.Warning `json:"warnings"`
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
		Executions: len(p.Executions), Analysed: p.Status.Analysed, Class: p.Classification, Counts: p.Counts,
		SteadyIteration: p.SteadyIteration, SteadySeconds: p.SteadySeconds,
		SteadyPerformance: p.SteadyPerformance,
		Warnings:          p.Warnings,
	}
	var iterations, means []float64
	longest := 0
	for i := range p.Executions {
		e := &p.Executions[i]
		longest = max(longest, e.Iterations)
		if e.Steady != nil {
			iterations = append(iterations, float64(e.Steady.Iteration))
			means = append(means, e.Steady.Mean)
		}
	}
	if len(iterations) > 0 {
		r.IterationHistogram = newHistogram(iterations, 1, float64(max(longest, 2)))
		r.PerformanceHistogram = newHistogram(means, slices.Min(means), slices.Max(means))
	}
	return r
}

// bins is the number of bars of a thumbnail, as in warmup_stats' tables.
const bins = 10

// Histogram is a thumbnail: counts of values in bins of equal width.
type Histogram struct {
	Low    float64   `json:"low"`  // left edge of the first bin
	High   float64   `json:"high"` // right edge of the last one, which belongs to it
	Counts [bins]int `json:"counts"`
}

func newHistogram(values []float64, low, high float64) *Histogram {
	h := &Histogram{Low: low, High: high}
	for _, v := range values {
		h.Counts[h.bin(v)]++
	}
	return h
}

// bin returns the index of the bin of a value.
func (h *Histogram) bin(v float64) int {
	if !(h.High > h.Low) {
		return bins / 2 // all values are equal
	}
	return min(max(int(math.Floor((v-h.Low)/(h.High-h.Low)*bins)), 0), bins-1)
}

// median returns the index of the bin that contains the lower median, which tables highlight, as
// the study's do; -1 without values.
func (h *Histogram) median() int {
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
func (h *Histogram) Text() string {
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
	if r.Class != classify.GoodInconsistent && r.Class != classify.BadInconsistent {
		return text
	}
	var parts []string
	for _, c := range r.byCount() {
		parts = append(parts, strconv.Itoa(r.Counts.Of(c))+symbol(classify.PairClass(c)))
	}
	return text + " (" + strings.Join(parts, " ") + ")"
}

// byCount are the classes that executions have, the most frequent first.
func (r Row) byCount() []classify.Class {
	classes := slices.Clone(classify.Classes)
	slices.SortStableFunc(classes, func(x, y classify.Class) int { return r.Counts.Of(y) - r.Counts.Of(x) })
	return slices.DeleteFunc(classes, func(c classify.Class) bool { return r.Counts.Of(c) == 0 })
}

// ExecutionsText returns "30", or "28 of 30" if some are left out.
func (r Row) ExecutionsText() string {
	if r.Analysed == r.Executions {
		return strconv.Itoa(r.Executions)
	}
	return fmt.Sprintf("%d of %d", r.Analysed, r.Executions)
}

// Number formats a value with four significant digits, without exponent unless it is very small;
// from 1000 with one decimal, as in the study's tables.
func Number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return ""
	case a >= 1000:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a != 0 && a < 1e-4:
		return strconv.FormatFloat(v, 'e', 3, 64)
	default:
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
}

// spreadText formats "median (5th, 95th percentile)"; "" for nil.
func spreadText(s *quantile.Spread) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%s (%s, %s)", Number(s.Median), Number(s.P5), Number(s.P95))
}

// performanceText formats "mean ±half", to the interval's precision; "" for nil.
func performanceText(p *warmup.Performance, plusMinus string) string {
	if p == nil {
		return ""
	}
	mean, half := withInterval(p.Mean, p.Half)
	return mean + " " + plusMinus + half
}

// withInterval formats a mean to two digits more than the first digit of its interval's half width,
// and the half width to the same place.
func withInterval(mean, half float64) (string, string) {
	if !(half > 0) || half < math.Abs(mean)*1e-6 {
		return strconv.FormatFloat(mean, 'g', 6, 64), strconv.FormatFloat(half, 'g', 2, 64)
	}
	if math.Abs(mean) < 1e-4 {
		digits := int(math.Floor(math.Log10(math.Abs(mean)))) - int(math.Floor(math.Log10(half))) + 1
		return strconv.FormatFloat(mean, 'e', min(max(digits, 1), 12), 64), strconv.FormatFloat(half, 'e', 1,
			64)
	}
	places := min(max(1-int(math.Floor(math.Log10(half))), 0), 12)
	return strconv.FormatFloat(mean, 'f', places, 64), strconv.FormatFloat(half, 'f', places, 64)
}

// plain is classify's symbol in plain text.
func plain(c classify.PairClass) string { return c.Symbol() }

// Share is a line of the study's Table 1.
type Share struct {
	Class      classify.PairClass `json:"class"`
	Pairs      int                `json:"pairs"`
	Executions *int               `json:"executions"` // nil for the inconsistent classes
}

// Shares returns the study's Table 1: pairs and executions in each class.
func Shares(doc *warmup.Document) []Share {
	var list []Share
	for _, c := range classify.Classes {
		n := doc.Totals.Executions.Of(c)
		list = append(list, Share{classify.PairClass(c), doc.Totals.Pairs[classify.PairClass(c)], &n})
	}
	for _, c := range []classify.PairClass{classify.GoodInconsistent, classify.BadInconsistent} {
		list = append(list, Share{c, doc.Totals.Pairs[c], nil})
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
