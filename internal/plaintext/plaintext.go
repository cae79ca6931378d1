// Package plaintext makes text that others wrote fit to be shown: the last words of a benchmark,
// names of its files. What drives a terminal or deceives a reader (control characters, escape
// sequences, direction marks, broken UTF-8) becomes U+FFFD. It never shortens. Start reading at
// Line.
package plaintext

import (
	"strings"
	"unicode"
)

// Line is the text on one line.
func Line(s string) string { return replace(s, "") }

// Text is the text with its line ends and tabs.
func Text(s string) string { return replace(s, "\n\t") }

// Printable reports whether Text would leave s as it is.
func Printable(s string) bool { return Text(s) == s }

func replace(s, keep string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || unicode.IsPrint(r) || strings.ContainsRune(keep, r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
