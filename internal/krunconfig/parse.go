package krunconfig

import (
	"errors"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
)

// Bounds of a program.
const (
	maxDepth = 50
	maxMade  = 1 << 22 // bytes of texts, and elements of lists, that all sums make
)

// A pair is an entry of a dictionary, in the order of the file.
type pair struct {
	key   any
	value any
}

// The values of expressions are string, int64, float64, bool, nil, []any (also for tuples),
// []pair and call.
type call struct {
	name  string
	args  []any
	named []pair // keyword arguments; the keys are strings
}

// assignment is NAME = EXPRESSION in the first column.
type assignment struct {
	name  string
	value any
	line  int
}

// program is what could be read.
type program struct {
	assigned []assignment
	left     []string        // lines that were not read, and why
	used     map[string]bool // variables that others are made of
}

// errLiteral is the error for an expression that is more than literals.
var errLiteral = errors.New("it is not made of literals")

type parser struct {
	tokens []token
	values map[string]any // of the variables so far
	depth  int
	made   int // see maxMade
	used   map[string]bool
}

// parse reads the assignments of a program. Everything else is in left.
func parse(source string) (program, error) {
	tokens, err := lex(source)
	if err != nil {
		return program{}, err
	}
	var found program
	p := &parser{values: map[string]any{}, used: map[string]bool{}}
	found.used = p.used
	for len(tokens) > 0 {
		n := 0
		for n < len(tokens) && tokens[n].kind != endOfLine {
			n++
		}
		line := tokens[:n]
		tokens = tokens[min(n+1, len(tokens)):]
		if len(line) == 0 || line[0].kind == name && (line[0].value == "import" || line[0].value == "from") {
			continue
		}
		p.statement(line, &found)
	}
	return found, nil
}

// statement reads one logical line.
func (p *parser) statement(line []token, found *program) {
	first := line[0]
	if len(line) < 3 || !first.first || first.kind != name || line[1].value != "=" || line[1].kind != mark ||
		line[2].kind == mark && line[2].value == "=" {
		if first.kind != text { // a comment in quotes
			found.left = append(found.left, fmt.Sprintf("line %d is not an assignment: %s", first.line,
				words(line)))
		}
		return
	}
	p.tokens, p.depth = line[2:], 0
	value, err := p.sum()
	if err == nil && len(p.tokens) > 0 {
		err = errLiteral
	}
	if err != nil {
		found.left = append(found.left, fmt.Sprintf("line %d, %s: %v", first.line, first.value, err))
		delete(p.values, first.value)
		return
	}
	p.values[first.value] = value
	found.assigned = append(found.assigned, assignment{first.value, value, first.line})
}

// words returns the beginning of a line for messages.
func words(line []token) string {
	const most = 8
	var list []string
	for _, t := range line[:min(most, len(line))] {
		list = append(list, t.value)
	}
	if len(line) > most {
		list = append(list, "...")
	}
	return strings.Join(list, " ")
}

// is reports whether the next token is a mark, and skips it.
func (p *parser) is(sign string) bool {
	if len(p.tokens) > 0 && p.tokens[0].kind == mark && p.tokens[0].value == sign {
		p.tokens = p.tokens[1:]
		return true
	}
	return false
}

// sum reads terms with + and -.
func (p *parser) sum() (any, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return nil, errors.New("it is nested too deep")
	}
	left, err := p.product()
	for err == nil {
		sign := ""
		switch {
		case p.is("+"):
			sign = "+"
		case p.is("-"):
			sign = "-"
		default:
			return left, nil
		}
		var right any
		if right, err = p.product(); err == nil {
			left, err = p.combine(sign, left, right)
		}
	}
	return nil, err
}

func (p *parser) product() (any, error) {
	left, err := p.value()
	for err == nil && p.is("*") {
		var right any
		if right, err = p.value(); err == nil {
			left, err = p.combine("*", left, right)
		}
	}
	return left, err
}

// combine computes with two integers, or joins two texts or lists.
func (p *parser) combine(sign string, left, right any) (any, error) {
	switch a := left.(type) {
	case int64:
		if b, ok := right.(int64); ok {
			return whole(sign, a, b)
		}
	case string:
		if b, ok := right.(string); ok && sign == "+" && p.afford(len(a)+len(b)) {
			return a + b, nil
		}
	case []any:
		if b, ok := right.([]any); ok && sign == "+" && p.afford(len(a)+len(b)) {
			return append(append([]any{}, a...), b...), nil
		}
	}
	return nil, errLiteral
}

// afford counts what a sum makes.
func (p *parser) afford(n int) bool {
	p.made += n
	return p.made <= maxMade
}

func whole(sign string, a, b int64) (any, error) {
	if small := int64(math.MaxInt32); sign == "*" && (a > small || a < -small || b > small || b < -small) ||
		a > math.MaxInt64/2 || a < -math.MaxInt64/2 || b > math.MaxInt64/2 || b < -math.MaxInt64/2 {
		return nil, errors.New("a number is too large")
	}
	switch sign {
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	}
	return a * b, nil
}

func (p *parser) value() (any, error) {
	if len(p.tokens) == 0 {
		return nil, errLiteral
	}
	t := p.tokens[0]
	switch {
	case p.is("("), p.is("["):
		return p.list(map[string]string{"(": ")", "[": "]"}[t.value])
	case p.is("{"):
		return p.dictionary()
	case p.is("-"):
		v, err := p.number()
		return negative(v), err
	case t.kind == number:
		return p.number()
	case t.kind == text:
		return p.texts()
	case t.kind == name:
		return p.named()
	}
	return nil, errLiteral
}

func negative(v any) any {
	switch n := v.(type) {
	case int64:
		return -n
	case float64:
		return -n
	}
	return v
}

func (p *parser) number() (any, error) {
	if len(p.tokens) == 0 || p.tokens[0].kind != number {
		return nil, errLiteral
	}
	word := p.tokens[0].value
	p.tokens = p.tokens[1:]
	if n, err := strconv.ParseInt(strings.TrimSuffix(word, "L"), 0, 64); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return nil, errLiteral
	}
	return f, nil
}

// texts reads adjacent texts, which Python joins.
func (p *parser) texts() (any, error) {
	var b strings.Builder
	for len(p.tokens) > 0 && p.tokens[0].kind == text {
		b.WriteString(p.tokens[0].value)
		p.tokens = p.tokens[1:]
	}
	return b.String(), nil
}

// list reads the rest of a list or tuple; one value in parentheses is that value.
func (p *parser) list(end string) (any, error) {
	list, comma := []any{}, false
	for !p.is(end) {
		v, err := p.sum()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if p.is(",") {
			comma = true
		} else if len(p.tokens) == 0 || p.tokens[0].value != end {
			return nil, errLiteral
		}
	}
	if end == ")" && len(list) == 1 && !comma {
		return list[0], nil
	}
	return list, nil
}

func (p *parser) dictionary() (any, error) {
	list := []pair{}
	for !p.is("}") {
		k, err := p.sum()
		if err != nil {
			return nil, err
		}
		if !p.is(":") {
			return nil, errLiteral
		}
		v, err := p.sum()
		if err != nil {
			return nil, err
		}
		list = append(list, pair{k, v})
		if !p.is(",") && (len(p.tokens) == 0 || p.tokens[0].value != "}") {
			return nil, errLiteral
		}
	}
	return list, nil
}

// named reads a constant, an earlier variable or a call.
func (p *parser) named() (any, error) {
	word := p.tokens[0].value
	p.tokens = p.tokens[1:]
	for p.is(".") {
		if len(p.tokens) == 0 || p.tokens[0].kind != name {
			return nil, errLiteral
		}
		word += "." + p.tokens[0].value
		p.tokens = p.tokens[1:]
	}
	if p.is("(") {
		return p.call(word)
	}
	constants := map[string]any{"True": true, "False": false, "None": nil}
	if v, ok := constants[word]; ok {
		return v, nil
	}
	if v, ok := p.values[word]; ok {
		p.used[word] = true
		return v, nil
	}
	return nil, fmt.Errorf("%s has no known value", word)
}

func (p *parser) call(function string) (any, error) {
	c := call{name: function}
	for !p.is(")") {
		keyword := ""
		if len(p.tokens) > 1 && p.tokens[0].kind == name && p.tokens[1].kind == mark &&
			p.tokens[1].value == "=" {
			keyword, p.tokens = p.tokens[0].value, p.tokens[2:]
		}
		v, err := p.sum()
		if err != nil {
			return nil, err
		}
		if keyword == "" {
			c.args = append(c.args, v)
		} else {
			c.named = append(c.named, pair{keyword, v})
		}
		if !p.is(",") && (len(p.tokens) == 0 || p.tokens[0].value != ")") {
			return nil, errLiteral
		}
	}
	return known(c)
}

// known returns the value of the functions that paths are made with.
func known(c call) (any, error) {
	parts := make([]string, 0, len(c.args))
	for _, arg := range c.args {
		s, ok := arg.(string)
		if !ok {
			return c, nil
		}
		parts = append(parts, s)
	}
	switch c.name[strings.LastIndexByte(c.name, '.')+1:] {
	case "join":
		return path.Join(parts...), nil
	case "getcwd", "dirname":
		return ".", nil
	case "find_executable", "which", "abspath", "realpath", "expanduser":
		if len(parts) == 1 {
			return parts[0], nil
		}
	case "node", "getenv":
		return nil, fmt.Errorf("%s depends on the machine", c.name)
	}
	return c, nil
}
