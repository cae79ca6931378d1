package console

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"krund/rig/must"
)

// TestPainter: the answer is bold and warnings are yellow, also when lines come in pieces; lines
// fit the terminal, below their values, but for tables; elsewhere nothing changes.
func TestPainter(t *testing.T) {
	const text = "\nthe answer\n  warning: hot\nrest\n\x1b[2mdim\x1b[0m\nno end"
	for _, c := range []struct {
		style      style
		text, want string
	}{
		{style{}, text, text},
		{style{width: 12}, "the answer is 42\nname  a few words\n  an indented line\na  table  of columns\n",
			"the answer\n  is 42\nname  a few\n      words\n  an\n    indented\n    line\n" +
				"a  table  of columns\n"},
		{style{bold: "<b>", yellow: "<y>", reset: "<r>"}, text,
			"\n<b>the answer<r>\n<y>  warning:<r> hot\nrest\n\x1b[2mdim\x1b[0m\nno end"},
	} {
		var out bytes.Buffer
		p := &Painter{to: &out, style: c.style}
		for _, piece := range strings.SplitAfter(c.text, "n") {
			n, err := p.Write([]byte(piece))
			must.Be(t, n == len(piece) && err == nil, n, err)
		}
		must.Do(t, p.Close())
		must.Equal(t, out.String(), c.want)
	}
}

func TestProgressLine(t *testing.T) {
	for _, c := range []struct {
		done, worked, of int
		want             string
	}{
		{0, 0, 40, "x [....................] 0 of 40 keys"},
		{20, 20, 40, "x [##########..........] 20 of 40 keys, 10s left"},
		{20, 10, 40, "x [##########..........] 20 of 40 keys, 20s left"},
		{40, 40, 40, "x [####################] 40 of 40 keys"},
		{0, 0, 0, "x [....................] 0 of 0 keys"},
	} {
		must.Equal(t, barLine("x", "keys", c.done, c.worked, c.of, 10*time.Second), c.want)
	}
}
