package report

import (
	"slices"

	"gonum.org/v1/plot/vg"
)

// Bars is a static plot of a histogram over 0 to 1.
type Bars struct {
	Title  string
	Axis   string
	Counts []int
}

const barsHeight = 110

func (b *Bars) title() string { return b.Title }

func (b *Bars) height() vg.Length { return titleHeight + barsHeight + axisHeight }

func (b *Bars) draw(c canvas, top vg.Length, _ int) {
	c.text(label{text: b.Title, at: vg.Point{X: 8, Y: top + titleHeight/2}, size: titleSize})
	if len(b.Counts) == 0 {
		return
	}
	total := 0
	for _, n := range b.Counts {
		total += n
	}
	p := panel{canvas: c, xs: Span{0, 1}, size: nameSize,
		Rectangle: box(forestLeft, forestRight, top+titleHeight, barsHeight),
		ys:        Span{0, float64(max(slices.Max(b.Counts), 1)) * (1 + fullMargin)}}
	p.frame(4)
	width := 1 / float64(len(b.Counts))
	const gap = 1
	for i, n := range b.Counts {
		from := vg.Point{X: p.x(float64(i)*width) + gap, Y: p.y(float64(n))}
		c.area(sameFill, "", corners(vg.Rectangle{Min: from,
			Max: vg.Point{X: p.x(float64(i+1)*width) - gap, Y: p.Max.Y}}))
	}
	p.lines(changeInk, p.level(p.y(float64(total)*width)))
	for _, t := range p.xs.Ticks(5) {
		p.below(tickText(t, p.xs, p.unit), p.x(t), numbersBelow, nameSize)
	}
	p.axisName(b.Axis)
}
