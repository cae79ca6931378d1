package report

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"krund/internal/analysis/dataset"
)

// The static plot, in SVG units.
const (
	svgWidth            = 900.0
	plotLeft, plotRight = 74.0, 890.0
	titleHeight         = 26.0
	zoomHeight          = 70.0
	mainHeight          = 186.0
	panelHeight         = 44.0 // of another column
	panelGap            = 12.0
	laneHeight          = 16.0 // of events
	axisHeight          = 38.0 // iterations and their name
	legendHeight        = 18.0 // of events
	svgColumns          = 408  // pairs of low and high that a long series is drawn with
	panelColumns        = 204
	mostCircles         = 300
)

// svgStyle has the colours of Okabe and Ito, which people with any kind of
// colour vision can tell apart, for light and dark pages. Circles and dashes
// say the same without colour.
const svgStyle = `<style>
text{font:12px system-ui,sans-serif;fill:#333}.axis{stroke:#888;fill:none}.grid{stroke:#ddd}
.series{stroke:#0072b2;fill:none;stroke-width:1}.out{stroke:#d55e00;fill:none}.common{stroke:#009e73;fill:none}
.cp{stroke:#d55e00;stroke-dasharray:5 4}.eq{stroke:#000;stroke-width:1.8;stroke-dasharray:7 4}.ne{stroke:#777;stroke-width:1.8;stroke-dasharray:7 4}.box{fill:#fff;stroke:#888}.bg{fill:#fff}.name{font-size:11px}
.kernel{fill:#a0417c}.kline{stroke:#a0417c;stroke-dasharray:1 3;fill:none}.throttle{fill:#d55e00}.tline{stroke:#d55e00}.temperature{fill:#0072b2}.small{font-size:11px;paint-order:stroke;stroke:#fff;stroke-width:3px}
@media (prefers-color-scheme:dark){text{fill:#ddd}.bg,.box{fill:#15181c}.grid{stroke:#333}.series{stroke:#56b4e9}.eq{stroke:#fff}.small{stroke:#15181c}.ne{stroke:#999}.out,.cp{stroke:#e69f00}.kernel{fill:#e59ac4}.kline{stroke:#e59ac4}.throttle{fill:#e69f00}.tline{stroke:#e69f00}.temperature{fill:#56b4e9}}
@media print{text{fill:#000}.bg,.box{fill:#fff}.series{stroke:#0072b2}.eq{stroke:#000}.small{stroke:#fff}}
</style>`

// SVG draws the run as a document of its own: the whole run, above it a strip
// with a narrower y axis, in it an inset of the first iterations; other columns
// above and, per core, below. unit names the y axis, title the picture.
func (r *Run) SVG(title, unit string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" role="img"><title>%s</title>%s<rect class="bg" width="100%%" height="100%%"/>`,
		svgWidth, r.SVGHeight(), escapeXML(title), svgStyle)
	fmt.Fprintf(&b, `<text x="%g" y="16">%s</text>`, plotLeft, escapeXML(title))
	if len(r.Values) == 0 {
		fmt.Fprintf(&b, `<text x="%g" y="160">no iterations</text></svg>`, svgWidth/2-40)
		return b.Bytes()
	}
	top, ids := titleHeight, 0
	next := func(height float64, ys Span) panel {
		ids++
		p := panel{&b, plotLeft, plotRight, top, top + height, r.Numbers(), ys, fmt.Sprintf("c%d", ids)}
		top += height + panelGap
		return p
	}
	others, cores := r.sortedPanels()
	for _, o := range others {
		r.column(next(panelHeight, o.Span), o)
	}
	zoom := next(zoomHeight, r.Zoom)
	zoom.frame(2)
	r.draw(zoom, false)
	full := next(mainHeight, r.Full)
	full.frame(5)
	r.draw(full, true)
	r.lane(full)
	r.inset(full)
	top += r.laneHeight() - panelGap
	full.iterations(top)
	fmt.Fprintf(&b, `<text x="%g" y="%g" text-anchor="middle">in-process iteration</text><text transform="translate(14 %g) rotate(-90)" text-anchor="middle">%s</text>`,
		(plotLeft+plotRight)/2, top+axisHeight-6, (full.top+full.bottom)/2, escapeXML(unit))
	top += axisHeight
	for _, o := range cores {
		r.column(next(panelHeight, o.Span), o)
	}
	r.legend(&b)
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// SVGHeight is the height of the picture that SVG draws, which is 900 wide.
func (r *Run) SVGHeight() float64 {
	height := titleHeight + zoomHeight + panelGap + mainHeight + r.laneHeight() + axisHeight + float64(len(r.Panels))*(panelHeight+panelGap)
	if len(r.Events) > 0 {
		height += legendHeight
	}
	return height
}

func (r *Run) laneHeight() float64 {
	if len(r.Events) == 0 {
		return 0
	}
	return laneHeight
}

// sortedPanels gives the columns that stand above and below the values.
func (r *Run) sortedPanels() (above, below []Panel) {
	for _, p := range r.Panels {
		if p.Core == dataset.NoCore {
			above = append(above, p)
		} else {
			below = append(below, p)
		}
	}
	return above, below
}

// column draws another column, with its name in the corner.
func (r *Run) column(p panel, c Panel) {
	p.frame(2)
	fmt.Fprintf(p.b, `<g clip-path="url(#%s)"><path class="series" d="`, p.id)
	p.line(c.Values, panelColumns)
	fmt.Fprintf(p.b, `"/></g><text class="name" x="%g" y="%g">%s</text>`, p.left+6, p.top+13, escapeXML(c.Title))
}

// inset draws the first iterations into the main plot.
func (r *Run) inset(main panel) {
	if r.Inset == 0 {
		return
	}
	width, height := main.right-main.left, main.bottom-main.top
	left, top := main.left+r.InsetLeft*width, main.top+r.InsetTop*height
	p := panel{main.b, left, left + insetWidth*width, top, top + insetHeight*height, Span{1, float64(r.Inset)}, r.InsetSpan, "i"}
	fmt.Fprintf(p.b, `<rect class="box" x="%s" y="%s" width="%s" height="%s"/><clipPath id="i"><rect x="%[1]s" y="%[2]s" width="%[3]s" height="%[4]s"/></clipPath>`,
		place(left), place(top), place(p.right-left), place(p.bottom-top))
	first := Run{Values: r.Values[:r.Inset]}
	for _, i := range r.Outliers {
		if i < r.Inset {
			first.Outliers = append(first.Outliers, i)
		}
	}
	first.draw(p, true)
	fmt.Fprintf(p.b, `<text class="name" x="%s" y="%s" text-anchor="end">first %d</text>`, place(p.right-5), place(top+13), r.Inset)
}

// panel is a rectangle with axes.
type panel struct {
	b                        *bytes.Buffer
	left, right, top, bottom float64
	xs, ys                   Span
	id                       string
}

func (p panel) x(v float64) float64 {
	return p.left + (v-p.xs.Low)/(p.xs.High-p.xs.Low)*(p.right-p.left)
}

func (p panel) y(v float64) float64 {
	return p.bottom - (v-p.ys.Low)/(p.ys.High-p.ys.Low)*(p.bottom-p.top)
}

// frame draws the border, and a grid with about n values beside it.
func (p panel) frame(n int) {
	for _, t := range p.ys.Ticks(n) {
		fmt.Fprintf(p.b, `<path class="grid" d="M%g %sH%g"/><text x="%g" y="%s" text-anchor="end">%s</text>`,
			p.left, place(p.y(t)), p.right, p.left-5, place(p.y(t)+4), tickText(t, p.ys))
	}
	fmt.Fprintf(p.b, `<rect class="axis" x="%g" y="%g" width="%g" height="%g"/>`, p.left, p.top, p.right-p.left, p.bottom-p.top)
	fmt.Fprintf(p.b, `<clipPath id="%s"><rect x="%g" y="%g" width="%g" height="%g"/></clipPath>`, p.id, p.left, p.top, p.right-p.left, p.bottom-p.top)
}

// iterations writes the numbers of iterations below a panel.
func (p panel) iterations(top float64) {
	for _, t := range p.xs.WholeTicks(10) {
		fmt.Fprintf(p.b, `<text x="%s" y="%s" text-anchor="middle">%g</text>`, place(p.x(t)), place(top+14), t)
	}
}

// draw puts series, means, changepoints and outliers into a panel.
func (r *Run) draw(p panel, circles bool) {
	fmt.Fprintf(p.b, `<g clip-path="url(#%s)"><path class="series" d="`, p.id)
	p.line(r.Values, svgColumns)
	p.b.WriteString(`"/>`)
	for _, m := range r.Means() {
		class := "ne"
		if m.Equivalent {
			class = "eq"
		}
		fmt.Fprintf(p.b, `<path class="%s" d="M%s %sH%s"/>`, class, place(p.x(m.From+1)), place(p.y(m.Mean)), place(p.x(m.To+1)))
	}
	for _, c := range r.Changes {
		fmt.Fprintf(p.b, `<path class="cp" d="M%s %gV%g"/>`, place(p.x(float64(c+1))), p.top, p.bottom)
	}
	if circles {
		common := map[int]bool{}
		for _, i := range r.Common {
			common[i] = true
		}
		for n, i := range r.Outliers {
			if n == mostCircles || i >= len(r.Values) || math.IsNaN(r.Values[i]) {
				break
			}
			class := "out"
			if common[i] {
				class = "common"
			}
			fmt.Fprintf(p.b, `<circle class="%s" cx="%s" cy="%s" r="4"/>`, class, place(p.x(float64(i+1))), place(p.y(r.Values[i])))
		}
	}
	p.b.WriteString(`</g>`)
}

// line writes a path. A series longer than the picture has columns is drawn by
// the lowest and highest value of each column, which looks the same.
func (p panel) line(values []float64, columns int) {
	per := (len(values) + columns - 1) / columns
	pen := byte('M')
	point := func(i int) {
		v := values[i]
		if math.IsNaN(v) {
			pen = 'M'
			return
		}
		p.b.WriteByte(pen)
		p.b.WriteString(place(p.x(float64(i + 1))))
		p.b.WriteByte(' ')
		p.b.WriteString(place(min(max(p.y(v), p.top-50), p.bottom+50)))
		pen = 'L'
	}
	if per <= 2 {
		for i := range values {
			point(i)
		}
		return
	}
	for from := 0; from < len(values); from += per {
		low, high := extremes(values, from, min(from+per, len(values)))
		point(min(low, high))
		if low != high {
			point(max(low, high))
		}
	}
}

// extremes gives the indexes of the lowest and the highest value.
func extremes(values []float64, from, to int) (low, high int) {
	low, high = from, from
	for i := from; i < to; i++ {
		if values[i] < values[low] || math.IsNaN(values[low]) {
			low = i
		}
		if values[i] > values[high] || math.IsNaN(values[high]) {
			high = i
		}
	}
	return low, high
}

// place writes a coordinate with one decimal.
func place(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}
