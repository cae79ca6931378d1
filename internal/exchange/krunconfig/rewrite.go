package krunconfig

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.starlark.net/syntax"
)

const (
	maxText    = 1 << 20 // bytes of a file
	maxRefused = 100     // lines of a file that have no counterpart
	tabStop    = 8       // columns, as in Python 2
)

const ( // kinds of tokens
	space = iota + 1
	text
	number
	name
	mark // an operator or bracket
)

// token is a word of the program, in which line it begins, and what it becomes.
type token struct {
	kind int
	text string
	line int
}

func (t token) is(words ...string) bool { return t.kind >= name && slices.Contains(words, t.text) }

// words returns tokens in the line of t.
func (t token) words(list ...string) (tokens []token) {
	for _, s := range list {
		tokens = append(tokens, token{mark, s, t.line})
	}
	return tokens
}

// lexical matches one token: the groups are the kinds.
var lexical = regexp.MustCompile(`(?s)^(?:([ \t\f\r]+|#[^\n]*|\\\n)|` +
	`((?i:[ub]?r?)(?:"""(?:\\.|[^\\])*?"""|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))|` +
	`(\.?[0-9](?:[eE][-+]|[\w.])*)|([A-Za-z_]\w*)|` +
	`(\*\*=?|//=?|<<=?|>>=?|<>|[-+*/%&|^=!<>]=|.))`)

var (
	escape   = regexp.MustCompile(`(?s)\\(?:x[89a-fA-F][0-9a-fA-F]|.)`)
	oldOctal = regexp.MustCompile(`^0[0-7]+$`)
)

// line is a logical line: brackets and backslashes continue it.
type line struct {
	indent  int
	tokens  []token
	refused bool // it has no counterpart
}

// lex returns the logical lines of a program.
func lex(program string) (lines []line, err error) {
	if !utf8.ValidString(program) || strings.Contains(program, "\x00") || len(program) > maxText {
		return nil, fmt.Errorf("it is not UTF-8 text, or more than %d bytes", maxText)
	}
	rest := strings.TrimPrefix(strings.ReplaceAll(program, "\r\n", "\n"), "\ufeff") + "\n"
	current, physical, open := line{}, 1, ""
	for rest != "" {
		groups := lexical.FindStringSubmatchIndex(rest)
		t := token{space, rest[:groups[1]], physical}
		for groups[2*t.kind] < 0 {
			t.kind++
		}
		rest = rest[len(t.text):]
		physical += strings.Count(t.text, "\n")
		begins, last := len(current.tokens) == 0, len(open)-1
		switch {
		case t.kind == space && begins:
			for _, c := range t.text {
				if c == '\t' {
					current.indent += tabStop - current.indent%tabStop
				} else if c == ' ' {
					current.indent++
				}
			}
		case t.text == "\n" && open == "":
			if !begins {
				lines = append(lines, current)
			}
			current = line{}
		case t.kind == space, t.text == "\n":
			continue
		case t.is(`"`, "'"):
			return nil, fmt.Errorf("line %d: a text has no end", t.line)
		case t.is("(", "[", "{"):
			open += t.text
		case t.is(")", "]", "}"):
			if last < 0 || !strings.Contains("() [] {}", open[last:]+t.text) {
				return nil, fmt.Errorf("line %d: %s closes no bracket", t.line, t.text)
			}
			open = open[:last]
		}
		if t.kind != space && t.text != "\n" {
			current.tokens = append(current.tokens, t)
		}
	}
	if open != "" {
		return nil, fmt.Errorf("line %d: %c is not closed", current.tokens[0].line, open[len(open)-1])
	}
	return lines, nil
}

// parse rewrites a program as Starlark and parses it. What Starlark does not have becomes a call of
// __refuse__, which says so when it is reached.
func parse(file, program string) (*syntax.File, error) {
	lines, err := lex(program)
	if err != nil {
		return nil, err
	}
	original := slices.Clone(lines)
	for i := range lines {
		lines[i].tokens = rewrite(lines[i].tokens)
	}
	for range maxRefused {
		f, err := options.Parse(file, write(lines), 0)
		bad, ok := errors.AsType[syntax.Error](err)
		if !ok {
			return f, err
		}
		i := len(lines) - 1
		for i > 0 && lines[i].tokens[0].line > int(bad.Pos.Line) {
			i--
		}
		if i < 0 || lines[i].refused {
			return nil, fmt.Errorf("%s: %s", at(bad.Pos), bad.Msg)
		}
		end := i + 1 // of its block
		for end < len(lines) && lines[end].indent > lines[i].indent {
			end++
		}
		said := fmt.Sprintf("%s has no counterpart (%s)", words(original[i].tokens), bad.Msg)
		lines[i].refused = true
		lines[i].tokens = slices.Concat(targets(original[i].tokens),
			lines[i].tokens[0].words("__refuse__("+syntax.Quote(said, false)+")"))
		lines, original = slices.Delete(lines, i+1, end), slices.Delete(original, i+1, end)
	}
	return nil, fmt.Errorf("more than %d lines have no counterpart", maxRefused)
}

// write writes a program, each token in its line.
func write(lines []line) string {
	var b strings.Builder
	physical := 1
	for _, l := range lines {
		for i, t := range l.tokens {
			n := max(t.line-physical, 0)
			if i == 0 {
				b.WriteString(strings.Repeat("\n", n) + strings.Repeat(" ", l.indent))
			} else {
				b.WriteString(strings.Repeat("\\\n", n))
			}
			b.WriteString(t.text + " ")
			physical += n + strings.Count(t.text, "\n")
		}
	}
	return b.String() + "\n"
}

// targets returns the beginning of an assignment to variables: A, B = X.
func targets(tokens []token) []token {
	for i := 1; i < len(tokens) && tokens[i-1].kind == name && tokens[i].is(",", "="); i += 2 {
		if tokens[i].is("=") {
			return tokens[:i+1]
		}
	}
	return nil
}

// words returns the beginning of a statement for messages.
func words(tokens []token) string {
	const most = 8
	var list []string
	for _, t := range tokens[:min(most, len(tokens))] {
		list = append(list, t.text)
	}
	if len(tokens) > most {
		list = append(list, "...")
	}
	return strings.Join(list, " ")
}

// rewrite returns a logical line as Starlark's: the statements that semicolons, and the colon of a
// header, separate.
func rewrite(tokens []token) (out []token) {
	header := tokens[0].is("if", "elif", "else", "for", "while", "def", "try", "except", "finally")
	depth, begin := 0, 0
	for i, t := range tokens {
		switch {
		case t.is("(", "[", "{"):
			depth++
		case t.is(")", "]", "}"):
			depth--
		case depth == 0 && i > begin && (t.is(";") || t.is(":") && header):
			out = append(append(out, statement(tokens[begin:i])...), t)
			header, begin = header && t.is(";"), i+1
		}
	}
	if begin < len(tokens) {
		out = append(out, statement(tokens[begin:])...)
	}
	return out
}

// statement rewrites a simple statement or a header.
func statement(tokens []token) []token {
	first, rest := tokens[0], tokens[1:]
	switch {
	case first.is("print"): // there is no output
		return first.words("pass")
	case first.is("try", "finally"):
		return first.words("if", "True")
	case first.is("except"):
		return first.words("if", "__except__()")
	case first.is("raise"):
		return first.words("__raise__(" + syntax.Quote(words(rest), false) + ")")
	case first.is("assert"):
		return slices.Concat(first.words("__assert__", "("), expression(rest), first.words(")"))
	case first.is("del"):
		return expression(deletion(tokens))
	case first.is("import", "from"):
		return first.words(importing(tokens))
	}
	return expression(tokens)
}

// deletion returns X.pop(KEY) for `del X[KEY]`.
func deletion(tokens []token) []token {
	last, depth := len(tokens)-1, 0
	for i := last; i > 0; i-- {
		if tokens[i].is(")", "]", "}") {
			depth++
		} else if tokens[i].is("(", "[", "{") {
			depth--
		}
		if depth == 0 && i > 1 && tokens[i].is("[") {
			return slices.Concat(tokens[1:i], tokens[i].words(".", "pop", "("), tokens[i+1:last],
				tokens[last].words(")"))
		}
	}
	return tokens // which Starlark refuses
}

// importing returns assignments for `import MODULE as NAME, ...` and `from MODULE import NAME,
// ...`. What `*` stands for is there without it.
func importing(tokens []token) string {
	var b strings.Builder
	for _, t := range tokens[1:] {
		b.WriteString(" " + t.text)
	}
	module, names, from := strings.Cut(strings.ReplaceAll(b.String(), " . ", "."), " import ")
	if !from {
		module, names = "", module
	}
	list := "pass"
	for part := range strings.SplitSeq(strings.Trim(names, "() "), ",") {
		words := strings.Fields(part)
		if len(words) == 0 || words[0] == "*" {
			continue
		}
		full, as := strings.TrimSpace(module+"."+words[0]), words[len(words)-1]
		if !from && len(words) == 1 { // import a.b binds a
			as, _, _ = strings.Cut(as, ".")
			full = as
		}
		list += "; " + as + " = __import__(" + syntax.Quote(strings.TrimPrefix(full, "."), false) + ")"
	}
	return list
}

// replaced are words that have another name in Starlark.
var replaced = map[string]string{"is": "==", "<>": "!=", "xrange": "range", "iteritems": "items",
	"iterkeys": "keys", "itervalues": "values"}

// expression rewrites words, and the brackets of generators and sets.
func expression(tokens []token) []token {
	type bracket struct {
		at          int
		loop, colon bool // it contains
	}
	inside := []bracket{{}}
	out := make([]token, 0, len(tokens))
	for i, t := range tokens {
		in := &inside[len(inside)-1]
		switch {
		case t.kind == text: // adjacent ones are one text
			before := i > 0 && tokens[i-1].kind == text
			after := i+1 < len(tokens) && tokens[i+1].kind == text
			t.text = literal(t.text)
			if before {
				t.text = "+ " + t.text
			} else if after {
				t.text = "( " + t.text
			}
			if before && !after {
				t.text += " )"
			}
		case t.kind == number:
			t.text = strings.TrimRight(t.text, "lL")
			if oldOctal.MatchString(t.text) {
				t.text = "0o" + t.text[1:]
			}
		case t.is("not") && i > 0 && tokens[i-1].is("is"):
			out[len(out)-1].text = "!="
			continue
		case t.is("(", "[", "{"):
			inside = append(inside, bracket{at: len(out)})
		case t.is(")", "]", "}") && len(inside) > 1:
			if begin := &out[in.at]; begin.text == "(" && in.loop { // a generator is a list here
				begin.text, t.text = "([", "])"
			} else if begin.text == "{" && !in.colon && in.at < len(out)-1 {
				begin.text, t.text = "set([", "])"
			}
			inside = inside[:len(inside)-1]
		case t.is("for"):
			in.loop = true
		case t.is(":"):
			in.colon = true
		case replaced[t.text] != "":
			t.text = replaced[t.text]
		}
		out = append(out, t)
	}
	return out
}

// literal returns a text of Python as one of Starlark. In Python, an unknown escape keeps its
// backslash.
func literal(s string) string {
	start := strings.IndexAny(s, `"'`)
	if strings.ContainsAny(s[:start], "rR") {
		return "r" + s[start:]
	}
	return escape.ReplaceAllStringFunc(s[start:], func(e string) string {
		switch c := e[1]; {
		case len(e) == len(`\xHH`):
			return `\u00` + e[2:]
		case strings.ContainsRune("abfnrtvxuU01234567\\'\"\n", rune(c)):
			return e
		}
		return `\` + e
	})
}
