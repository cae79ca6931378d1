package pages

import (
	"fmt"
	"html/template"
	"strings"

	"krund/internal/display"
	"krund/internal/schedule"
)

// strips are the states of a slot, in the order of the legend, with what the eye sees besides the
// color.
var strips = []struct {
	flag schedule.Flag
	sign string
	name string
}{
	{schedule.Completed, "■", "completed"},
	{schedule.Error, "✗", "error"},
	{schedule.Timeout, "◔", "timeout"},
	{schedule.Skipped, "–", "skipped"},
	{schedule.Running, "▶", "running"},
	{schedule.Outstanding, "□", "to do"},
}

const (
	stripWidth  = 1000
	stripHeight = 24
	mostCells   = 200 // with gaps between slots; more are drawn without
	leastStrip  = 20  // parts, however many strips a page has
)

// draw draws the slots of a share as a strip of at most width parts, and counts them.
func (s *ShareRow) draw(slots string, width int) {
	s.Strip, s.Counts = strip(slots, min(width, stripWidth)), stripCounts(slots)
}

// strip draws the slots of a share as a strip, from the first to the last in the order of
// execution. A letter is a flag of package schedule; other letters are drawn as outstanding.
// Neighbors of the same state are one rectangle when there are many. There are at most so many
// rectangles, whatever a machine sends.
func strip(slots string, rects int) template.HTML {
	if slots == "" {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="strip" role="img" aria-label="%s" viewBox="0 0 %d %d" `+
		`preserveAspectRatio="none">`, stripText(slots), stripWidth, stripHeight)
	slots = drawn(slots, rects)
	width := float64(stripWidth) / float64(len(slots))
	gap := 0.0
	if len(slots) <= mostCells {
		gap = width / 6
	}
	for from := 0; from < len(slots); {
		to := from + 1
		for gap == 0 && to < len(slots) && slots[to] == slots[from] {
			to++
		}
		high, at := stripHeight, 0
		if flag := known(slots[from]); flag == schedule.Error || flag == schedule.Timeout {
			high, at = stripHeight/2, stripHeight/2 // a notch: not only the color tells it
		}
		fmt.Fprintf(&b, `<rect class="s-%c" x="%.2f" y="%d" width="%.2f" height="%d"/>`, known(slots[from]),
			float64(from)*width, at, float64(to-from)*width-gap, high)
		from = to
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) // numbers, and the letters of flags
}

// drawn returns at most so many states for slots: the one that most deserves to be seen of those
// that share a place.
func drawn(slots string, most int) string {
	if len(slots) <= most {
		return slots
	}
	const order = "ETRSO" // and the rest
	places := make([]byte, most)
	for i := range places {
		part := slots[i*len(slots)/most : (i+1)*len(slots)/most]
		places[i] = part[0]
		if at := strings.IndexAny(order, part); at >= 0 {
			places[i] = order[at]
		}
	}
	return string(places)
}

// known returns a flag that has a color.
func known(letter byte) schedule.Flag {
	if flag := schedule.Flag(letter); flag.Known() {
		return flag
	}
	return schedule.Outstanding
}

// count is a state with the number of its slots.
type count struct {
	Sign  string `json:"-"`
	Name  string `json:"state"`
	Flag  string `json:"flag"`
	Slots int    `json:"slots"`
}

// stripCounts counts the slots of each state that occurs.
func stripCounts(slots string) []count {
	var list []count
	for _, s := range strips {
		n := 0
		for i := range len(slots) {
			if known(slots[i]) == s.flag {
				n++
			}
		}
		if n > 0 {
			list = append(list, count{s.sign, s.name, string(s.flag), n})
		}
	}
	return list
}

// stripText is the strip in words.
func stripText(slots string) string {
	text := display.Count(len(slots), "execution")
	for i, c := range stripCounts(slots) {
		sign := ", "
		if i == 0 {
			sign = ": "
		}
		text += fmt.Sprintf("%s%d %s", sign, c.Slots, c.Name)
	}
	return text
}

func progressOf(finished, total int) string {
	return fmt.Sprintf("%d of %d executions, %d %%", finished, total, 100*finished/total)
}
