package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

// maxText is the maximum size of a configuration in bytes: far more than a person writes, but small
// compared with the memory of the daemon.
const maxText = 1 << 20

// A node is a value of the file with its line. Exactly one of value, table and list is set; an
// empty table or list is not nil.
type node struct {
	line  int
	order int
	value any // string, int64, float64, bool or time.Time
	table map[string]*node
	list  []*node
}

// decode reads the text into a tree. The Problem concerns the text as a whole: not TOML, not UTF-8,
// or too large.
func decode(text string) (*node, *Mistake) {
	if len(text) > maxText {
		return nil, &Mistake{
			Line: 1, What: fmt.Sprintf("the file has more than %d bytes", maxText),
			Fix: "write less, or is it the wrong file?",
		}
	}
	if strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") {
		return nil, &Mistake{Line: 1, What: "the file is UTF-16", Fix: "save it as UTF-8"}
	}
	if line, ok := firstInvalid(text); !ok {
		return nil, &Mistake{Line: line, What: "the line is not valid UTF-8", Fix: "save the file as UTF-8"}
	}
	text = strings.TrimPrefix(text, "\uFEFF")
	places, line, err := locate(text)
	if err != nil {
		return nil, &Mistake{Line: line, What: err.Error(), Fix: "no key of a configuration is that deep"}
	}
	var tree map[string]any
	if err := decodeTOML(text, &tree); err != nil {
		return nil, syntaxProblem(err)
	}
	return build(tree, places), nil
}

// decodeTOML converts a panic of the library, which indicates a bug in it, into an error: no text
// may crash krund.
func decodeTOML(text string, tree *map[string]any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the text cannot be read: %v", r)
		}
	}()
	_, err = toml.Decode(text, tree)
	return err
}

// firstInvalid returns the first line that is not valid UTF-8, or true if there is none.
func firstInvalid(text string) (int, bool) {
	line := 0
	for part := range strings.Lines(text) {
		line++
		if !utf8.ValidString(part) {
			return line, false
		}
	}
	return 0, true
}

func syntaxProblem(err error) *Mistake {
	const fix = "correct the line; the rest of the file is checked after that"
	if syntax, is := errors.AsType[toml.ParseError](err); is {
		what := strings.ReplaceAll(strings.TrimRight(syntax.Message, ". \n"), "\n", " ")
		return &Mistake{Line: max(syntax.Position.Line, 1), What: "not TOML: " + what, Fix: fix}
	}
	return &Mistake{Line: 1, What: "not TOML: " + err.Error(), Fix: fix}
}

// build joins the decoded values with their places. A value without a place gets its parent's line.
func build(value any, at *place) *node {
	n := &node{line: at.line, order: at.order}
	switch v := value.(type) {
	case map[string]any:
		n.table = make(map[string]*node, len(v))
		for name, child := range v {
			n.table[name] = build(child, at.of(name))
		}
	case []any:
		n.list = make([]*node, len(v))
		for i, item := range v {
			n.list[i] = build(item, at.item(i))
		}
	case []map[string]any:
		n.list = make([]*node, len(v))
		for i, item := range v {
			n.list[i] = build(item, at.item(i))
		}
	default:
		n.value = v
	}
	return n
}

func (p *place) of(name string) *place {
	if c, ok := p.table[name]; ok {
		return c
	}
	return &place{line: p.line, order: p.order}
}

func (p *place) item(i int) *place {
	if i < len(p.list) {
		return p.list[i]
	}
	return &place{line: p.line, order: p.order}
}

// child returns the node with that name, or nil. n may be nil or not a table.
func (n *node) child(name string) *node {
	if n == nil {
		return nil
	}
	return n.table[name]
}

// names returns the names in a table in file order.
func (n *node) names() []string {
	if n == nil {
		return nil
	}
	return slices.SortedFunc(maps.Keys(n.table), func(a, b string) int {
		return cmp.Or(cmp.Compare(n.table[a].order, n.table[b].order), strings.Compare(a, b))
	})
}

// merge returns base overridden by over: tables are merged, any other value of over replaces that
// of base. It modifies neither.
func merge(base, over *node) *node {
	if base == nil {
		return over
	}
	if over == nil || base.table == nil || over.table == nil {
		return cmp.Or(over, base)
	}
	joined := *base
	joined.table = maps.Clone(base.table)
	for name, child := range over.table {
		joined.table[name] = merge(joined.table[name], child)
	}
	return &joined
}

// describe returns a description of the node for "x is ...".
func (n *node) describe() string {
	switch v := n.value.(type) {
	case string:
		return "the string " + quoteShort(v)
	case int64:
		return fmt.Sprintf("the integer %d", v)
	case float64:
		return fmt.Sprintf("the number %v", v)
	case bool:
		return fmt.Sprintf("the boolean %v", v)
	case time.Time:
		return "a date or time"
	}
	if n.table != nil {
		return "a table"
	}
	return "a list"
}

// quoteShort quotes s for a message and truncates it if it is long.
func quoteShort(s string) string {
	const most = 60
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	cut := most
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%q...", s[:cut])
}
