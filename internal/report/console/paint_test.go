package console

import (
	"bytes"
	"strings"
	"testing"

	"krund/rig/must"
)

// TestPainter: the answer is bold and warnings are yellow, also when lines come in pieces; without
// colors nothing changes.
func TestPainter(t *testing.T) {
	const text = "\nthe answer\n  warning: hot\nrest\n\x1b[2mdim\x1b[0m\nno end"
	for _, c := range []struct {
		style style
		want  string
	}{
		{style{}, text},
		{style{bold: "<b>", yellow: "<y>", reset: "<r>"}, "\n<b>the answer<r>\n<y>  warning:<r> hot\nrest\n" +
			"\x1b[2mdim\x1b[0m\nno end"},
	} {
		var out bytes.Buffer
		p := &Painter{to: &out, style: c.style}
		for _, piece := range strings.SplitAfter(text, "n") {
			n, err := p.Write([]byte(piece))
			must.Be(t, n == len(piece) && err == nil, n, err)
		}
		must.Do(t, p.Close())
		must.Equal(t, out.String(), c.want)
	}
}
