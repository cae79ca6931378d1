package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"krund/internal/display"
)

// panel is a rectangle of a figure with axes.
type panel struct {
	vg.Rectangle
	canvas
	xs, ys  Span
	columns int       // of a series: see series
	size    vg.Length // of the text beside it
	unit    display.Unit
}

func (p panel) x(v float64) vg.Length {
	return p.Min.X + vg.Length((v-p.xs.Low)/(p.xs.High-p.xs.Low))*p.Size().X
}

func (p panel) y(v float64) vg.Length {
	return p.Max.Y - vg.Length((v-p.ys.Low)/(p.ys.High-p.ys.Low))*p.Size().Y
}

// upright and level are lines across the panel.
func (p panel) upright(x vg.Length) []vg.Point {
	return []vg.Point{{X: x, Y: p.Min.Y}, {X: x, Y: p.Max.Y}}
}
func (p panel) level(y vg.Length) []vg.Point {
	return []vg.Point{{X: p.Min.X, Y: y}, {X: p.Max.X, Y: y}}
}

// frame draws the border, and a grid with about n values beside it.
func (p panel) frame(n int) {
	var grid [][]vg.Point
	for _, t := range p.ys.Ticks(n) {
		grid = append(grid, p.level(p.y(t)))
		p.text(label{text: tickText(t, p.ys, p.unit), at: vg.Point{X: p.Min.X - 5, Y: p.y(t)}, size: p.size,
			anchor: end})
	}
	p.lines(gridInk, grid...)
	p.lines(axisInk, append(corners(p.Rectangle), p.Min))
}

// below writes a text that is centered below the panel: the numbers of its axis, or what they are.
func (p panel) below(text string, x, distance, size vg.Length) {
	p.text(label{text: text, at: vg.Point{X: x, Y: p.Max.Y + distance}, size: size, anchor: middle})
}

// ruler draws upright lines at values of the horizontal axis, with their texts below.
func (p panel) ruler(values []float64, text func(float64) string) {
	var grid [][]vg.Point
	for _, v := range values {
		grid = append(grid, p.upright(p.x(v)))
		p.below(text(v), p.x(v), numbersBelow, p.size)
	}
	p.lines(gridInk, grid...)
}

// title draws the title of a drawing that begins at top, smaller if it is long.
func title(c canvas, text string, left, top, width vg.Length) {
	c.text(label{text: text, at: vg.Point{X: left, Y: top + titleHeight/2},
		size: fitting(text, (width-left)*nameSize/titleSize) * titleSize / nameSize})
}

// Distances of texts from a panel.
const (
	numbersBelow = 12
	nameBelow    = 30
)

// axisName names the horizontal axis.
func (p panel) axisName(text string) { p.below(text, (p.Min.X+p.Max.X)/2, nameBelow, textSize) }

// box is the area of a panel of a drawing.
func box(left, right, top, height vg.Length) vg.Rectangle {
	return vg.Rectangle{Min: vg.Point{X: left, Y: top}, Max: vg.Point{X: right, Y: top + height}}
}

// around moves the corners of a sign to its place.
func around(at vg.Point, sign [][2]vg.Length) []vg.Point {
	points := make([]vg.Point, len(sign))
	for i, k := range sign {
		points[i] = vg.Point{X: at.X + k[0], Y: at.Y + k[1]}
	}
	return points
}

func corners(r vg.Rectangle) []vg.Point {
	return []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}}
}

// numbers draws about n iteration numbers at a height.
func (p panel) numbers(n int, y vg.Length) {
	for _, t := range p.xs.WholeTicks(n) {
		p.text(label{text: fmt.Sprint(t), at: vg.Point{X: p.x(t), Y: y}, size: p.size, anchor: middle})
	}
}

// column draws another column, with its name in the corner.
func (p panel) column(c Panel) {
	p.unit = display.UnitOf(c.Unit).For(c.Span.High)
	p.frame(3)
	p.columns /= 2
	p.lines(seriesInk, p.series(c.Values)...)
	p.text(label{text: c.title(), at: vg.Point{X: p.Min.X + 6, Y: p.Min.Y + 9}, size: nameSize, halo: true})
}

// inset draws the first iterations into the panel of the whole run.
func (p panel) inset(r *Run) {
	size := p.Size()
	box := p
	box.Min = vg.Point{X: p.Min.X + size.X*insetLeft, Y: p.Min.Y + size.Y*insetTop}
	box.Max = vg.Point{X: box.Min.X + size.X*insetWidth, Y: box.Min.Y + size.Y*insetHeight}
	p.area(paperInk, "", corners(box.Rectangle))
	p.lines(axisInk, append(corners(box.Rectangle), box.Min))
	box.Min = box.Min.Add(vg.Point{X: insetLabels, Y: insetSize / 2})
	box.Max = box.Max.Sub(vg.Point{X: insetSize, Y: 1.6 * insetSize})
	box.xs, box.ys, box.size = Span{1, float64(r.Inset)}, r.InsetSpan, insetSize
	box.frame(insetTicks)
	box.numbers(5, box.Max.Y+0.8*insetSize)
	within := func(i int) bool { return i >= r.Inset }
	box.run(&Run{
		Values:   r.Values[:r.Inset],
		Outliers: slices.DeleteFunc(slices.Clone(r.Outliers), within), Common: r.Common,
	}, true)
	p.text(label{
		text: fmt.Sprintf("first %d", r.Inset), at: vg.Point{X: box.Max.X - 4, Y: box.Min.Y + 0.7*insetSize},
		size: insetSize, anchor: end, halo: true,
	})
}

// run draws values, means, changepoints and, if circles is set, outliers.
func (p panel) run(r *Run, circles bool) {
	p.lines(seriesInk, p.series(r.Values)...)
	means := map[bool][][]vg.Point{}
	for _, m := range r.Means() {
		if m.Mean >= p.ys.Low && m.Mean <= p.ys.High {
			y := p.y(m.Mean)
			line := []vg.Point{{X: p.x(m.From + 1), Y: y}, {X: p.x(m.To + 1), Y: y}}
			means[m.Equivalent] = append(means[m.Equivalent], line)
		}
	}
	p.lines(differentInk, means[false]...)
	p.lines(equivalentInk, means[true]...)
	var changes [][]vg.Point
	for _, c := range r.Changes {
		changes = append(changes, p.upright(p.x(float64(c+1))))
	}
	p.lines(changeInk, changes...)
	if circles {
		p.outliers(r)
	}
}

// outliers circles the outliers; those that also occur in other executions have another color. Of
// circles that would cover each other it draws one.
func (p panel) outliers(r *Run) {
	const radius, same = 4, 2
	type circle struct {
		x, y int
		ink  ink
	}
	drawn, centers := map[circle]bool{}, map[ink][]vg.Point{}
	for _, i := range r.Outliers {
		if i >= len(r.Values) || !(r.Values[i] >= p.ys.Low && r.Values[i] <= p.ys.High) {
			continue
		}
		at, ink := vg.Point{X: p.x(float64(i + 1)), Y: p.y(r.Values[i])}, outlierInk
		if _, found := slices.BinarySearch(r.Common, i); found {
			ink = commonInk
		}
		if c := (circle{int(at.X / same), int(at.Y / same), ink}); !drawn[c] {
			drawn[c] = true
			centers[ink] = append(centers[ink], at)
		}
	}
	p.circles(outlierInk, radius, centers[outlierInk])
	p.circles(commonInk, radius, centers[commonInk])
}

// series returns the lines of a series, with gaps at missing values. With more than two values per
// column of the plot it draws the lowest and the highest value of each column, which looks the
// same.
func (p panel) series(values []float64) [][]vg.Point {
	per := (len(values) + p.columns - 1) / p.columns
	if per <= 2 {
		per = 1
	}
	var lines [][]vg.Point
	line := make([]vg.Point, 0, 2*len(values)/per+2)
	outside := false
	add := func(i int) {
		outside = outside || values[i] < p.ys.Low || values[i] > p.ys.High
		line = append(line, vg.Point{X: p.x(float64(i + 1)), Y: p.y(values[i])})
	}
	for from := 0; from < len(values); from += per {
		low, high := extremes(values, from, min(from+per, len(values)))
		if low < 0 {
			lines, line = append(lines, line), nil
			continue
		}
		add(min(low, high))
		if low != high {
			add(max(low, high))
		}
	}
	lines = append(lines, line)
	if box := (draw.Canvas{Rectangle: p.Rectangle}); outside {
		lines = box.ClipLinesY(lines...)
	}
	return lines
}

// extremes returns the indexes of the lowest and the highest number, -1 if there is none.
func extremes(values []float64, from, to int) (low, high int) {
	low, high = -1, -1
	for i := from; i < to; i++ {
		v := values[i]
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		if low < 0 || v < values[low] {
			low = i
		}
		if high < 0 || v > values[high] {
			high = i
		}
	}
	return low, high
}

// Ticks returns up to about n round values within the span.
func (s Span) Ticks(n int) []float64 { return s.ticks(n, 0) }

// WholeTicks returns Ticks that are integers.
func (s Span) WholeTicks(n int) []float64 { return s.ticks(n, 1) }

func (s Span) ticks(n int, least float64) []float64 {
	width := s.High - s.Low
	if !(width > 0) || math.IsInf(width, 0) || n < 1 {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10(width/float64(n))))
	for _, k := range []float64{1, 2, 5, 10} {
		if width/(step*k) <= float64(n) {
			step *= k
			break
		}
	}
	step = max(step, least)
	var ticks []float64
	for i := math.Ceil(s.Low / step); i*step <= s.High && len(ticks) <= 2*n; i++ {
		ticks = append(ticks, i*step+0) // + 0 makes a zero of a negative zero
	}
	return ticks
}

// tickText formats an axis value in the axis's unit, with the digits that distinguish it from its
// neighbors.
func tickText(v float64, s Span, unit display.Unit) string {
	if v == 0 {
		return "0"
	}
	places := max(0, 1-int(math.Floor(math.Log10(unit.Scale(s.High-s.Low)))))
	return strconv.FormatFloat(unit.Scale(v), 'f', min(places, 9), 64)
}

// axisName names a column with the unit of its axis: "wall (ms)".
func axisName(column string, unit display.Unit) string {
	if unit.Name() == "" {
		return column
	}
	return column + " (" + unit.Name() + ")"
}

// axis returns the unit for the run's axis: the one that fits the second half of the values, unless
// the numbers for the highest value would be too long.
func (r *Run) axis(unit display.Unit) display.Unit {
	const most = 1e5
	fits := unit.For(r.Zoom.High)
	if fits.Scale(r.Full.High) >= most {
		return unit.For(r.Full.High)
	}
	return fits
}
