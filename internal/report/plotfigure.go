package report

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"krund/internal/display"
)

// draw puts the parts below each other: the benchmark's own columns, the strip,
// the whole run with the inset in it, and the cores.
func (f *Figure) draw(c draw.Canvas) {
	above, below := f.Run.sortedPanels()
	parts := make([]part, 0, len(f.Run.Panels)+2)
	for i := range above {
		parts = append(parts, part{columnPlot(&f.Run, &above[i]), columnHeight})
	}
	parts = append(parts, part{f.Run.plot(f.Run.Zoom, false), stripHeight})
	whole := f.Run.plot(f.Run.Full, true)
	whole.X.Label.Text = "in-process iteration"
	whole.Y.Label.Text = display.PlainLine(f.Axis)
	f.Run.addEvents(whole)
	wholeAt := len(parts)
	parts = append(parts, part{whole, wholeHeight})
	for i := range below {
		parts = append(parts, part{columnPlot(&f.Run, &below[i]), columnHeight})
	}
	parts[0].plot.Title.Text = display.PlainLine(f.Title)
	parts[0].plot.Title.TextStyle.Font = sans(9)
	parts[0].plot.Title.Padding = 3
	for i := range parts {
		if i != wholeAt {
			parts[i].plot.X.Tick.Marker = plot.ConstantTicks(nil)
		}
	}
	canvas := drawParts(c, parts)
	if f.Run.Inset > 0 {
		f.inset(whole.DataCanvas(canvas[wholeAt]))
	}
}

// part is a plot and how much of the figure's height it takes.
type part struct {
	plot   *plot.Plot
	height vg.Length
}

// drawParts draws plots whose data begin and end at the same places, and gives
// where.
func drawParts(c draw.Canvas, parts []part) []draw.Canvas {
	list := make([]draw.Canvas, len(parts))
	var left, right vg.Length
	top := c.Max.Y
	for i, p := range parts {
		list[i] = draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: top - p.height}, Max: vg.Point{X: c.Max.X, Y: top}}}
		data := p.plot.DataCanvas(list[i])
		left, right = max(left, data.Min.X-list[i].Min.X), max(right, list[i].Max.X-data.Max.X)
		top -= p.height + partGap
	}
	for i, p := range parts {
		data := p.plot.DataCanvas(list[i])
		list[i].Min.X += left - (data.Min.X - list[i].Min.X)
		list[i].Max.X -= right - (list[i].Max.X - data.Max.X)
		p.plot.Draw(list[i])
	}
	return list
}

// inset draws the first iterations where they hide least.
func (f *Figure) inset(data draw.Canvas) {
	first := Run{Values: f.Run.Values[:f.Run.Inset]}
	for _, i := range f.Run.Outliers {
		if i < f.Run.Inset {
			first.Outliers = append(first.Outliers, i)
		}
	}
	p := first.plot(f.Run.InsetSpan, true)
	p.BackgroundColor = color.White
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Tick.Label.Font = sans(5)
		axis.Tick.Length = 2
	}
	width, height := data.Max.X-data.Min.X, data.Max.Y-data.Min.Y
	left, top := data.Min.X+width*vg.Length(f.Run.InsetLeft), data.Max.Y-height*vg.Length(f.Run.InsetTop)
	c := draw.Canvas{Canvas: data.Canvas, Rectangle: vg.Rectangle{
		Min: vg.Point{X: left, Y: top - height*insetHeight}, Max: vg.Point{X: left + width*insetWidth, Y: top},
	}}
	p.Draw(c)
	c.StrokeLines(draw.LineStyle{Color: otherColour, Width: 0.4}, c.ClipLinesXY([]vg.Point{
		c.Min, {X: c.Min.X, Y: c.Max.Y}, c.Max, {X: c.Max.X, Y: c.Min.Y}, c.Min,
	})...)
	inner := p.DataCanvas(c)
	c.FillText(textStyle(5.5, draw.XRight, draw.YTop), vg.Point{X: inner.Max.X - 2, Y: inner.Max.Y - 1}, fmt.Sprintf("first %d", f.Run.Inset))
}

// columnPlot draws another column, with its name in the corner.
func columnPlot(r *Run, c *Panel) *plot.Plot {
	own := Run{Values: c.Values}
	p := own.plot(c.Span, false)
	p.X.Min, p.X.Max = r.Numbers().Low, r.Numbers().High
	p.Y.Tick.Marker = roundTicks{about: 2, within: c.Span}
	p.Add(cornerText(display.PlainLine(c.Title)))
	return p
}

// cornerText is a plotter that writes into the upper left corner.
type cornerText string

// Plot is plot.Plotter's.
func (t cornerText) Plot(c draw.Canvas, _ *plot.Plot) {
	c.FillText(textStyle(6.5, draw.XLeft, draw.YTop), vg.Point{X: c.Min.X + 3, Y: c.Max.Y - 1}, string(t))
}

// eventRoom is the room below the values that events take, as a part of the
// height.
const eventRoom = 0.09

// addEvents puts signs at the foot of the plot, and a line where the kernel
// spoke.
func (r *Run) addEvents(p *plot.Plot) {
	if len(r.Events) > 0 {
		p.Y.Min -= (p.Y.Max - p.Y.Min) * eventRoom
		p.Add(eventSigns{r})
	}
}

// eventSigns is a plotter of a run's events.
type eventSigns struct{ run *Run }

// Plot is plot.Plotter's.
func (s eventSigns) Plot(c draw.Canvas, p *plot.Plot) {
	toX, _ := p.Transforms(&c)
	const radius, lift = 2.2, 5
	seen := map[EventKind]bool{}
	for _, e := range labelsLast(s.run.Events) {
		x := min(max(toX(e.At+1), c.Min.X), c.Max.X)
		look := eventLooks[e.Kind]
		if look.shape == nil {
			continue
		}
		if e.Kind == KernelEvent {
			c.StrokeLine2(draw.LineStyle{Color: look.colour, Width: 0.5, Dashes: []vg.Length{1, 2}}, x, c.Min.Y, x, c.Max.Y)
		}
		if e.Kind == ThrottleEvent {
			c.StrokeLine2(draw.LineStyle{Color: look.colour, Width: 0.5}, c.Min.X, c.Min.Y+lift, c.Max.X, c.Min.Y+lift)
		}
		c.DrawGlyphNoClip(draw.GlyphStyle{Color: look.colour, Radius: radius, Shape: look.shape}, vg.Point{X: x, Y: c.Min.Y + lift})
		if e.Label != "" {
			align, shift := draw.XLeft, vg.Length(2*radius)
			if e.At > 0 {
				align, shift = draw.XRight, -2*radius
			}
			style, at := textStyle(6, align, draw.YCenter), vg.Point{X: x + shift, Y: c.Min.Y + lift}
			box := style.Rectangle(e.Label).Add(at)
			c.FillPolygon(color.White, []vg.Point{box.Min, {X: box.Min.X, Y: box.Max.Y}, box.Max, {X: box.Max.X, Y: box.Min.Y}})
			c.FillText(style, at, e.Label)
		}
		seen[e.Kind] = true
	}
	at := vg.Point{X: c.Min.X, Y: c.Min.Y - 16}
	for _, sign := range signs {
		if !seen[sign.kind] {
			continue
		}
		look := eventLooks[sign.kind]
		c.DrawGlyphNoClip(draw.GlyphStyle{Color: look.colour, Radius: radius, Shape: look.shape}, vg.Point{X: at.X + radius, Y: at.Y})
		c.FillText(textStyle(6, draw.XLeft, draw.YCenter), vg.Point{X: at.X + 3*radius, Y: at.Y}, sign.name)
		at.X += 12 + 3*vg.Length(len(sign.name))
	}
}
