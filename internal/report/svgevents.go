package report

import (
	"bytes"
	"fmt"
	"slices"
)

// signs are the marks of events, by shape as well as by colour.
var signs = []struct {
	kind EventKind
	path string // around 0 0
	name string
}{
	{KernelEvent, "M0 -5L5 4H-5Z", "kernel message"},
	{ThrottleEvent, "M0 -5L5 0L0 5L-5 0Z", "throttled"},
	{TemperatureEvent, "M-4 -4H4V4H-4Z", "temperature"},
}

func signOf(k EventKind) string {
	for _, s := range signs {
		if s.kind == k {
			return s.path
		}
	}
	return "M-4 0H4"
}

// lane draws events below the main plot, and a line through it where the
// kernel spoke.
func (r *Run) lane(p panel) {
	y := p.bottom + laneHeight/2 + 1
	for _, e := range labelsLast(r.Events) {
		x := min(max(p.x(e.At+1), p.left), p.right)
		if e.Kind == KernelEvent {
			fmt.Fprintf(p.b, `<path class="kline" d="M%s %gV%g"/>`, place(x), p.top, p.bottom)
		}
		if e.Kind == ThrottleEvent {
			fmt.Fprintf(p.b, `<path class="tline" d="M%g %sH%g"/>`, p.left, place(y), p.right)
		}
		fmt.Fprintf(p.b, `<path class="%s" transform="translate(%s %s)" d="%s"><title>%s</title></path>`,
			e.Kind, place(x), place(y), signOf(e.Kind), escapeXML(e.Title(len(r.Values))))
		if e.Label != "" {
			anchor, shift := "start", 9.0
			if e.At > 0 {
				anchor, shift = "end", -9
			}
			fmt.Fprintf(p.b, `<text class="small" x="%s" y="%s" text-anchor="%s">%s</text>`, place(x+shift), place(y+4), anchor, escapeXML(e.Label))
		}
	}
}

// labelsLast gives the events in an order in which no sign is drawn over a text.
func labelsLast(events []Event) []Event {
	return slices.SortedStableFunc(slices.Values(events), func(a, b Event) int { return number(a.Label != "") - number(b.Label != "") })
}

// legend explains the signs that occur.
func (r *Run) legend(b *bytes.Buffer) {
	if len(r.Events) == 0 {
		return
	}
	x, y := plotLeft+6, r.SVGHeight()-7
	for _, s := range signs {
		for _, e := range r.Events {
			if e.Kind == s.kind {
				fmt.Fprintf(b, `<path class="%s" transform="translate(%g %g)" d="%s"/><text class="small" x="%g" y="%g">%s</text>`, s.kind, x, y-4, s.path, x+9, y, s.name)
				x += 130
				break
			}
		}
	}
}
