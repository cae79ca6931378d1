package report

import (
	"bufio"
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/encoding/charmap"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/vg"

	"krund/internal/display"
)

// canvas is the drawing surface of a static plot: an SVG (svgCanvas), a page of a PDF or the pixels
// of a PNG (vgCanvas). A figure is figureUnits wide; y grows downwards.
type canvas interface {
	// lines draws open lines, each through its points.
	lines(i ink, lines ...[]vg.Point)
	circles(i ink, radius vg.Length, centers []vg.Point)
	// area fills polygons. The title is their tooltip in formats that have tooltips.
	area(i ink, title string, polygons ...[]vg.Point)
	text(l label)
}

// label is text on a canvas.
type label struct {
	text    string
	at      vg.Point // half the height of a digit above the baseline
	size    vg.Length
	anchor  anchor
	upright bool // written upwards
	halo    bool // with its own background, so that lines do not cross it
}

// baseline is the label's position on its baseline.
func (l *label) baseline() vg.Point {
	const below = 0.36 // of the size
	if l.upright {
		return vg.Point{X: l.at.X + below*l.size, Y: l.at.Y}
	}
	return vg.Point{X: l.at.X, Y: l.at.Y + below*l.size}
}

// anchor is the share of a label's width that lies before its position.
type anchor float64

const (
	start  anchor = 0
	middle anchor = 0.5
	end    anchor = 1
)

// ink is a drawing style.
type ink = *inkStyle

type inkStyle struct {
	class       string      // in the style sheet of an SVG
	light, dark uint32      // 0xRRGGBB
	width       vg.Length   // of lines; 0: it fills areas
	dashes      []vg.Length // lengths of a dash and of a gap
}

// inks have the colors of Okabe and Ito, which are distinguishable with any color vision, for light
// and for dark pages. Circles and dashes convey the same information without color.
var (
	paperInk        = &inkStyle{"paper", 0xffffff, 0x15181c, 0, nil}
	haloInk         = &inkStyle{"halo", 0xffffff, 0x15181c, 3, nil}
	textInk         = &inkStyle{"text", 0x222222, 0xdddddd, 0, nil}
	gridInk         = &inkStyle{"grid", 0xe0e0e0, 0x333333, 1, nil}
	axisInk         = &inkStyle{"axis", 0x888888, 0x888888, 1, nil}
	seriesInk       = &inkStyle{"series", 0x0072b2, 0x56b4e9, 1, nil}
	outlierInk      = &inkStyle{"out", 0xd55e00, 0xe69f00, 1, nil}
	commonInk       = &inkStyle{"common", 0x009e73, 0x2ec99a, 1, nil}
	changeInk       = &inkStyle{"cp", 0xd55e00, 0xe69f00, 1, []vg.Length{5, 4}}
	equivalentInk   = &inkStyle{"eq", 0x000000, 0xffffff, 1.8, []vg.Length{7, 4}}
	differentInk    = &inkStyle{"ne", 0x777777, 0x999999, 1.8, []vg.Length{7, 4}}
	kernelInk       = &inkStyle{"kernel", 0xa0417c, 0xe59ac4, 0, nil}
	kernelLineInk   = &inkStyle{"kline", 0xa0417c, 0xe59ac4, 1, []vg.Length{1, 3}}
	throttleInk     = &inkStyle{"throttle", 0xd55e00, 0xe69f00, 0, nil}
	throttleLineInk = &inkStyle{"tline", 0xd55e00, 0xe69f00, 1, nil}
	temperatureInk  = &inkStyle{"temperature", 0x0072b2, 0x56b4e9, 0, nil}
	bandInk         = &inkStyle{"band", 0xeceff2, 0x262b31, 0, nil}
	lightInk        = &inkStyle{"light", 0xc3cad2, 0x4a525b, 7, nil}
	levelInk        = &inkStyle{"level", 0xd55e00, 0xe69f00, 1.4, nil}
	betterInk       = &inkStyle{"better", 0x009e73, 0x2ec99a, 2, nil}
	betterFill      = &inkStyle{"betterf", 0x009e73, 0x2ec99a, 0, nil}
	worseInk        = &inkStyle{"worse", 0xd55e00, 0xe69f00, 2, nil}
	worseFill       = &inkStyle{"worsef", 0xd55e00, 0xe69f00, 0, nil}
	sameInk         = &inkStyle{"same", 0x0072b2, 0x56b4e9, 2, nil}
	sameFill        = &inkStyle{"samef", 0x0072b2, 0x56b4e9, 0, nil}
	faintInk        = &inkStyle{"faint", 0x8a929b, 0x7f8892, 1.6, nil}
	gcInk           = &inkStyle{"gc", 0x009e73, 0x2ec99a, 0, nil}
	compileInk      = &inkStyle{"compile", 0x0072b2, 0x56b4e9, 0, nil}
	deoptInk        = &inkStyle{"deopt", 0xd55e00, 0xe69f00, 0, nil}
	codeInk         = &inkStyle{"code", 0xa0417c, 0xe59ac4, 0, nil}
	pauseInk        = &inkStyle{"pause", 0xa87900, 0xf0e442, 0, nil}
	switchInk       = &inkStyle{"switch", 0x777777, 0x999999, 0, nil}
	plainInk        = &inkStyle{"plain", 0x222222, 0xdddddd, 0, nil}
)

// inks are those of the style sheets.
var inks = []ink{
	paperInk, haloInk, textInk, gridInk, axisInk, seriesInk, outlierInk, commonInk, changeInk,
	equivalentInk, differentInk, kernelInk, kernelLineInk, throttleInk, throttleLineInk, temperatureInk,
	bandInk, lightInk, levelInk, betterInk, betterFill, worseInk, worseFill, sameInk, sameFill, faintInk,
	gcInk, compileInk, deoptInk, codeInk, pauseInk, switchInk, plainInk,
}

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

func (c svgCanvas) open(i ink) { c.WriteString(`<path class="` + i.class + `" d="`) }

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

// vgCanvas draws on a page of a PDF or on the pixels of a PNG. Their coordinates are in points,
// with y growing upwards.
type vgCanvas struct {
	vg.Canvas
	height vg.Length
	fonts  *font.Cache
	encode func(string) string // converts text for Canvas
}

func newVGCanvas(c vg.Canvas, height vg.Length, encode func(string) string) vgCanvas {
	return vgCanvas{c, height * unit, font.NewCache(liberation.Collection()), encode}
}

func (c vgCanvas) at(p vg.Point) vg.Point { return vg.Point{X: p.X * unit, Y: c.height - p.Y*unit} }

func (c vgCanvas) use(i ink) {
	c.SetColor(color.RGBA{byte(i.light >> 16), byte(i.light >> 8), byte(i.light), 0xff})
	c.SetLineWidth(i.width * unit)
	dashes := make([]vg.Length, len(i.dashes))
	for k, d := range i.dashes {
		dashes[k] = d * unit
	}
	c.SetLineDash(dashes, 0)
}

func (c vgCanvas) path(points []vg.Point) vg.Path {
	path := make(vg.Path, 0, len(points)+1)
	for i, p := range points {
		if i == 0 {
			path.Move(c.at(p))
		} else {
			path.Line(c.at(p))
		}
	}
	return path
}

func (c vgCanvas) lines(i ink, lines ...[]vg.Point) {
	const most = 128 // points of a stroke: the time to rasterize one grows with their square
	c.use(i)
	for _, line := range lines {
		for ; len(line) > most; line = line[most-1:] {
			c.Stroke(c.path(line[:most]))
		}
		c.Stroke(c.path(line))
	}
}

func (c vgCanvas) circles(i ink, radius vg.Length, centers []vg.Point) {
	c.use(i)
	for _, center := range centers {
		path := c.path([]vg.Point{center.Add(vg.Point{X: radius})})
		path.Arc(c.at(center), radius*unit, 0, 2*math.Pi)
		path.Close()
		c.Stroke(path)
	}
}

func (c vgCanvas) area(i ink, _ string, polygons ...[]vg.Point) {
	c.use(i)
	for _, corners := range polygons {
		path := c.path(corners)
		path.Close()
		c.Fill(path)
	}
}

func (c vgCanvas) text(l label) {
	text := display.PlainLine(l.text)
	sans := c.fonts.Lookup(font.Font{Typeface: "Liberation", Variant: "Sans"}, l.size*unit)
	width := sans.Width(text) / unit
	at := l.baseline()
	if l.halo {
		from := at.Sub(vg.Point{X: width * vg.Length(l.anchor), Y: l.size})
		c.area(paperInk, "", corners(vg.Rectangle{Min: from, Max: from.Add(vg.Point{X: width,
			Y: 1.3 * l.size})}))
	}
	c.use(textInk)
	c.Push()
	defer c.Pop()
	c.Translate(c.at(at))
	if l.upright {
		c.Rotate(math.Pi / 2)
	}
	c.FillString(sans, vg.Point{X: -width * unit * vg.Length(l.anchor)}, c.encode(text))
}

// windows1252 encodes text for vgpdf, which expects bytes of this code page. Characters missing
// from it become "?".
func windows1252(s string) string {
	var b []byte
	for _, r := range s {
		letter, ok := charmap.Windows1252.EncodeRune(r)
		if !ok || unicode.IsControl(r) {
			letter = '?'
		}
		b = append(b, letter)
	}
	return string(b)
}
