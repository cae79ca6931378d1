package report

import (
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/explain"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// Figure is a static plot of one execution, as the study's Figure 6. From top to bottom it shows a
// strip of the run with a narrower y axis, the whole run with an inset of its first iterations,
// what krund found out about the machine, lanes with the events of the VM and the kernel, and other
// columns, those of cores last.
type Figure struct {
	Title  string       // "fasta:PyPy:default, execution 2: warmup"
	Column string       // name of the values: "wall"
	Unit   display.Unit // of the y axis
	Run    Run
}

// Lengths in a figure, in its units.
const (
	figureUnits         = 900
	plotLeft, plotRight = 92, 878
	titleHeight         = 28
	stripHeight         = 76
	wholeHeight         = 206
	columnHeight        = 48
	panelGap            = 12
	laneHeight          = 16 // of events
	axisHeight          = 44 // the numbers of iterations and the name of the axis
	legendHeight        = 18 // of events
	titleSize           = 15 // of titles that fit
	textSize            = 13
	nameSize            = 12 // of text inside panels
	insetSize           = 10
	insetTicks          = 5
	insetLabels         = 44 // width of the numbers beside its axis
)

func (f *Figure) title() string { return f.Title }

// height depends only on the number of columns and lanes and whether there are other events.
func (f *Figure) height() vg.Length {
	height := titleHeight + stripHeight + panelGap + wholeHeight + axisHeight +
		vg.Length(len(f.Run.Panels))*(columnHeight+panelGap) + lanesHeight(f.Run.Lanes)
	if len(f.Run.Events) > 0 {
		height += laneHeight + legendHeight
	}
	return height
}

func (f *Figure) draw(c canvas, top vg.Length, columns int) {
	r, bottom := &f.Run, top+f.height()
	title(c, f.Title, plotLeft, top, figureUnits)
	if len(r.Values) == 0 {
		at := vg.Point{X: figureUnits / 2, Y: (top + bottom) / 2}
		c.text(label{text: "no iterations", at: at, size: textSize, anchor: middle})
		return
	}
	top += titleHeight
	next := func(height vg.Length, ys Span) panel {
		area := box(plotLeft, plotRight, top, height)
		top = area.Max.Y + panelGap
		return panel{Rectangle: area, canvas: c, xs: r.Numbers(), ys: ys, columns: columns, size: textSize,
			unit: f.Unit}
	}
	strip := next(stripHeight, r.Zoom)
	strip.frame(3)
	strip.run(r, false)
	whole := next(wholeHeight, r.Full)
	whole.frame(5)
	whole.run(r, true)
	top = whole.Max.Y
	if len(r.Events) > 0 {
		whole.events(r, top+laneHeight/2)
		legend(c, r.Events, bottom-legendHeight/2)
		top += laneHeight
	}
	for i, l := range r.Lanes {
		whole.lane(l, top+vg.Length(i)*laneRow+laneRow/2+laneFoot/2)
	}
	top += lanesHeight(r.Lanes)
	if r.Inset > 0 {
		whole.inset(r)
	}
	whole.numbers(10, top+12)
	center := whole.Min.Add(whole.Size().Scale(0.5))
	names := []label{
		{text: "in-process iteration", at: vg.Point{X: center.X, Y: top + 30}},
		{text: axisName(f.Column, f.Unit), at: vg.Point{X: textSize, Y: center.Y}, upright: true},
	}
	for _, name := range names {
		name.size, name.anchor = textSize, middle
		c.text(name)
	}
	top += axisHeight
	for _, column := range r.Panels {
		next(columnHeight, column.Span).column(column)
	}
}

// sign is the mark of a kind of event. Signs differ in shape as well as in color.
type sign struct {
	kind    EventKind
	ink     ink
	name    string
	corners [][2]vg.Length // x and y around its place
}

var signs = []sign{
	{KernelEvent, kernelInk, "kernel message", [][2]vg.Length{{0, -5}, {5, 4}, {-5, 4}}},
	{ThrottleEvent, throttleInk, "throttled", [][2]vg.Length{{0, -5}, {5, 0}, {0, 5}, {-5, 0}}},
	{WatcherEvent, gcInk, "end of warm-up", [][2]vg.Length{{-1, -6}, {6, -3}, {0.5, 0}, {0.5, 6}, {-1, 6}}},
	{TemperatureEvent, temperatureInk, "temperature", [][2]vg.Length{{-4, -4}, {4, -4}, {4, 4}, {-4, 4}}},
}

func (s *sign) draw(c canvas, at vg.Point, title string) {
	c.area(s.ink, title, around(at, s.corners))
}

// events draws the signs of events at a height below the panel, and lines through the panel where
// the kernel logged a message.
func (p panel) events(r *Run, y vg.Length) {
	for _, e := range r.Events {
		i := slices.IndexFunc(signs, func(s sign) bool { return s.kind == e.Kind })
		if i < 0 {
			continue
		}
		at := vg.Point{X: min(max(p.x(e.At+1), p.Min.X), p.Max.X), Y: y}
		switch e.Kind {
		case KernelEvent:
			p.lines(kernelLineInk, p.upright(at.X))
		case ThrottleEvent:
			p.lines(throttleLineInk, p.level(y))
		}
		signs[i].draw(p, at, e.Title(len(r.Values)))
		if e.Label != "" {
			l := label{text: e.Label, at: vg.Point{X: at.X + 9, Y: y}, size: nameSize, halo: true}
			if e.At > 0 {
				l.at.X, l.anchor = at.X-9, end
			}
			p.text(l)
		}
	}
}

// legend explains the signs that occur.
func legend(c canvas, events []MachineEvent, y vg.Length) {
	x := vg.Length(plotLeft)
	for i := range signs {
		if slices.ContainsFunc(events, func(e MachineEvent) bool { return e.Kind == signs[i].kind }) {
			signs[i].draw(c, vg.Point{X: x + 5, Y: y}, "")
			c.text(label{text: signs[i].name, at: vg.Point{X: x + 15, Y: y}, size: nameSize})
			x += 130
		}
	}
}

// Drawing is a static plot that stands alone or is stacked with others.
type Drawing interface {
	height() vg.Length // in units
	// draw draws below top; for columns see panel.series.
	draw(c canvas, top vg.Length, columns int)
	title() string
}

// PlotFormat is a format of static plots.
type PlotFormat string

// The formats of static plots.
const (
	PDF PlotFormat = "pdf"
	SVG PlotFormat = "svg"
	PNG PlotFormat = "png"
)

const (
	figureWidth = 16 * vg.Centimeter // the width of a page's text
	unit        = figureWidth / figureUnits
	figureGap   = 25                          // between figures, in units
	a4Height    = 29.7 * vg.Centimeter / unit // in units
	fineColumns = 2000                        // of a series: as many as 600 dpi can show
	pngDPI      = 200
)

// pageWidth is that of stacked drawings.
func pageWidth(page []Drawing) vg.Length {
	if own, ok := page[0].(interface{ width() vg.Length }); ok && len(page) == 1 {
		return own.width()
	}
	return figureUnits
}

// pageHeight is the height of stacked drawings, in units.
func pageHeight(page []Drawing) vg.Length {
	height := vg.Length(len(page)-1) * figureGap
	for _, d := range page {
		height += d.height()
	}
	return height
}

// Pages distributes drawings over pages of A4, as many as fit on each, at least one.
func Pages(drawings []Drawing) [][]Drawing {
	var pages [][]Drawing
	for _, d := range drawings {
		last := len(pages) - 1
		if last < 0 || pageHeight(pages[last])+figureGap+d.height() > a4Height {
			pages = append(pages, nil)
			last++
		}
		pages[last] = append(pages[last], d)
	}
	return pages
}

// WritePlot draws stacked drawings on each page. A PDF holds one or more pages, all with the height
// of the tallest; the other formats hold exactly one.
func WritePlot(w io.Writer, f PlotFormat, pages [][]Drawing) error {
	if len(pages) == 0 || f != PDF && len(pages) != 1 {
		return fmt.Errorf("%d pages do not go into one %s", len(pages), f)
	}
	var height vg.Length
	for _, page := range pages {
		height = max(height, pageHeight(page))
	}
	var out io.WriterTo
	switch f {
	case SVG:
		return writeSVG(w, pages[0], fineColumns, false)
	case PDF:
		c := vgpdf.New(figureWidth, height*unit)
		for i, page := range pages {
			if i > 0 {
				c.NextPage()
			}
			drawPage(newVGCanvas(c, height, windows1252), page, height, fineColumns)
		}
		out = c
	case PNG:
		c := vgimg.NewWith(vgimg.UseWH(figureWidth, height*unit), vgimg.UseDPI(pngDPI))
		drawPage(newVGCanvas(c, height, func(s string) string { return s }), pages[0], height, fineColumns)
		out = vgimg.PngCanvas{Canvas: c}
	default:
		return fmt.Errorf("there is no format %q of plots; there are pdf, svg and png", f)
	}
	_, err := out.WriteTo(w)
	return err
}

func drawPage(c canvas, page []Drawing, height vg.Length, columns int) {
	c.area(paperInk, "", corners(vg.Rectangle{Max: vg.Point{X: pageWidth(page), Y: height}}))
	var top vg.Length
	for _, d := range page {
		d.draw(c, top, columns)
		top += d.height() + figureGap
	}
}

// Run is the geometry of one execution's run-sequence plot, as in the study's Figure 1: values
// against iterations, with the findings of the analysis.
type Run struct {
	Values   []float64 // of every iteration, in the document's unit
	Outliers []int     // ascending indexes
	Common   []int     // of these, those that also occur in other executions
	Segments []warmup.Segment
	Changes  []int // changepoints: last index of each segment but the last

	Full Span // of the values, with room for the inset
	Zoom Span // of the strip above: where the second half of the values lies
	// Inset is the number of first iterations in the inset; 0: none, because there are too few
	// iterations.
	Inset     int
	InsetSpan Span

	Events []MachineEvent // what krund found out about the machine, with a place on the axis
	Lanes  []explain.Lane // events of the VM and the kernel
	Panels []Panel        // other columns
}

// Span is a range of an axis, Low < High.
type Span struct{ Low, High float64 }

const (
	insetIterations = 50 // of the study's insets
	smallestInset   = 4 * insetIterations
	zoomTail        = 0.02 // share of the values that may lie above, and below, the strip
	zoomMargin      = 0.25
	fullMargin      = 0.04
	insetWidth      = 0.28 // of the main plot
	insetHeight     = 0.46
	insetLeft       = 0.985 - insetWidth // from the upper left of the main plot
	insetTop        = 0.03
	insetHides      = 0.02 // share of the values it may hide; else the y axis is extended by
	insetRoom       = 0.95 // of its length
)

// NewRun prepares the plot of an execution. values may be empty; NaN leave gaps.
func NewRun(values []float64, e *warmup.Execution) Run {
	r := Run{Values: values, Full: spanOf(values, 0, fullMargin)}
	if e != nil {
		r.Outliers, r.Common, r.Segments, r.Changes = e.Outliers, e.CommonOutliers, e.Segments, e.Changepoints
	}
	r.Zoom = spanOf(values[len(values)/2:], zoomTail, zoomMargin)
	if len(values) >= smallestInset {
		r.Inset = insetIterations
		r.InsetSpan = spanOf(values[:r.Inset], 0, fullMargin)
		if float64(r.hidden()) > insetHides*float64(len(values)) {
			r.Full.High += (r.Full.High - r.Full.Low) * insetRoom
		}
	}
	return r
}

// hidden counts the values behind the inset.
func (r *Run) hidden() (count int) {
	n, height := float64(len(r.Values)), r.Full.High-r.Full.Low
	for _, v := range r.Values[int(insetLeft*n):int((insetLeft+insetWidth)*n)] {
		if down := (r.Full.High - v) / height; down > insetTop && down < insetTop+insetHeight {
			count++
		}
	}
	return count
}

// Numbers are the iterations on the axis, from 1, as in the study's plots; the other fields of a
// Run are indexes, from 0.
func (r *Run) Numbers() Span { return Span{1, max(float64(len(r.Values)), 2)} }

// spanOf is the range of the values without a share of them at each end, plus a margin. Without
// values it is 0 to 1.
func spanOf(values []float64, tail, margin float64) Span {
	sorted := slices.DeleteFunc(slices.Clone(values),
		func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
	if len(sorted) == 0 {
		return Span{0, 1}
	}
	arith.Sort(sorted)
	cut := int(tail * float64(len(sorted)))
	low, high := sorted[cut], sorted[len(sorted)-1-cut]
	around := (high - low) * margin
	if around == 0 {
		around = max(math.Abs(high)*0.01, 1e-12)
	}
	return Span{low - around, high + around}
}

// MeanLine is a horizontal dashed line of a plot: a segment's mean.
type MeanLine struct {
	From, To   float64 // iterations, by index
	Mean       float64
	Equivalent bool // to the last segment: black, others gray
}

// Means returns the segments' means over their iterations.
func (r *Run) Means() []MeanLine {
	lines := make([]MeanLine, len(r.Segments))
	for i, s := range r.Segments {
		to := len(r.Values) - 1
		if i+1 < len(r.Segments) {
			to = r.Segments[i+1].Start
		}
		lines[i] = MeanLine{float64(s.Start), float64(to), s.Mean, s.Equivalent}
	}
	return lines
}
