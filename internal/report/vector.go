package report

import (
	"image/color"
	"math"
	"unicode"

	"golang.org/x/text/encoding/charmap"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/vg"

	"krund/internal/display"
)

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
	style := inks[i]
	c.SetColor(color.RGBA{byte(style.light >> 16), byte(style.light >> 8), byte(style.light), 0xff})
	c.SetLineWidth(style.width * unit)
	dashes := make([]vg.Length, len(style.dashes))
	for k, d := range style.dashes {
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
