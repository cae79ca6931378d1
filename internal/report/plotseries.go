package report

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// plot makes a plot of the run with a range of y.
func (r *Run) plot(ys Span, circles bool) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.Transparent
	p.X.Min, p.X.Max = r.Numbers().Low, r.Numbers().High
	p.Y.Min, p.Y.Max = ys.Low, ys.High
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font = sans(7.5)
		axis.Tick.Label.Font = sans(6.5)
		axis.Tick.Length = 3
		axis.LineStyle.Width, axis.Tick.LineStyle.Width = 0.4, 0.4
		axis.Padding = 0
	}
	p.Y.Tick.Marker = roundTicks{about: 5, within: ys}
	if !circles {
		p.Y.Tick.Marker = roundTicks{about: 3, within: ys}
	}
	p.X.Tick.Marker = roundTicks{about: 8, whole: true, within: r.Numbers()}
	p.Add(seriesOf{r, ys, circles})
	return p
}

// seriesOf is a plotter of a run: grid, values, means, changepoints, outliers.
type seriesOf struct {
	run     *Run
	ys      Span
	circles bool
}

// Plot is plot.Plotter's.
func (s seriesOf) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, t := range p.Y.Tick.Marker.Ticks(s.ys.Low, s.ys.High) {
		c.StrokeLine2(draw.LineStyle{Color: gridColour, Width: 0.4}, c.Min.X, y(t.Value), c.Max.X, y(t.Value))
	}
	for _, stretch := range s.run.stretches() {
		points := make([]vg.Point, len(stretch))
		for i, v := range stretch {
			points[i] = vg.Point{X: x(v.X), Y: y(v.Y)}
		}
		c.StrokeLines(draw.LineStyle{Color: seriesColour, Width: 0.45}, c.ClipLinesXY(points)...)
	}
	s.means(c, x, y)
	for _, change := range s.run.Changes {
		at := x(float64(change + 1))
		c.StrokeLine2(draw.LineStyle{Color: outlierColour, Width: 0.5, Dashes: []vg.Length{3, 2}}, at, c.Min.Y, at, c.Max.Y)
	}
	if s.circles {
		s.outliers(c, x, y)
	}
}

func (s seriesOf) means(c draw.Canvas, x, y func(float64) vg.Length) {
	for _, m := range s.run.Means() {
		if m.Mean < s.ys.Low || m.Mean > s.ys.High {
			continue
		}
		style := draw.LineStyle{Color: otherColour, Width: 1, Dashes: []vg.Length{4, 2}}
		if m.Equivalent {
			style.Color = color.Black
		}
		c.StrokeLine2(style, x(m.From+1), y(m.Mean), x(m.To+1), y(m.Mean))
	}
}

// outliers circles them, in another colour those that other executions have.
func (s seriesOf) outliers(c draw.Canvas, x, y func(float64) vg.Length) {
	common := map[int]bool{}
	for _, i := range s.run.Common {
		common[i] = true
	}
	for _, i := range s.run.Outliers {
		if i >= len(s.run.Values) || !(s.run.Values[i] >= s.ys.Low && s.run.Values[i] <= s.ys.High) {
			continue
		}
		style := draw.GlyphStyle{Color: outlierColour, Radius: 2, Shape: draw.RingGlyph{}}
		if common[i] {
			style.Color = commonColour
		}
		c.DrawGlyphNoClip(style, vg.Point{X: x(float64(i + 1)), Y: y(s.run.Values[i])})
	}
}

// stretches are the values between gaps, with the numbers of their iterations.
func (r *Run) stretches() []plotter.XYs {
	var list []plotter.XYs
	var open plotter.XYs
	for i, v := range r.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			if len(open) > 0 {
				list, open = append(list, open), nil
			}
			continue
		}
		open = append(open, plotter.XY{X: float64(i + 1), Y: v})
	}
	if len(open) > 0 {
		list = append(list, open)
	}
	return list
}
