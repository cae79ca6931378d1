package report

import (
	"slices"

	"gonum.org/v1/plot/vg"

	"krund/internal/analysis/steady"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// Distribution is a static plot of the empirical distribution functions of a key's executions.
type Distribution struct {
	Title  string
	Column string
	Unit   display.Unit // of the x axis
	Span   Span         // of the x axis: nearly all values
	Curves []Curve
}

// Curve is the distribution of one execution.
type Curve struct {
	Values []float64 // sorted: of its steady state, or of its second half
	Level  float64
	Steady bool
}

const (
	distributionHeight = 220
	curvePoints        = 120  // of a curve in a plot
	distributionTail   = 0.01 // share of the values beyond each end of the axis
)

// add adds an execution with its analysis.
func (d *Distribution) add(values []float64, e *warmup.Execution) {
	if e.Level == nil || len(values) == 0 {
		return
	}
	c := Curve{Level: e.Level.Value, Steady: e.Steady != nil}
	if c.Steady {
		c.Values = slices.Concat(steady.Values(values, e.Outliers, e.Steady.Ranges)...)
	} else {
		c.Values = slices.Clone(values[len(values)/2:])
	}
	slices.Sort(c.Values)
	d.Curves = append(d.Curves, c)
}

// finish determines the axis. It reports whether there is something to draw.
func (d *Distribution) finish(unit display.Unit) bool {
	var all []float64
	for _, c := range d.Curves {
		all = append(all, c.Values...)
		all = append(all, c.Level)
	}
	if len(all) <= len(d.Curves)*2 {
		return false // one value per execution: the chart of all keys shows them
	}
	d.Span = spanOf(all, distributionTail, fullMargin)
	d.Unit = unit.For(d.Span.High)
	return true
}

func (d *Distribution) title() string { return d.Title }

func (d *Distribution) height() vg.Length {
	return titleHeight + laneHeight + distributionHeight + axisHeight
}

func (d *Distribution) draw(c canvas, top vg.Length, _ int) {
	title(c, d.Title, plotLeft, top, figureUnits)
	top += titleHeight + laneHeight
	p := panel{canvas: c, xs: d.Span, ys: Span{0, 1}, size: textSize,
		Rectangle: box(plotLeft, plotRight, top, distributionHeight)}
	p.frame(5)
	p.ruler(d.Span.Ticks(8), func(v float64) string { return tickText(v, d.Span, d.Unit) })
	for _, curve := range d.Curves {
		style := seriesInk
		if !curve.Steady {
			style = axisInk
		}
		c.lines(style, p.steps(curve.Values))
		if x := p.x(curve.Level); x >= p.Min.X && x <= p.Max.X {
			c.lines(levelInk, []vg.Point{{X: x, Y: p.Min.Y - laneHeight + 4}, {X: x, Y: p.Min.Y - 2}})
		}
	}
	p.axisName(axisName(d.Column, d.Unit))
	c.text(label{text: "share of the iterations", at: vg.Point{X: textSize, Y: (p.Min.Y + p.Max.Y) / 2},
		size: textSize, anchor: middle, upright: true})
}

// steps returns the distribution function of sorted values, thinned to curvePoints.
func (p panel) steps(sorted []float64) []vg.Point {
	n := len(sorted)
	points := min(n, curvePoints)
	line := make([]vg.Point, 0, points+2)
	at := func(v, share float64) {
		x := min(max(p.x(v), p.Min.X), p.Max.X)
		line = append(line, vg.Point{X: x, Y: p.y(share)})
	}
	at(p.xs.Low, 0)
	for k := range points {
		i := k
		if n > points {
			i = k * (n - 1) / (points - 1)
		}
		at(sorted[i], float64(i)/float64(n))
		at(sorted[i], float64(i+1)/float64(n))
	}
	at(p.xs.High, 1)
	return line
}

// distribution writes the distributions of a key's executions and notes the file on its page.
func (s *site) distribution(p *pairPage) error {
	d := &Distribution{Title: p.Pair.Key, Column: s.in.Document.Parameters.Column}
	for e := range p.Pair.Executions {
		values, _ := s.in.Data.Pairs[p.Index].Executions[e].Values(d.Column)
		d.add(values, &p.Pair.Executions[e])
	}
	if !d.finish(display.UnitOf(s.in.Document.Unit)) {
		return nil
	}
	p.Distribution, p.DistributionHeight = p.Name+".svg", float64(d.height())
	return s.plot(p.Distribution, d)
}

// Bars is a static plot of a histogram over 0 to 1.
type Bars struct {
	Title  string
	Axis   string
	Counts []int
}

const barsHeight = 110

func (b *Bars) title() string { return b.Title }

func (b *Bars) height() vg.Length { return titleHeight + barsHeight + axisHeight }

func (b *Bars) draw(c canvas, top vg.Length, _ int) {
	title(c, b.Title, 8, top, figureUnits)
	if len(b.Counts) == 0 {
		return
	}
	total := 0
	for _, n := range b.Counts {
		total += n
	}
	p := panel{canvas: c, xs: Span{0, 1}, size: nameSize,
		Rectangle: box(forestLeft, forestRight, top+titleHeight, barsHeight),
		ys:        Span{0, float64(max(slices.Max(b.Counts), 1)) * (1 + fullMargin)}}
	p.frame(4)
	p.ruler(p.xs.Ticks(5), func(v float64) string { return tickText(v, p.xs, p.unit) })
	width := 1 / float64(len(b.Counts))
	const gap = 1
	for i, n := range b.Counts {
		from := vg.Point{X: p.x(float64(i)*width) + gap, Y: p.y(float64(n))}
		c.area(sameFill, "", corners(vg.Rectangle{Min: from,
			Max: vg.Point{X: p.x(float64(i+1)*width) - gap, Y: p.Max.Y}}))
	}
	p.lines(changeInk, p.level(p.y(float64(total)*width)))
	p.axisName(b.Axis)
}
