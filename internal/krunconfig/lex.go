// Package krunconfig converts a configuration of Krun, which is a Python program, to one of krund.
// It never runs the program: it reads assignments of literals, and of what Krun's users write
// around them (os.path.join, sums, earlier variables), and lists every other line. The text is
// untrusted: its length, its nesting and the number of values are bounded. Start reading at
// Convert.
package krunconfig

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxText is the maximum length of a configuration in bytes.
const MaxText = 1 << 20

// kind is the kind of a token.
type kind int

const (
	endOfLine kind = iota // of a logical line; brackets and backslashes continue it
	name
	number
	text
	mark // an operator or bracket
)

// token is a word of the program.
type token struct {
	kind  kind
	value string // of a text its contents
	line  int    // from 1
	first bool   // it begins a logical line, in the first column
}

// lexer splits a program into tokens.
type lexer struct {
	rest  string
	line  int
	depth int // of brackets
	list  []token
	begin bool // a logical line begins
}

// errText is the error for what is not a Python program.
func errText(line int, what string) error { return fmt.Errorf("line %d: %s", line, what) }

// lex returns the tokens of a program.
func lex(program string) ([]token, error) {
	if len(program) > MaxText {
		return nil, fmt.Errorf("it has more than %d bytes", MaxText)
	}
	if !utf8.ValidString(program) || strings.Contains(program, "\x00") {
		return nil, errors.New("it is not UTF-8 text")
	}
	l := &lexer{rest: strings.TrimPrefix(strings.ReplaceAll(program, "\r\n", "\n"), "\ufeff"), line: 1,
		begin: true}
	column := true // at the first column
	for l.rest != "" {
		c := l.rest[0]
		switch {
		case c == '\n':
			l.newline()
			column = true
			continue
		case c == '#':
			l.skip(len(l.rest) - len(strings.TrimLeftFunc(l.rest, func(r rune) bool { return r != '\n' })))
			continue
		case strings.HasPrefix(l.rest, "\\\n"):
			l.skip(2)
			l.line++
		case c == ' ' || c == '\t' || c == '\f' || c == '\r':
			l.skip(1)
		default:
			if err := l.word(column); err != nil {
				return nil, err
			}
		}
		column = false
	}
	l.newline()
	return l.list, nil
}

func (l *lexer) skip(n int) { l.rest = l.rest[n:] }

// newline ends a physical line, and a logical one outside of brackets.
func (l *lexer) newline() {
	if l.depth == 0 && !l.begin {
		l.list = append(l.list, token{kind: endOfLine, line: l.line})
		l.begin = true
	}
	if l.rest != "" {
		l.skip(1)
	}
	l.line++
}

func (l *lexer) add(k kind, value string, line int, column bool) {
	l.list = append(l.list, token{kind: k, value: value, line: line, first: l.begin && column})
	l.begin = false
}

// word reads a name, number, text or mark.
func (l *lexer) word(column bool) error {
	n := len(l.rest) - len(strings.TrimLeftFunc(l.rest, wordRune))
	after := l.rest[n:]
	quoted := strings.HasPrefix(after, "'") || strings.HasPrefix(after, `"`)
	prefix := strings.ToLower(l.rest[:n])
	switch {
	case quoted && (n == 0 || prefix == "r" || prefix == "u" || prefix == "b"):
		l.skip(n)
		return l.quoted(prefix == "r", column)
	case n > 0 && l.rest[0] >= '0' && l.rest[0] <= '9':
		if strings.HasPrefix(after, ".") {
			n += 1 + len(after) - 1 - len(strings.TrimLeftFunc(after[1:], wordRune))
		}
		l.add(number, l.rest[:n], l.line, column)
		l.skip(n)
		return nil
	case n > 0:
		l.add(name, l.rest[:n], l.line, column)
		l.skip(n)
		return nil
	}
	_, n = utf8.DecodeRuneInString(l.rest)
	sign := l.rest[:n]
	switch {
	case strings.ContainsAny(sign, "([{"):
		l.depth++
	case strings.ContainsAny(sign, ")]}"):
		l.depth = max(l.depth-1, 0)
	}
	l.add(mark, sign, l.line, column)
	l.skip(n)
	return nil
}

func wordRune(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// quoted reads a text in one or three quotes.
func (l *lexer) quoted(raw, column bool) error {
	line, quote := l.line, l.rest[:1]
	triple := strings.HasPrefix(l.rest, strings.Repeat(quote, 3))
	if triple {
		quote = strings.Repeat(quote, 3)
	}
	l.skip(len(quote))
	var b strings.Builder
	for !strings.HasPrefix(l.rest, quote) {
		c, n := utf8.DecodeRuneInString(l.rest)
		switch {
		case l.rest == "" || c == '\n' && !triple:
			return errText(line, "a text has no end")
		case c == '\\' && !raw && len(l.rest) > 1:
			c, n = escape(l.rest)
		}
		if c == '\n' {
			l.line++
		}
		b.WriteRune(c)
		l.skip(n)
	}
	l.skip(len(quote))
	l.add(text, b.String(), line, column)
	return nil
}

// escape returns the character that a backslash and the next character mean, and their length.
// Other escapes than these keep the backslash.
func escape(s string) (rune, int) {
	if i := strings.IndexByte(`nt\'"`, s[1]); i >= 0 {
		return []rune("\n\t\\'\"")[i], 2
	}
	return '\\', 1
}
