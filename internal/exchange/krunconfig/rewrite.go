package krunconfig

import (
	"regexp"
	"slices"
	"strings"

	"go.starlark.net/syntax"
)

// oldOctal is a number that Starlark writes with 0o.
var oldOctal = regexp.MustCompile(`^0[0-7]+$`)

// writer writes statements as Starlark, each token in its line.
type writer struct {
	strings.Builder
	line int // the current one
}

// statement writes s, with its body, in a new line or, if there is none, after the separator.
func (w *writer) statement(s statement, level int, separator string) {
	tokens := rewrite(s.tokens)
	if n := tokens[0].line - w.line; n > 0 {
		separator = strings.Repeat("\n", n) + strings.Repeat(" ", level)
		w.line = tokens[0].line
	}
	w.WriteString(separator)
	for _, t := range tokens {
		for ; w.line < t.line; w.line++ {
			w.WriteString("\\\n")
		}
		if t.kind == text {
			t.text = syntax.Quote(t.text, false)
		}
		w.WriteString(t.text + " ")
	}
	separator = " "
	for _, child := range s.body {
		w.statement(child, level+1, separator)
		separator = "; "
	}
}

// rewrite returns the tokens of a simple statement, or of a header, as Starlark's.
func rewrite(tokens []token) []token {
	first, rest := tokens[0], tokens[1:]
	switch {
	case first.is("print"): // there is no output
		return first.words("pass")
	case first.is("raise"):
		return append(first.words("__raise__", "("), token{text, words(rest), first.line}, token{mark, ")",
			first.line})
	case first.is("assert"):
		return slices.Concat(first.words("assert", "("), expression(rest), first.words(")"))
	case first.is("del"):
		return expression(deletion(tokens))
	case first.is("import"), first.is("from"):
		return importing(tokens)
	}
	return expression(tokens)
}

// words returns names and marks in the line of t.
func (t token) words(list ...string) []token {
	tokens := make([]token, len(list))
	for i, s := range list {
		tokens[i] = token{mark, s, t.line}
	}
	return tokens
}

// deletion returns X.pop(KEY) for `del X[KEY]`.
func deletion(tokens []token) []token {
	i, last := 1, len(tokens)-1
	for i < last && next(tokens, i) <= last {
		i = next(tokens, i)
	}
	if i < 2 || i >= last || !tokens[i].is("[") {
		return tokens // which Starlark refuses
	}
	return slices.Concat(tokens[1:i], tokens[i].words(".", "pop", "("), tokens[i+1:last],
		tokens[last].words(")"))
}

// importing returns assignments for `import MODULE as NAME, ...` and `from MODULE import NAME,
// ...`. What `*` stands for is there without it.
func importing(tokens []token) []token {
	parts := split(tokens[1:], "import")
	names, module := parts[len(parts)-1], token{text, "", tokens[0].line}
	if len(parts) > 1 {
		module.text = strings.ReplaceAll(words(parts[0]), " ", "")
	}
	if len(names) > 1 && names[0].is("(") {
		names = names[1 : len(names)-1]
	}
	var list []token
	for _, part := range split(names, ",") {
		if len(part) == 0 || part[0].is("*") {
			continue
		}
		what, as := part, part[0]
		if n := len(part); n > 2 && part[n-2].is("as") {
			what, as = part[:n-2], part[n-1]
		} else if len(parts) == 1 { // import a.b binds a
			what = part[:1]
		}
		member := token{text, strings.ReplaceAll(words(what), " ", ""), as.line}
		list = append(append(list, as), as.words("=", "__import__", "(")...)
		list = append(append(list, module), as.words(",")...)
		list = append(append(list, member), as.words(")", ";")...)
	}
	return append(list, tokens[0].words("pass")...)
}

// plain rewrites tokens one by one.
func plain(tokens []token) []token {
	out := make([]token, 0, len(tokens))
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		switch {
		case t.kind == text: // adjacent ones are one text
			var b strings.Builder
			for ; i < len(tokens) && tokens[i].kind == text; i++ {
				b.WriteString(tokens[i].text)
			}
			i--
			t.text = b.String()
		case t.kind == number:
			t.text = strings.TrimRight(t.text, "lL")
			if oldOctal.MatchString(t.text) {
				t.text = "0o" + t.text[1:]
			}
		case t.is("is") && i+1 < len(tokens) && tokens[i+1].is("not"):
			t.text = "!="
			i++
		case t.is("is"):
			t.text = "=="
		case t.is("<>"):
			t.text = "!="
		}
		out = append(out, t)
	}
	return out
}

// expression rewrites what is more than a word: generators and sets.
func expression(tokens []token) []token {
	tokens = plain(tokens)
	out := make([]token, 0, len(tokens))
	for i := 0; i < len(tokens); {
		t, after := tokens[i], next(tokens, i)
		if after == i+1 {
			out = append(out, t)
		} else {
			inner, last := tokens[i+1:after-1], tokens[after-1]
			begin, end := []token{t}, []token{last}
			if t.is("(") && len(split(inner, "for")) > 1 { // a generator is a list here
				begin, end = t.words("(", "["), last.words("]", ")")
			} else if t.is("{") && len(inner) > 0 && len(split(inner, ":")) == 1 {
				begin, end = t.words("set", "(", "["), last.words("]", ")")
			}
			out = append(append(append(out, begin...), expression(inner)...), end...)
		}
		i = after
	}
	return out
}
