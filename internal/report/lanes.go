package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"gonum.org/v1/plot/vg"

	"krund/internal/analysis/explain"
)

// laneStyle is the sign of a kind of the VM's and the kernel's events. Signs differ in shape as
// well as in color, and each kind has a lane of its own. The interactive plots get them as data.
type laneStyle struct {
	kind    string
	glyph   string // in texts of a page
	ink     ink
	half    vg.Length      // of bars: half the height; a bar lasts as long as its event
	corners [][2]vg.Length // of other signs: x and y around the place of their event
}

const arm = 0.9 // half the width of the arms of a cross

// square returns the corners of a square with half the given side.
func square(half vg.Length) [][2]vg.Length {
	return [][2]vg.Length{{-half, -half}, {half, -half}, {half, half}, {-half, half}}
}

var laneStyles = []laneStyle{
	{kind: "gc", glyph: "▮", ink: gcInk, half: 5},
	{kind: "compile", glyph: "▬", ink: compileInk, half: 2.5},
	{kind: "deopt", glyph: "▼", ink: deoptInk, corners: [][2]vg.Length{{-4, -4}, {4, -4}, {0, 4}}},
	{kind: "code", glyph: "◆", ink: codeInk, corners: [][2]vg.Length{{0, -5}, {5, 0}, {0, 5}, {-5, 0}}},
	{kind: "load", glyph: "▪", ink: plainInk, corners: square(1.5)},
	{kind: "pause", glyph: "▮", ink: pauseInk, half: 4},
	{kind: "mark", glyph: "✚", ink: plainInk, corners: [][2]vg.Length{{-arm, -5}, {arm, -5}, {arm, -arm},
		{5, -arm}, {5, arm}, {arm, arm}, {arm, 5}, {-arm, 5}, {-arm, arm}, {-5, arm}, {-5, -arm},
		{-arm, -arm}}},
	{kind: "switch", glyph: "▬", ink: switchInk, half: 1.5},
	{kind: "irq", glyph: "–", ink: plainInk, half: 1},
	{kind: "fault", glyph: "■", ink: codeInk, corners: square(3)},
	{kind: "smi", glyph: "▲", ink: deoptInk, corners: [][2]vg.Length{{0, -4}, {4, 4}, {-4, 4}}},
}

// writeMarks writes assets/marks.js: the signs of static plots for the interactive ones, in units
// of a static plot. A color is the name of its ink, because a page has its own shades, which are
// read as text, too, and need more contrast than lines.
func writeMarks(w io.Writer) error {
	lanes, events := map[string]any{}, map[EventKind]any{}
	for _, s := range laneStyles {
		lanes[s.kind] = map[string]any{"ink": inks[s.ink].class, "half": s.half, "corners": s.corners,
			"glyph": s.glyph}
	}
	for _, s := range signs {
		events[s.kind] = s.corners
	}
	text, err := json.Marshal(map[string]any{"lanes": lanes, "signs": events})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "window.krundMarks = %s;\n", text)
	return err
}

const (
	laneRow     = 15 // height of a lane of events
	laneFoot    = 4  // between the lanes and the numbers of the axis
	leastBar    = 1  // width of the sign of an instant
	laneCrowded = 7  // units per sign, below which they would hide each other
	barsCrowded = 3  // of bars
	laneColumn  = 3  // units of a column of crowded signs
)

// lanesHeight is the height of the lanes below a run.
func lanesHeight(lanes []explain.Lane) vg.Length {
	if len(lanes) == 0 {
		return 0
	}
	return vg.Length(len(lanes))*laneRow + laneFoot
}

// lane draws the events of one kind at a height below the panel. Where a kind has too many, columns
// stand for them, the higher the more events they have.
func (p panel) lane(l explain.Lane, y vg.Length) {
	p.text(label{text: l.Kind, at: vg.Point{X: p.Min.X - 5, Y: y}, size: nameSize, anchor: end})
	p.lines(gridInk, p.level(y))
	for _, style := range laneStyles {
		switch {
		case style.kind != l.Kind:
		case vg.Length(len(l.Marks))*style.width() > p.Size().X:
			p.density(l, style, y)
		default:
			var signs [][]vg.Point
			for _, m := range l.Marks {
				signs = append(signs, style.sign(p.inside(m.From), p.inside(m.To), y))
			}
			p.area(style.ink, "", signs...)
		}
	}
}

// inside returns the place of a position on the axis, within the panel.
func (p panel) inside(at float64) vg.Length { return min(max(p.x(at+1), p.Min.X), p.Max.X) }

// width is the room that a sign needs at least.
func (s *laneStyle) width() vg.Length {
	if s.half > 0 {
		return barsCrowded
	}
	return laneCrowded
}

// sign returns the corners of the sign of an event.
func (s *laneStyle) sign(from, to, y vg.Length) []vg.Point {
	if s.half > 0 {
		return bar(from, max(to, from+leastBar), y, s.half)
	}
	return around(vg.Point{X: from, Y: y}, s.corners)
}

func bar(from, to, y, half vg.Length) []vg.Point {
	return corners(vg.Rectangle{Min: vg.Point{X: from, Y: y - half}, Max: vg.Point{X: to, Y: y + half}})
}

// density draws columns whose height grows with the root of the number of events.
func (p panel) density(l explain.Lane, style laneStyle, y vg.Length) {
	counts := make([]int, int(p.Size().X/laneColumn)+1)
	most := 0
	for _, m := range l.Marks {
		i := int((p.inside(m.From) - p.Min.X) / laneColumn)
		counts[i] += m.Events
		most = max(most, counts[i])
	}
	var columns [][]vg.Point
	for i, n := range counts {
		if n == 0 {
			continue
		}
		x, share := p.Min.X+vg.Length(i)*laneColumn, math.Sqrt(float64(n)/float64(most))
		columns = append(columns, bar(x, min(x+laneColumn, p.Max.X), y,
			max((laneRow-2)/2*vg.Length(share), 1)))
	}
	p.area(style.ink, "", columns...)
}
