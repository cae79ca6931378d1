package display

import (
	"strings"
	"unicode"
)

// PlainLine is the text on one line.
func PlainLine(s string) string { return replace(s, "") }

// Plain is the text with its line ends and tabs.
func Plain(s string) string { return replace(s, "\n\t") }

// Printable reports whether Plain would leave s as it is.
func Printable(s string) bool { return Plain(s) == s }

func replace(s, keep string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || unicode.IsPrint(r) || strings.ContainsRune(keep, r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
