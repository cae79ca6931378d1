package report

import (
	"fmt"
	"io"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
)

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
