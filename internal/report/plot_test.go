package report

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/xml"
	"image/png"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/vg"

	"krund/internal/analysis/warmup"
	"krund/internal/display"
	"krund/rig/must"
)

func figures(t *testing.T) []Drawing {
	t.Helper()
	d := sample()
	doc := analysed(t, d)
	var list []Drawing
	for i := range doc.Pairs {
		for e := range doc.Pairs[i].Executions {
			a := &doc.Pairs[i].Executions[e]
			values, _ := d.Pairs[i].Executions[e].Values("wall")
			list = append(list, &Figure{Title: doc.Pairs[i].Key, Column: "wall",
				Unit: display.UnitOf("s"), Run: NewRun(values, a)})
		}
	}
	return list
}

// pageSVG is a figure as a report has it.
func pageSVG(t testing.TB, f *Figure) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, writeSVG(&b, []Drawing{f}, pageColumns, true))
	return b.Bytes()
}

// TestWritePlot: every format is one that its readers take, whatever is in it.
func TestWritePlot(t *testing.T) {
	full := Figure{Title: "schön 漢", Column: "wall", Run: NewRun(levels(1, 300, 0.5), nil)}
	full.Run.Events = placed(eventsOf(hotRun()))
	full.Run.Panels = []Panel{
		{Title: "gc", Unit: "s", Values: levels(2, 300, 0.1), Span: Span{0, 1}, Core: -1},
		{Title: "cycles", Note: ", core 0", Values: make([]float64, 300), Span: Span{0, 1}}}
	all := append(figures(t), &full, &Figure{Title: "nothing", Run: NewRun(nil, nil)},
		&Figure{Title: "gaps", Run: NewRun([]float64{1, math.NaN(), math.Inf(1), 2},
			&warmup.Execution{Outliers: []int{1, 3}, CommonOutliers: []int{3}})})
	var pdf, svg, image bytes.Buffer
	var pages [][]Drawing
	for _, f := range all {
		pages = append(pages, []Drawing{f})
	}
	must.Do(t, WritePlot(&pdf, PDF, pages))
	n := bytes.Count(pdf.Bytes(), []byte("/Type /Page\n"))
	must.Be(t, bytes.HasPrefix(pdf.Bytes(), []byte("%PDF")) && n == len(all), "the PDF has", n, "pages, want",
		len(all))
	must.Do(t, WritePlot(&svg, SVG, [][]Drawing{all}))
	err := xml.Unmarshal(svg.Bytes(), new(struct{}))
	must.Be(t, err == nil && !bytes.Contains(svg.Bytes(), []byte("<script>")), "SVG", err)
	for _, want := range []string{"gc (s)", "cycles, core 0", "42.4 °C", "kernel message", "schön"} {
		must.Contain(t, svg.String(), want, "the SVG lacks")
	}
	must.Do(t, WritePlot(&image, PNG, [][]Drawing{{all[0], &full}}))
	picture, err := png.Decode(&image)
	must.Be(t, err == nil && picture.Bounds().Dx() >= 1000, "PNG", err)
}

func TestWritePlotRefuses(t *testing.T) {
	one := [][]Drawing{{}}
	for name, err := range map[string]error{
		"no pages":      WritePlot(&bytes.Buffer{}, PDF, nil),
		"two pages":     WritePlot(&bytes.Buffer{}, PNG, append(one, one...)),
		"other formats": WritePlot(&bytes.Buffer{}, "gif", one),
	} {
		must.Be(t, err != nil, name, "were not refused")
	}
}

// TestPages: as many as fit on a sheet.
func TestPages(t *testing.T) {
	one, high := &Figure{Run: NewRun([]float64{1, 2}, nil)}, &Figure{Run: NewRun([]float64{1, 2}, nil)}
	high.Run.Panels = make([]Panel, 20)
	list := []Drawing{one, one, one, one, one, one, high, one}
	var counts []int
	for _, page := range Pages(list) {
		counts = append(counts, len(page))
	}
	must.EqualList(t, counts, []int{4, 2, 1, 1}, "on a page")
	must.Be(t, Pages(nil) == nil, "no figures have pages")
}

// TestWindows1252: text beyond ASCII is what it says in a PDF.
func TestWindows1252(t *testing.T) {
	for text, want := range map[string]string{"58.4 °C": "58.4 \xb0C", "schön 漢 – €": "sch\xf6n ? \x96 \x80",
		"\uFFFD\u0081": "??"} {
		must.Equal(t, windows1252(text), want, "becomes")
	}
}

// TestLongTitle: the execution and its class are at the end of the title, so a long one is drawn
// smaller instead of beyond the edge. Short ones have the usual size.
func TestLongTitle(t *testing.T) {
	for title, full := range map[string]bool{
		"nbody:C:default-c, execution 1: flat": true,
		"":                                     true,
		"edu.illinois.library.cantaloupe.perf.processor.codec.JPEGImageReaderPerformance." +
			"testGetNumImages:JVM:default, execution 1: no steady state": false,
		strings.Repeat("steady:", 50): false,
	} {
		f := Figure{Title: title, Run: NewRun([]float64{1, 2}, nil)}
		drawn := labels{}
		f.draw(&drawn, 0, pageColumns)
		l := drawn.list[0]
		fonts := font.NewCache(liberation.Collection())
		sans := fonts.Lookup(font.Font{Typeface: "Liberation", Variant: "Sans"}, l.size)
		right := l.at.X + sans.Width(l.text)
		must.Be(t, l.text == title && right <= figureUnits, l.text, "ends at", right, "of", figureUnits)
		must.Be(t, (l.size == titleSize) == full, title, "has the size", l.size)
	}
}

// labels is a canvas that keeps only text.
type labels struct{ list []label }

func (c *labels) lines(ink, ...[]vg.Point)           {}
func (c *labels) circles(ink, vg.Length, []vg.Point) {}
func (c *labels) area(ink, string, ...[]vg.Point)    {}
func (c *labels) text(l label)                       { c.list = append(c.list, l) }

// TestTickText: numbers are in the unit of the axis.
func TestTickText(t *testing.T) {
	for _, c := range []struct {
		v    float64
		s    Span
		want string
	}{
		{0, Span{0, 1e9}, "0"}, {1e9, Span{0, 1.04e9}, "1000000000"}, {2e-5, Span{1e-5, 3e-5}, "20"},
		{0.25, Span{0.2, 0.3}, "250"}, {3e-10, Span{0, 1e-9}, "0.3"},
	} {
		must.Equal(t, tickText(c.v, c.s, display.UnitOf("s").For(c.s.High)), c.want, c.v, c.s)
	}
}

// TestSeries: gaps part the lines, what lies outside the panel is cut off, and a long series keeps
// its extremes.
func TestSeries(t *testing.T) {
	p := panel{Rectangle: vg.Rectangle{Max: vg.Point{X: 100, Y: 10}}, xs: Span{1, 5}, ys: Span{0, 10},
		columns: 10}
	lines := p.series([]float64{1, 2, math.NaN(), 3, 30})
	if len(lines) != 2 || len(lines[0]) != 2 || lines[1][0] != (vg.Point{X: 75, Y: 7}) ||
		math.Abs(float64(lines[1][1].Y)) > 1e-9 {
		t.Errorf("lines %v", lines)
	}
	long := levels(1, 1000, 5)
	long[123], long[777] = 1, 9
	p.xs = Span{1, 1000}
	line := slices.Concat(p.series(long)...)
	byHeight := func(a, b vg.Point) int { return cmp.Compare(a.Y, b.Y) }
	if top, bottom := slices.MinFunc(line, byHeight).Y, slices.MaxFunc(line, byHeight).Y; len(line) > 20 ||
		top != 1 || bottom != 9 {
		t.Errorf("%d points from %g to %g", len(line), top, bottom)
	}
}

// TestOutliers: every outlier that can be told from the others has a circle.
func TestOutliers(t *testing.T) {
	var b bytes.Buffer
	values := levels(1, 100, 5)
	c := svgCanvas{bufio.NewWriter(&b)}
	p := panel{Rectangle: vg.Rectangle{Max: vg.Point{X: 990, Y: 100}}, canvas: c, xs: Span{1, 100},
		ys: Span{0, 10}, columns: 10, size: textSize}
	p.outliers(&Run{Values: append(values, 5, 50), Outliers: []int{3, 50, 99, 100, 101, 200},
		Common: []int{50}})
	c.Flush()
	n := strings.Count(b.String(), "M")
	must.Be(t, n == 4 && strings.Count(b.String(), `class="common"`) == 1, n, "circles", b.String())
}
