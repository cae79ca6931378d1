package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"krund/internal/display"
)

const chartFile = "keys.svg"

// keyChart draws the keys side by side: the median of each key's executions with their 5th and 95th
// percentile, the keys of a benchmark next to each other. nil: fewer than two keys have values.
func (in *Material) keyChart() *Forest {
	doc, unit := in.Document, display.UnitOf(in.Document.Unit)
	short := shortNames(benchmarks(doc))
	order := map[string]int{} // of benchmarks
	index := make([]int, 0, len(doc.Pairs))
	low, high := math.Inf(1), math.Inf(-1)
	for i := range doc.Pairs {
		p := &doc.Pairs[i]
		if _, ok := order[p.Benchmark]; !ok {
			order[p.Benchmark] = len(order)
		}
		if l := p.Levels; l != nil && !math.IsInf(l.P95, 0) {
			index = append(index, i)
			low, high = min(low, l.P5), max(high, l.P95)
		}
	}
	if len(index) < 2 {
		return nil
	}
	slices.SortStableFunc(index, func(a, b int) int {
		p, q := &doc.Pairs[a], &doc.Pairs[b]
		return cmp.Or(order[p.Benchmark]-order[q.Benchmark], cmp.Compare(p.Levels.Median, q.Levels.Median))
	})
	index = index[:min(len(index), mostForestRows)]
	f := &Forest{Title: "Median of the executions, 5th to 95th percentile"}
	const apart = 10 // times, from which an axis is logarithmic
	if f.Log = low > 0 && high > apart*low; f.Log {
		f.Span = Span{low / 1.1, high * 1.1}
	} else {
		f.Span = spanOf([]float64{low, high}, 0, fullMargin)
	}
	axis := unit.For(high)
	f.Axis, f.Ticks = axisName(doc.Parameters.Column, axis), f.Span.Ticks(forestTicks)
	f.Tick = func(v float64) string { return tickText(v, f.Span, axis) }
	if f.Log {
		f.Axis, f.Tick, f.Ticks = doc.Parameters.Column, unit.Short, f.Span.logTicks(forestLogTicks)
	}
	for _, i := range index {
		p := &doc.Pairs[i]
		k := p.ParsedKey()
		f.Rows = append(f.Rows, ForestRow{
			Label: display.PlainLine(fmt.Sprintf("%s %s %s", short[p.Benchmark], k.VM, k.VariantArm())),
			Text:  unit.Value(p.Levels.Median), Point: p.Levels.Median, Ends: Span{p.Levels.P5, p.Levels.P95},
		})
	}
	return f
}

// chart writes the chart of all keys and notes it on the front page.
func (s *site) chart(p *indexPage) error {
	f := s.in.keyChart()
	if f == nil {
		return nil
	}
	p.Chart, p.ChartHeight = chartFile, float64(f.height())
	p.ChartText = f.Title + " of " + display.Count(len(f.Rows), "key")
	return s.plot(chartFile, f)
}
