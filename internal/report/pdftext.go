package report

import (
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgpdf"
)

// pdfCanvas is a PDF whose text is what it says. The canvas beneath hands
// strings to fonts that are encoded as code page 1252, byte by byte, so that
// "°" would become two letters.
type pdfCanvas struct{ *vgpdf.Canvas }

// FillString is vg.Canvas's.
func (c pdfCanvas) FillString(f font.Face, at vg.Point, text string) {
	c.Canvas.FillString(f, at, codePage1252(text))
}

// upper1252 are the letters of code page 1252 that Latin-1 has not, from 0x80
// on, U+FFFD where there is none.
var upper1252 = []rune("€\uFFFD‚ƒ„…†‡ˆ‰Š‹Œ\uFFFDŽ\uFFFD\uFFFD‘’“”•–—˜™š›œ\uFFFDžŸ")

// codePage1252 encodes text; letters that the code page lacks become "?".
func codePage1252(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < 0x80 || r >= 0xa0 && r <= 0xff:
			b.WriteByte(byte(r))
			continue
		case r == '\uFFFD':
			b.WriteByte('?')
			continue
		}
		letter := byte('?')
		for i, u := range upper1252 {
			if u == r {
				letter = byte(0x80 + i)
			}
		}
		b.WriteByte(letter)
	}
	return b.String()
}
