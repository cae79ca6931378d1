package report

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is one execution as a static plot.
type Figure struct {
	Title string
	Axis  string // of y: "wall (s)"
	Run   Run
}

// PlotFormat is a form of static plots.
type PlotFormat string

// The formats of plots.
const (
	PDF PlotFormat = "pdf"
	SVG PlotFormat = "svg"
	PNG PlotFormat = "png"
)

// Of a figure: the width of a page's text, and the study's proportions.
const (
	figureWidth  = 16 * vg.Centimeter
	figureHeight = 6.2 * vg.Centimeter
	figureGap    = 0.4 * vg.Centimeter
	pngDPI       = 200
)

// Colours of Okabe and Ito: see svgStyle.
var (
	seriesColour  = color.RGBA{0, 0x72, 0xb2, 255}
	outlierColour = color.RGBA{0xd5, 0x5e, 0, 255}
	commonColour  = color.RGBA{0, 0x9e, 0x73, 255}
	otherColour   = color.RGBA{0x77, 0x77, 0x77, 255}
	gridColour    = color.RGBA{0xdd, 0xdd, 0xdd, 255}
)

// WritePlot draws figures below each other on one page. PDFs hold several
// pages: as many as there are slices in pages; the other formats one.
func WritePlot(w io.Writer, f PlotFormat, pages [][]Figure) error {
	if len(pages) == 0 || f != PDF && len(pages) != 1 {
		return fmt.Errorf("%d pages do not go into one %s", len(pages), f)
	}
	height := func(page []Figure) vg.Length {
		return vg.Length(max(len(page), 1))*(figureHeight+figureGap) + figureGap
	}
	var out io.WriterTo
	switch f {
	case PDF:
		c := vgpdf.New(figureWidth, height(pages[0]))
		for i, page := range pages {
			if i > 0 {
				c.NextPage()
			}
			if err := drawPage(draw.NewCanvas(c, figureWidth, height(pages[0])), page); err != nil {
				return err
			}
		}
		out = c
	case SVG:
		c := vgsvg.New(figureWidth, height(pages[0]))
		if err := drawPage(draw.New(c), pages[0]); err != nil {
			return err
		}
		out = c
	case PNG:
		c := vgimg.NewWith(vgimg.UseWH(figureWidth, height(pages[0])), vgimg.UseDPI(pngDPI), vgimg.UseBackgroundColor(color.White))
		if err := drawPage(draw.New(c), pages[0]); err != nil {
			return err
		}
		out = vgimg.PngCanvas{Canvas: c}
	default:
		return fmt.Errorf("there is no format %q of plots; there are pdf, svg and png", f)
	}
	_, err := out.WriteTo(w)
	return err
}

func drawPage(c draw.Canvas, page []Figure) error {
	for i := range page {
		top := c.Max.Y - figureGap - vg.Length(i)*(figureHeight+figureGap)
		if err := page[i].draw(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: c.Min.X, Y: top - figureHeight}, Max: vg.Point{X: c.Max.X - figureGap, Y: top},
		}}); err != nil {
			return fmt.Errorf("draw %s: %w", page[i].Title, err)
		}
	}
	return nil
}

// draw puts the strip on top, the whole run below, and the inset into it.
func (f *Figure) draw(c draw.Canvas) error {
	const strip = 0.28 // of the height
	split := c.Max.Y - (c.Max.Y-c.Min.Y)*strip
	zoom, err := f.Run.panel(f.Run.Zoom, false)
	if err != nil {
		return err
	}
	zoom.Title.Text = printable(f.Title)
	zoom.Title.TextStyle.Font.Size = 9
	zoom.X.Tick.Marker = plot.ConstantTicks(nil)
	zoom.Y.Label.Text = " " // as wide as below
	whole, err := f.Run.panel(f.Run.Full, true)
	if err != nil {
		return err
	}
	whole.X.Label.Text = "in-process iteration"
	whole.Y.Label.Text = f.Axis
	upper := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: split + figureGap/2}, Max: c.Max}}
	lower := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: c.Min, Max: vg.Point{X: c.Max.X, Y: split}}}
	drawAligned(whole, lower, zoom, upper)
	if f.Run.Inset == 0 {
		return nil
	}
	return f.inset(whole.DataCanvas(lower))
}

// drawAligned draws two plots whose data begin at the same place.
func drawAligned(a *plot.Plot, ac draw.Canvas, b *plot.Plot, bc draw.Canvas) {
	left := func(p *plot.Plot, c draw.Canvas) vg.Length { return p.DataCanvas(c).Min.X - c.Min.X }
	if shift := left(a, ac) - left(b, bc); shift > 0 {
		bc.Min.X += shift
	} else {
		ac.Min.X -= shift
	}
	b.Draw(bc)
	a.Draw(ac)
}

// inset draws the first iterations into the upper right of the data.
func (f *Figure) inset(data draw.Canvas) error {
	first := Run{Values: f.Run.Values[:f.Run.Inset]}
	for _, i := range f.Run.Outliers {
		if i < f.Run.Inset {
			first.Outliers = append(first.Outliers, i)
		}
	}
	p, err := first.panel(f.Run.InsetSpan, true)
	if err != nil {
		return err
	}
	p.BackgroundColor = color.White
	p.Title.Text = fmt.Sprintf("first %d", f.Run.Inset)
	p.Title.TextStyle.Font.Size = 6
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Tick.Label.Font.Size = 5
	}
	size := data.Max
	p.Draw(draw.Canvas{Canvas: data.Canvas, Rectangle: vg.Rectangle{
		Min: vg.Point{X: size.X - (data.Max.X-data.Min.X)*0.3, Y: size.Y - (data.Max.Y-data.Min.Y)*0.62},
		Max: vg.Point{X: size.X - 4, Y: size.Y - 4},
	}})
	return nil
}

// panel makes a plot of the run with a range of y.
func (r *Run) panel(ys Span, circles bool) (*plot.Plot, error) {
	p := plot.New()
	p.X.Min, p.X.Max = 0, max(float64(len(r.Values)-1), 1)
	p.Y.Min, p.Y.Max = ys.Low, ys.High
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font.Size = 8
		axis.Tick.Label.Font.Size = 7
		axis.Padding = 0
	}
	p.Y.Tick.Marker = roundTicks{}
	p.X.Tick.Marker = roundTicks{}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = nil, gridColour
	p.Add(grid)
	for _, stretch := range r.stretches(ys) {
		line, err := plotter.NewLine(stretch)
		if err != nil {
			return nil, err
		}
		line.LineStyle = draw.LineStyle{Color: seriesColour, Width: 0.4}
		p.Add(line)
	}
	if err := r.addMarks(p, ys); err != nil {
		return nil, err
	}
	if circles {
		return p, r.addOutliers(p, ys)
	}
	return p, nil
}

// stretches are the values between gaps, cut to a little more than the panel
// so that no line leaves it far.
func (r *Run) stretches(ys Span) []plotter.XYs {
	var list []plotter.XYs
	var open plotter.XYs
	for i, v := range r.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			if len(open) > 0 {
				list, open = append(list, open), nil
			}
			continue
		}
		open = append(open, plotter.XY{X: float64(i), Y: min(max(v, ys.Low), ys.High)})
	}
	if len(open) > 0 {
		list = append(list, open)
	}
	return list
}

// addMarks adds segment means and changepoints.
func (r *Run) addMarks(p *plot.Plot, ys Span) error {
	add := func(x0, y0, x1, y1 float64, style draw.LineStyle) error {
		line, err := plotter.NewLine(plotter.XYs{{X: x0, Y: y0}, {X: x1, Y: y1}})
		if err != nil {
			return err
		}
		line.LineStyle = style
		p.Add(line)
		return nil
	}
	for _, m := range r.Means() {
		if m.Mean < ys.Low || m.Mean > ys.High {
			continue
		}
		style := draw.LineStyle{Color: otherColour, Width: 1, Dashes: []vg.Length{4, 2}}
		if m.Equivalent {
			style.Color = color.Black
		}
		if err := add(m.From, m.Mean, m.To, m.Mean, style); err != nil {
			return err
		}
	}
	for _, c := range r.Changes {
		style := draw.LineStyle{Color: outlierColour, Width: 0.6, Dashes: []vg.Length{3, 3}}
		if err := add(float64(c), ys.Low, float64(c), ys.High, style); err != nil {
			return err
		}
	}
	return nil
}

func (r *Run) addOutliers(p *plot.Plot, ys Span) error {
	common := map[int]bool{}
	for _, i := range r.Common {
		common[i] = true
	}
	var own, shared plotter.XYs
	for _, i := range r.Outliers {
		if i >= len(r.Values) || !(r.Values[i] >= ys.Low && r.Values[i] <= ys.High) {
			continue
		}
		at := plotter.XY{X: float64(i), Y: r.Values[i]}
		if common[i] {
			shared = append(shared, at)
		} else {
			own = append(own, at)
		}
	}
	for _, c := range []struct {
		points plotter.XYs
		colour color.Color
	}{{own, outlierColour}, {shared, commonColour}} {
		if len(c.points) == 0 {
			continue
		}
		scatter, err := plotter.NewScatter(c.points)
		if err != nil {
			return err
		}
		scatter.GlyphStyle = draw.GlyphStyle{Color: c.colour, Radius: 2, Shape: draw.RingGlyph{}}
		p.Add(scatter)
	}
	return nil
}

// roundTicks are those of Span, with few digits.
type roundTicks struct{}

// Ticks is plot.Ticker's.
func (roundTicks) Ticks(low, high float64) []plot.Tick {
	s := Span{low, high}
	const about = 6
	var ticks []plot.Tick
	for _, v := range s.Ticks(about) {
		ticks = append(ticks, plot.Tick{Value: v, Label: tickText(v, s)})
	}
	return ticks
}
