package display

import (
	"fmt"
	"strings"
)

// plain are the characters that no shell takes for anything but themselves, wherever they stand in a word.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+:,./-"

// ShellQuote returns the text as one word of a POSIX shell: as it is where that will do, else between single quotes. Control characters, which a terminal
// would obey, are written as $'...' has them (POSIX.1-2024; bash, ksh, zsh and busybox know it). The empty text is "”".
func ShellQuote(text string) string {
	switch {
	case text != "" && strings.Trim(text, plain) == "":
		return text
	case strings.ContainsFunc(text, isControl):
		return dollar(text)
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// ShellPath is ShellQuote for the name of a file, also of one that would be taken for an option.
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

// dollar writes text in the form $'...'. Octal numbers have three digits, so that a digit that follows is not taken for one of theirs.
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
