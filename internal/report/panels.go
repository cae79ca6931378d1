package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

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
