package krunconfig

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of a program.
const (
	MaxText = 1 << 20 // bytes of a file

	maxDepth  = 100    // brackets and blocks in one another
	maxTokens = 10_000 // of one statement, which bounds recursion
	maxNumber = 1000   // characters of a number
	tabStop   = 8      // columns, as in Python 2
)

// kind is the kind of a token.
type kind int

const (
	space kind = iota + 1
	text
	number
	name
	mark // an operator or bracket
)

// token is a word of the program.
type token struct {
	kind kind
	text string // of a text its contents
	line int    // from 1
}

func (t token) is(sign string) bool { return t.text == sign && t.kind >= name }

// lexical matches one token: the groups are the kinds.
var lexical = regexp.MustCompile(`(?s)^(?:([ \t\f\r]+|#[^\n]*|\\\n)|` +
	`((?i:[ub]?r?)(?:"""(?:\\.|[^\\])*?"""|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))|` +
	`(\.?[0-9](?:[eE][-+]|[\w.])*)|([A-Za-z_]\w*)|` +
	`(\*\*=?|//=?|<<=?|>>=?|<>|[-+*/%&|^=!<>]=|.))`)

// line is a logical line: brackets and backslashes continue it.
type line struct {
	indent int
	tokens []token
}

// lexer splits a program into logical lines.
type lexer struct {
	lines   []line
	current line
	number  int    // of the physical line
	open    string // brackets
}

// errLine is the error for what is not a Python program.
func errLine(number int, format string, args ...any) error {
	return fmt.Errorf("line %d: %s", number, fmt.Sprintf(format, args...))
}

// lex returns the logical lines of a program.
func lex(program string) ([]line, error) {
	if len(program) > MaxText {
		return nil, fmt.Errorf("it has more than %d bytes", MaxText)
	}
	if !utf8.ValidString(program) || strings.Contains(program, "\x00") {
		return nil, errors.New("it is not UTF-8 text")
	}
	rest := strings.TrimPrefix(strings.ReplaceAll(program, "\r\n", "\n"), "\ufeff") + "\n"
	l := &lexer{number: 1}
	for rest != "" {
		groups := lexical.FindStringSubmatchIndex(rest)
		k := space
		for groups[2*k] < 0 {
			k++
		}
		if err := l.add(k, rest[:groups[1]]); err != nil {
			return nil, err
		}
		rest = rest[groups[1]:]
	}
	if l.open != "" {
		return nil, errLine(l.current.tokens[0].line, "%c is not closed", l.open[len(l.open)-1])
	}
	return l.lines, nil
}

// add takes one token of the text.
func (l *lexer) add(k kind, word string) error {
	t := token{k, word, l.number}
	l.number += strings.Count(word, "\n")
	begins := len(l.current.tokens) == 0
	switch {
	case k == space && begins:
		for _, c := range word {
			if c == '\t' {
				l.current.indent += tabStop - l.current.indent%tabStop
			} else if c == ' ' {
				l.current.indent++
			}
		}
		return nil
	case word == "\n" && l.open == "":
		if !begins {
			l.lines = append(l.lines, l.current)
		}
		l.current = line{}
		return nil
	case k == space, word == "\n":
		return nil
	case k == text:
		t.text = unquote(word)
	case k == number && len(word) > maxNumber:
		return errLine(t.line, "a number has more than %d digits", maxNumber)
	case word == `"` || word == "'":
		return errLine(t.line, "a text has no end")
	case t.is("("), t.is("["), t.is("{"):
		l.open += word
	case t.is(")"), t.is("]"), t.is("}"):
		last := len(l.open) - 1
		if last < 0 || !strings.Contains("() [] {}", l.open[last:]+word) {
			return errLine(t.line, "%s closes no bracket", word)
		}
		l.open = l.open[:last]
	}
	l.current.tokens = append(l.current.tokens, t)
	if len(l.current.tokens) > maxTokens || len(l.open) > maxDepth {
		return errLine(t.line, "a statement has more than %d words, or is nested deeper than %d", maxTokens,
			maxDepth)
	}
	return nil
}

// unquote returns the contents of a text. As in Python, an unknown escape keeps its backslash.
func unquote(literal string) string {
	start := strings.IndexAny(literal, `"'`)
	raw := strings.ContainsAny(literal[:start], "rR")
	inner, mark := literal[start:], literal[start:start+1]
	if strings.HasPrefix(inner[1:], mark+mark) {
		mark = strings.Repeat(mark, 3)
	}
	inner = inner[len(mark) : len(inner)-len(mark)]
	if raw {
		return inner
	}
	var b strings.Builder
	for inner != "" {
		c, _, rest, err := strconv.UnquoteChar(inner, 0)
		switch {
		case strings.HasPrefix(inner, "\\\n"):
			inner = inner[2:]
			continue
		case strings.HasPrefix(inner, `\'`), strings.HasPrefix(inner, `\"`):
			c, rest = rune(inner[1]), inner[2:]
		case err != nil:
			c, rest = '\\', inner[1:]
		}
		b.WriteRune(c)
		inner = rest
	}
	return b.String()
}

// statement is a simple statement, or the header of a compound one with its body.
type statement struct {
	tokens []token
	body   []statement
}

// compound are the words that begin a statement with a body.
var compound = []string{"if", "elif", "else", "for", "while", "def", "class", "try", "except", "finally",
	"with"}

// blocks makes statements of the lines that are indented as much as the first one.
func blocks(lines *[]line, depth int) (list []statement, err error) {
	indent := 0
	if depth > 0 {
		indent = (*lines)[0].indent
	}
	for len(*lines) > 0 && (*lines)[0].indent >= indent {
		l := (*lines)[0]
		first := l.tokens[0]
		if l.indent > indent || depth > maxDepth {
			return nil, errLine(first.line, "unexpected indentation")
		}
		*lines = (*lines)[1:]
		n := header(l.tokens)
		if n == 0 {
			list = append(list, simple(l.tokens)...)
			continue
		}
		s := statement{tokens: l.tokens[:n], body: simple(l.tokens[n:])}
		if len(s.body) == 0 && len(*lines) > 0 && (*lines)[0].indent > indent {
			if s.body, err = blocks(lines, depth+1); err != nil {
				return nil, err
			}
		}
		if len(s.body) == 0 {
			return nil, errLine(first.line, "the block after %q is empty", first.text)
		}
		list = append(list, s)
	}
	return list, nil
}

// header returns the number of tokens of a compound statement's header, with its colon, or 0.
func header(tokens []token) int {
	if tokens[0].kind != name || !slices.Contains(compound, tokens[0].text) {
		return 0
	}
	lambdas := 0
	for i := 0; i < len(tokens); i = next(tokens, i) {
		switch {
		case tokens[i].is("lambda"):
			lambdas++
		case tokens[i].is(":") && lambdas > 0:
			lambdas--
		case tokens[i].is(":"):
			return i + 1
		}
	}
	return 0
}

// simple splits a line at its semicolons.
func simple(tokens []token) []statement {
	var list []statement
	for _, part := range split(tokens, ";") {
		if len(part) > 0 {
			list = append(list, statement{tokens: part})
		}
	}
	return list
}

// split splits tokens at a word outside of brackets.
func split(tokens []token, word string) [][]token {
	var parts [][]token
	begin := 0
	for i := 0; i < len(tokens); i = next(tokens, i) {
		if tokens[i].is(word) {
			parts, begin = append(parts, tokens[begin:i]), i+1
		}
	}
	return append(parts, tokens[begin:])
}

// next returns the index of the token after the one at i, or after the bracket that closes it.
func next(tokens []token, i int) int {
	depth := 0
	for ; i < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.is("("), t.is("["), t.is("{"):
			depth++
		case t.is(")"), t.is("]"), t.is("}"):
			depth--
		}
		if depth <= 0 {
			return i + 1
		}
	}
	return i
}

// words returns the beginning of a statement for messages.
func words(tokens []token) string {
	var list []string
	for i, t := range tokens {
		if i == 8 {
			list = append(list, "...")
			break
		}
		list = append(list, t.text)
	}
	return strings.Join(list, " ")
}
