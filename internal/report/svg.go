package report

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
)

// The static plot, in SVG units.
const (
	svgWidth, svgHeight = 900.0, 340.0
	plotLeft, plotRight = 74.0, 890.0
	zoomTop, zoomBottom = 26.0, 96.0
	mainTop, mainBottom = 110.0, 296.0
	insetWidth          = 230.0
	insetHeight         = 78.0
	svgColumns          = 408 // pairs of low and high that a long series is drawn with
	mostCircles         = 300
)

// svgStyle has the colours of Okabe and Ito, which people with any kind of
// colour vision can tell apart, for light and dark pages. Circles and dashes
// say the same without colour.
const svgStyle = `<style>
text{font:12px system-ui,sans-serif;fill:#333}.axis{stroke:#888;fill:none}.grid{stroke:#ddd}
.series{stroke:#0072b2;fill:none;stroke-width:1}.out{stroke:#d55e00;fill:none}.common{stroke:#009e73;fill:none}
.cp{stroke:#d55e00;stroke-dasharray:5 4}.eq{stroke:#000;stroke-width:1.8;stroke-dasharray:7 4}.ne{stroke:#777;stroke-width:1.8;stroke-dasharray:7 4}.box{fill:#fff;stroke:#888}.bg{fill:#fff}
@media (prefers-color-scheme:dark){text{fill:#ddd}.bg,.box{fill:#15181c}.grid{stroke:#333}.series{stroke:#56b4e9}.eq{stroke:#fff}.ne{stroke:#999}.out,.cp{stroke:#e69f00}}
@media print{text{fill:#000}.bg,.box{fill:#fff}.series{stroke:#0072b2}.eq{stroke:#000}}
</style>`

// SVG draws the run as a document of its own: the whole run, above it a strip
// with a narrower y axis, in it an inset of the first iterations. unit names
// the y axis, title the picture.
func (r *Run) SVG(title, unit string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" role="img"><title>%s</title>%s<rect class="bg" width="100%%" height="100%%"/>`,
		svgWidth, svgHeight, escapeXML(title), svgStyle)
	fmt.Fprintf(&b, `<text x="%g" y="16">%s</text>`, plotLeft, escapeXML(title))
	if len(r.Values) == 0 {
		fmt.Fprintf(&b, `<text x="%g" y="160">no iterations</text></svg>`, svgWidth/2-40)
		return b.Bytes()
	}
	last := max(float64(len(r.Values)-1), 1)
	whole := Span{0, last}
	zoom := panel{&b, plotLeft, plotRight, zoomTop, zoomBottom, whole, r.Zoom, "z"}
	zoom.frame(2)
	r.draw(zoom, false)
	full := panel{&b, plotLeft, plotRight, mainTop, mainBottom, whole, r.Full, "m"}
	full.frame(5)
	r.draw(full, true)
	full.iterations()
	fmt.Fprintf(&b, `<text x="%g" y="332" text-anchor="middle">in-process iteration</text><text transform="translate(14 %g) rotate(-90)" text-anchor="middle">%s</text>`,
		(plotLeft+plotRight)/2, (mainTop+mainBottom)/2, escapeXML(unit))
	r.inset(&b)
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// inset draws the first iterations into the upper right corner.
func (r *Run) inset(b *bytes.Buffer) {
	if r.Inset == 0 {
		return
	}
	right, top := plotRight-12, mainTop+8.0
	p := panel{b, right - insetWidth, right, top, top + insetHeight, Span{0, float64(r.Inset - 1)}, r.InsetSpan, "i"}
	fmt.Fprintf(b, `<rect class="box" x="%g" y="%g" width="%g" height="%g"/>`, p.left, p.top, insetWidth, insetHeight)
	first := Run{Values: r.Values[:r.Inset]}
	for _, i := range r.Outliers {
		if i < r.Inset {
			first.Outliers = append(first.Outliers, i)
		}
	}
	first.draw(p, true)
	fmt.Fprintf(b, `<text x="%g" y="%g" text-anchor="end">first %d</text>`, right-5, top+14, r.Inset)
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

func (p panel) iterations() {
	for _, t := range p.xs.Ticks(10) {
		fmt.Fprintf(p.b, `<text x="%s" y="%g" text-anchor="middle">%g</text>`, place(p.x(t)), p.bottom+16, t)
	}
}

// draw puts series, means, changepoints and outliers into a panel.
func (r *Run) draw(p panel, circles bool) {
	fmt.Fprintf(p.b, `<g clip-path="url(#%s)"><path class="series" d="`, p.id)
	p.line(r.Values)
	p.b.WriteString(`"/>`)
	for _, m := range r.Means() {
		class := "ne"
		if m.Equivalent {
			class = "eq"
		}
		fmt.Fprintf(p.b, `<path class="%s" d="M%s %sH%s"/>`, class, place(p.x(m.From)), place(p.y(m.Mean)), place(p.x(m.To)))
	}
	for _, c := range r.Changes {
		fmt.Fprintf(p.b, `<path class="cp" d="M%s %gV%g"/>`, place(p.x(float64(c))), p.top, p.bottom)
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
			fmt.Fprintf(p.b, `<circle class="%s" cx="%s" cy="%s" r="4"/>`, class, place(p.x(float64(i))), place(p.y(r.Values[i])))
		}
	}
	p.b.WriteString(`</g>`)
}

// line writes a path. A series longer than the picture has columns is drawn by
// the lowest and highest value of each column, which looks the same.
func (p panel) line(values []float64) {
	per := (len(values) + svgColumns - 1) / svgColumns
	pen := byte('M')
	point := func(i int) {
		v := values[i]
		if math.IsNaN(v) {
			pen = 'M'
			return
		}
		p.b.WriteByte(pen)
		p.b.WriteString(place(p.x(float64(i))))
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

// tickText writes an axis value with the digits that tell it from its
// neighbours.
func tickText(v float64, s Span) string {
	width := s.High - s.Low
	if a := max(math.Abs(s.Low), math.Abs(s.High)); a >= 1e6 || a < 1e-4 {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	places := max(0, 1-int(math.Floor(math.Log10(width))))
	return strconv.FormatFloat(v, 'f', min(places, 9), 64)
}
