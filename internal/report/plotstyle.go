package report

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Colours of Okabe and Ito: see svgStyle.
var (
	seriesColour  = color.RGBA{0, 0x72, 0xb2, 255}
	outlierColour = color.RGBA{0xd5, 0x5e, 0, 255}
	commonColour  = color.RGBA{0, 0x9e, 0x73, 255}
	kernelColour  = color.RGBA{0xa0, 0x41, 0x7c, 255}
	otherColour   = color.RGBA{0x77, 0x77, 0x77, 255}
	gridColour    = color.RGBA{0xe2, 0xe2, 0xe2, 255}
)

// look is how a kind of event is drawn.
type look struct {
	colour color.Color
	shape  draw.GlyphDrawer
}

var eventLooks = map[EventKind]look{
	KernelEvent:      {kernelColour, draw.PyramidGlyph{}},
	ThrottleEvent:    {outlierColour, diamond{}},
	TemperatureEvent: {seriesColour, draw.BoxGlyph{}},
}

// diamond is a filled square on its corner.
type diamond struct{}

// DrawGlyph is draw.GlyphDrawer's.
func (diamond) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	c.SetColor(s.Color)
	var p vg.Path
	r := s.Radius * 1.3
	p.Move(vg.Point{X: at.X, Y: at.Y + r})
	p.Line(vg.Point{X: at.X + r, Y: at.Y})
	p.Line(vg.Point{X: at.X, Y: at.Y - r})
	p.Line(vg.Point{X: at.X - r, Y: at.Y})
	p.Close()
	c.Fill(p)
}

// sans is a font without serifs, of a size in points.
func sans(points vg.Length) font.Font {
	return font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, points)
}

func textStyle(points vg.Length, x text.XAlignment, y text.YAlignment) text.Style {
	return text.Style{Color: color.Black, Font: sans(points), XAlign: x, YAlign: y, Handler: plot.DefaultTextHandler}
}

// roundTicks are those of a Span, with few digits, whatever room there is
// around it. whole: only whole numbers.
type roundTicks struct {
	about  int
	whole  bool
	within Span
}

// Ticks is plot.Ticker's.
func (r roundTicks) Ticks(float64, float64) []plot.Tick {
	s := r.within
	values := s.Ticks(r.about)
	if r.whole {
		values = s.WholeTicks(r.about)
	}
	var ticks []plot.Tick
	for _, v := range values {
		ticks = append(ticks, plot.Tick{Value: v, Label: tickText(v, s)})
	}
	return ticks
}
