package report

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
)

// svgCanvas writes an SVG, with text elements and a style sheet for the colors.
type svgCanvas struct{ *bufio.Writer }

// lightStyle and darkStyle are the inks as style sheets. darkStyle is for dark pages on screens.
var lightStyle, darkStyle = styleSheets()

func styleSheets() (light, dark string) {
	var l, d strings.Builder
	l.WriteString("path{fill:none}.halo{paint-order:stroke}")
	d.WriteString("@media screen and (prefers-color-scheme:dark){")
	for _, i := range inks {
		property := "stroke"
		if i.width == 0 {
			property = "fill"
		}
		fmt.Fprintf(&l, ".%s{%s:#%06x", i.class, property, i.light)
		if i.width > 0 {
			fmt.Fprintf(&l, ";stroke-width:%g", i.width)
		}
		if i.dashes != nil {
			fmt.Fprintf(&l, ";stroke-dasharray:%g %g", i.dashes[0], i.dashes[1])
		}
		l.WriteString("}")
		fmt.Fprintf(&d, ".%s{%s:#%06x}", i.class, property, i.dark)
	}
	return l.String(), d.String() + "}"
}

// writeSVG writes stacked drawings; for columns see panel.series. With dark, the reader's browser
// chooses between the colors for light and for dark pages.
func writeSVG(w io.Writer, page []Drawing, columns int, dark bool) error {
	c := svgCanvas{bufio.NewWriter(w)}
	height, width := pageHeight(page), pageWidth(page)
	fmt.Fprintf(c, `<svg xmlns="http://www.w3.org/2000/svg" width="%.1fpt" height="%.1fpt" viewBox="0 0 %g %g"`,
		width*unit, height*unit, width, height)
	fmt.Fprintf(c, ` role="img" class="text" font-family="system-ui,sans-serif" font-size="%d">`, textSize)
	if len(page) == 1 {
		fmt.Fprintf(c, "<title>%s</title>", escapeXML(page[0].title()))
	}
	c.WriteString("<style>" + lightStyle)
	if dark {
		c.WriteString(darkStyle)
	}
	c.WriteString("</style>")
	drawPage(c, page, height, columns)
	c.WriteString("</svg>\n")
	return c.Flush()
}

func (c svgCanvas) open(i ink) { c.WriteString(`<path class="` + inks[i].class + `" d="`) }

// path writes the commands of an open line.
func (c svgCanvas) path(points ...vg.Point) {
	for n, p := range points {
		c.WriteByte("ML"[min(n, 1)])
		c.place(p.X)
		c.WriteByte(' ')
		c.place(p.Y)
	}
}

func (c svgCanvas) place(v vg.Length) { c.Write(appendPlace(c.AvailableBuffer(), float64(v))) }

// appendPlace appends a coordinate with one decimal.
func appendPlace(b []byte, v float64) []byte {
	return strconv.AppendFloat(b, math.Round(v*10)/10, 'f', -1, 64)
}

func (c svgCanvas) lines(i ink, lines ...[]vg.Point) {
	if len(lines) == 0 {
		return
	}
	c.open(i)
	for _, line := range lines {
		c.path(line...)
	}
	c.WriteString(`"/>`)
}

func (c svgCanvas) circles(i ink, radius vg.Length, centers []vg.Point) {
	if len(centers) == 0 {
		return
	}
	c.open(i)
	arcs := fmt.Sprintf("a%[1]g %[1]g 0 1 0 %[2]g 0a%[1]g %[1]g 0 1 0 -%[2]g 0", radius, 2*radius)
	for _, p := range centers {
		c.path(vg.Point{X: p.X - radius, Y: p.Y})
		c.WriteString(arcs)
	}
	c.WriteString(`"/>`)
}

func (c svgCanvas) area(i ink, title string, polygons ...[]vg.Point) {
	if len(polygons) == 0 {
		return
	}
	c.open(i)
	for _, corners := range polygons {
		c.path(corners...)
		c.WriteByte('Z')
	}
	c.WriteString(`">`)
	if title != "" {
		c.WriteString("<title>" + escapeXML(title) + "</title>")
	}
	c.WriteString("</path>")
}

func (c svgCanvas) text(l label) {
	c.WriteString("<text")
	if l.halo {
		c.WriteString(` class="halo"`)
	}
	if l.size != textSize {
		fmt.Fprintf(c, ` font-size="%.3g"`, l.size)
	}
	switch l.anchor {
	case middle:
		c.WriteString(` text-anchor="middle"`)
	case end:
		c.WriteString(` text-anchor="end"`)
	}
	at := l.baseline()
	if l.upright {
		fmt.Fprintf(c, ` transform="translate(%g %g) rotate(-90)">`, at.X, at.Y)
	} else {
		c.WriteString(` x="`)
		c.place(at.X)
		c.WriteString(`" y="`)
		c.place(at.Y)
		c.WriteString(`">`)
	}
	c.WriteString(escapeXML(l.text) + "</text>")
}
