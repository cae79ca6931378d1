package display

import (
	"fmt"
	"strings"
)

// plain are the characters that no shell interprets, wherever they appear in a word.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+:,./-"

// ShellQuote returns the text as one word of a POSIX shell: unchanged if possible, otherwise in
// single quotes. Control characters, which a terminal would interpret, are written in the notation
// $'...' (POSIX.1-2024; supported by bash, ksh, zsh and busybox). The empty text is "”".
func ShellQuote(text string) string {
	switch {
	case text != "" && strings.Trim(text, plain) == "":
		return text
	case strings.ContainsFunc(text, isControl):
		return dollar(text)
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// ShellPath is ShellQuote for a file name, including one that looks like an option.
func ShellPath(name string) string {
	if strings.HasPrefix(name, "-") {
		name = "./" + name
	}
	return ShellQuote(name)
}

// ShellJoin returns an argument vector as a command line.
func ShellJoin(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = ShellQuote(a)
	}
	return strings.Join(words, " ")
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// dollar writes text in the form $'...'. Octal numbers have three digits, so that a following digit
// is not part of them.
func dollar(text string) string {
	var b strings.Builder
	b.WriteString("$'")
	for _, c := range []byte(text) {
		switch {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case isControl(rune(c)):
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}
