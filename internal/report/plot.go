package report

import (
	"fmt"
	"image/color"
	"io"

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

// Of a figure: the width of a page's text, and the heights of its parts.
const (
	figureWidth  = 16 * vg.Centimeter
	stripHeight  = 1.7 * vg.Centimeter
	wholeHeight  = 4.7 * vg.Centimeter
	columnHeight = 1.25 * vg.Centimeter
	figureGap    = 0.45 * vg.Centimeter
	partGap      = 0.14 * vg.Centimeter
	pngDPI       = 200
)

// height of the figure with its other columns.
func (f *Figure) height() vg.Length {
	return stripHeight + wholeHeight + partGap + vg.Length(len(f.Run.Panels))*(columnHeight+partGap)
}

// pageHeight is that of figures below each other.
func pageHeight(page []Figure) vg.Length {
	height := figureGap
	for i := range page {
		height += page[i].height() + figureGap
	}
	return height
}

// a4Height is the height of a sheet of paper, which a page does not exceed
// unless a single figure does.
const a4Height = 29.7 * vg.Centimeter

// Pages puts figures on pages, perPage on each; 0: as many as fit on a sheet of
// A4.
func Pages(figures []Figure, perPage int) [][]Figure {
	var pages [][]Figure
	for i := range figures {
		last := len(pages) - 1
		full := last < 0 || len(pages[last]) == perPage
		if !full && perPage == 0 {
			full = pageHeight(pages[last])+figures[i].height()+figureGap > a4Height
		}
		if full {
			pages = append(pages, nil)
			last++
		}
		pages[last] = append(pages[last], figures[i])
	}
	return pages
}

// WritePlot draws figures below each other on one page. PDFs hold several
// pages, all as high as the highest, as many as there are slices in pages; the
// other formats one.
func WritePlot(w io.Writer, f PlotFormat, pages [][]Figure) error {
	if len(pages) == 0 || f != PDF && len(pages) != 1 {
		return fmt.Errorf("%d pages do not go into one %s", len(pages), f)
	}
	var height vg.Length
	for _, page := range pages {
		height = max(height, pageHeight(page))
	}
	var out io.WriterTo
	switch f {
	case PDF:
		c := vgpdf.New(figureWidth, height)
		for i, page := range pages {
			if i > 0 {
				c.NextPage()
			}
			drawPage(draw.NewCanvas(pdfCanvas{c}, figureWidth, height), page)
		}
		out = c
	case SVG:
		c := vgsvg.New(figureWidth, height)
		drawPage(draw.New(c), pages[0])
		out = c
	case PNG:
		c := vgimg.NewWith(vgimg.UseWH(figureWidth, height), vgimg.UseDPI(pngDPI), vgimg.UseBackgroundColor(color.White))
		drawPage(draw.New(c), pages[0])
		out = vgimg.PngCanvas{Canvas: c}
	default:
		return fmt.Errorf("there is no format %q of plots; there are pdf, svg and png", f)
	}
	_, err := out.WriteTo(w)
	return err
}

func drawPage(c draw.Canvas, page []Figure) {
	c.FillPolygon(color.White, []vg.Point{c.Min, {X: c.Min.X, Y: c.Max.Y}, c.Max, {X: c.Max.X, Y: c.Min.Y}})
	top := c.Max.Y - figureGap/2
	for i := range page {
		height := page[i].height()
		page[i].draw(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: c.Min.X + partGap, Y: top - height}, Max: vg.Point{X: c.Max.X - figureGap, Y: top},
		}})
		top -= height + figureGap
	}
}
