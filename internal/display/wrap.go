package display

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks a line of words so that it fits a terminal of this many columns; the lines after the
// first begin with indent. Words that are longer stay whole. A width of 0 or less breaks nothing.
func Wrap(text string, width int, indent string) string {
	if width <= 0 || utf8.RuneCountInString(text) <= width {
		return text
	}
	start := text[:len(text)-len(strings.TrimLeft(text, " "))]
	var b strings.Builder
	b.WriteString(start)
	column, first := utf8.RuneCountInString(start), true
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case first:
		case column+1+n > width:
			b.WriteString("\n" + indent)
			column = utf8.RuneCountInString(indent)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column, first = column+n, false
	}
	return b.String()
}
