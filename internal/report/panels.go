package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/explain"
	"krund/internal/display"
)

// Panel is another column of an execution, drawn below its values on the same axis of iterations.
type Panel struct {
	Title  string // "gc", "cycles"
	Unit   string // of the values
	Note   string // after the unit: ", core 3"
	Values []float64
	Span   Span // from 0; of the cores of a counter the same, as in the study's Figure 2
	Core   int  // processor, or dataset.NoCore
	sum    float64
}

// title names the panel with its unit: "gc (ms)", "cycles (G), core 3".
func (p *Panel) title() string {
	return axisName(p.Title, display.UnitOf(p.Unit).For(p.Span.High)) + p.Note
}

// UserColumns makes Panels include the columns that the benchmark itself set, such as the times of
// garbage collection and compilation in the study's Figure 6.
const UserColumns = "user"

// Panels selects columns by name, in the order of names, those of cores last. A counter of several
// cores gives a panel for each core, ordered by core, but at most most of them: those with the
// highest sums. Other columns, and empty ones, are omitted; of UserColumns also those that are
// always 0, and numbers of events that have a lane.
func Panels(columns []dataset.Column, names []string, most int, lanes []explain.Lane) []Panel {
	var list []Panel
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			list = append(list, panelsOf(columns, name, most)...)
		}
	}
	for _, name := range names {
		if name != UserColumns {
			add(name)
			continue
		}
		for i := range columns {
			c := &columns[i]
			counted := slices.ContainsFunc(lanes,
				func(l explain.Lane) bool { return counts[l.Kind] == c.Name })
			if c.Ints != nil && c.Name != dataset.Wall && !counted && slices.ContainsFunc(c.Ints, isSet) {
				add(c.Name)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Panel) int {
		return arith.One(a.Core != dataset.NoCore) - arith.One(b.Core != dataset.NoCore)
	})
	return list
}

// counts are the columns with the number of events of a kind.
var counts = map[string]string{"gc": "gc_count", "compile": "jit_count", "deopt": "deopt_count"}

func isSet(v int64) bool { return v != 0 && v != dataset.MissingInt }

func panelsOf(columns []dataset.Column, name string, most int) []Panel {
	var list []Panel
	top := 0.0
	for i := range columns {
		c := &columns[i]
		if c.Name != name || c.Len() == 0 {
			continue
		}
		p := Panel{Title: c.Name, Core: c.Core}
		if p.Values, p.Unit = c.Floats(); p.Unit == name {
			p.Unit = "" // "cycles" is enough
		}
		if c.Core != dataset.NoCore {
			p.Note = fmt.Sprintf(", core %d", c.Core)
		}
		for _, v := range p.Values {
			if v > 0 { // and no NaN
				p.sum += v
				top = max(top, v)
			}
		}
		list = append(list, p)
	}
	list = busiest(list, most)
	if top == 0 || math.IsInf(top, 0) {
		top = 1
	}
	for i := range list {
		list[i].Span = Span{0, top * (1 + fullMargin)}
	}
	return list
}

// busiest returns the panels with the highest sums, ordered by core.
func busiest(list []Panel, most int) []Panel {
	all := len(list)
	if all > most {
		slices.SortStableFunc(list, func(a, b Panel) int { return cmp.Compare(b.sum, a.sum) })
		list = list[:most]
	}
	slices.SortStableFunc(list, func(a, b Panel) int { return a.Core - b.Core })
	if all > most && most > 0 {
		list[0].Note += fmt.Sprintf(" (of the busiest %d of %d)", most, all)
	}
	return list
}

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
		lanes[s.kind] = map[string]any{"ink": s.ink.class, "half": s.half, "corners": s.corners,
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
