package display

import (
	"strings"
	"unicode"
)

// PlainLine returns the text as one line, with control and deceptive characters replaced.
func PlainLine(s string) string { return replace(s, "") }

// Plain is PlainLine, but keeps line ends and tabs.
func Plain(s string) string { return replace(s, "\n\t") }

// Printable reports whether Plain would return s unchanged.
func Printable(s string) bool { return Plain(s) == s }

func replace(s, keep string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || unicode.IsPrint(r) || strings.ContainsRune(keep, r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
