package config

import (
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"
)

// maxDepth bounds the nesting of tables and lists. The deepest valid key,
// machines.HOST.vms.NAME.env.VARIABLE, has six levels; the bound keeps a hostile file from
// exhausting the stack of the TOML library.
const maxDepth = 16

// A place is the location of a key, table or list element in the text.
type place struct {
	line  int // of the key, the table's header or the element; from 1
	order int // places are numbered in order of appearance
	table map[string]*place
	list  []*place
}

// locate finds the place of every key in a TOML text. It assumes that the text is valid and checks
// only the depth: in an invalid text it stops early, and its result is useless. The error reports a
// depth beyond maxDepth, and the int is its line.
func locate(text string) (*place, int, error) {
	l := &locator{text: text, line: 1, root: &place{line: 1}}
	l.document()
	return l.root, l.line, l.err
}

type locator struct {
	text   string // still to read
	line   int
	root   *place
	places int
	err    error
}

// document reads headers and key-value lines up to the end of the text or the first other token.
func (l *locator) document() {
	current := l.root
	for l.skipBlank(); l.text != "" && l.err == nil; l.skipBlank() {
		before := len(l.text)
		if strings.HasPrefix(l.text, "[") {
			current = l.header()
		} else {
			l.keyValue(current, 0)
		}
		l.skipLine()
		if len(l.text) == before {
			return
		}
	}
}

// header reads "[a.b]" or "[[a.b]]" and returns the table it opens.
func (l *locator) header() *place {
	line := l.line
	l.text = l.text[1:]
	isList := strings.HasPrefix(l.text, "[")
	if isList {
		l.text = l.text[1:]
	}
	path := l.path()
	if len(path) == 0 {
		return l.root
	}
	last := len(path) - 1
	p := l.child(l.descend(l.root, path[:last]), path[last])
	if isList {
		item := l.newPlace()
		item.line = line
		p.list = append(p.list, item)
		return item
	}
	p.line = line
	return p
}

// keyValue reads "a.b = value" into the table at.
func (l *locator) keyValue(at *place, depth int) {
	path := l.path()
	l.skipSpace()
	if len(path) == 0 || !strings.HasPrefix(l.text, "=") {
		l.text = "" // not TOML
		return
	}
	l.text = l.text[1:]
	l.value(l.descend(at, path), depth+len(path))
}

// value reads one value, whose place is at.
func (l *locator) value(at *place, depth int) {
	if depth > maxDepth && l.err == nil {
		l.err = fmt.Errorf("the nesting is more than %d levels deep", maxDepth)
	}
	if l.err != nil {
		l.text = ""
		return
	}
	l.skipSpace()
	switch {
	case strings.HasPrefix(l.text, `"`), strings.HasPrefix(l.text, `'`):
		l.quoted()
	case strings.HasPrefix(l.text, "["):
		at.list = []*place{}
		l.sequence("]", func() {
			item := l.newPlace()
			at.list = append(at.list, item)
			l.value(item, depth+1)
		})
	case strings.HasPrefix(l.text, "{"):
		l.sequence("}", func() { l.keyValue(at, depth) })
	default: // a number, boolean or date; a date may contain a space
		l.advance(indexAny(l.text, ",]}#\n"))
	}
}

// sequence reads a bracketed, comma-separated list of elements.
func (l *locator) sequence(end string, element func()) {
	l.text = l.text[1:]
	for l.skipBlank(); l.text != "" && !strings.HasPrefix(l.text, end); l.skipBlank() {
		before := len(l.text)
		element()
		l.skipBlank()
		l.text = strings.TrimPrefix(l.text, ",")
		if len(l.text) == before {
			l.text = "" // not TOML
		}
	}
	l.text = strings.TrimPrefix(l.text, end)
}

// path reads a dotted key.
func (l *locator) path() []string {
	var path []string
	for {
		l.skipSpace()
		part, ok := l.keyPart()
		if !ok {
			return path
		}
		path = append(path, part)
		if len(path) > maxDepth {
			l.err = fmt.Errorf("the key has more than %d parts", maxDepth)
			return path
		}
		l.skipSpace()
		if !strings.HasPrefix(l.text, ".") {
			return path
		}
		l.text = l.text[1:]
	}
}

// keyPart reads one bare or quoted part of a key.
func (l *locator) keyPart() (string, bool) {
	if strings.HasPrefix(l.text, `"`) || strings.HasPrefix(l.text, `'`) {
		return unquote(l.quoted())
	}
	n := indexAny(l.text, " \t.=]\"'#\r\n")
	part := l.text[:n]
	l.text = l.text[n:]
	return part, n > 0
}

// unquote unescapes a quoted key with the TOML library.
func unquote(quoted string) (string, bool) {
	var line struct{ Part string }
	_, err := toml.Decode("Part = "+quoted, &line)
	return line.Part, err == nil
}

// quoted reads a string of any of the four kinds and returns it including its quotes.
func (l *locator) quoted() string {
	whole := l.text
	mark := l.text[:1]
	if triple := strings.Repeat(mark, 3); strings.HasPrefix(l.text, triple) {
		mark = triple
	}
	l.text = l.text[len(mark):]
	for l.text != "" && !strings.HasPrefix(l.text, mark) {
		if l.text[0] == '\n' && len(mark) == 1 {
			break // not TOML
		}
		if l.text[0] == '\\' && mark[0] == '"' {
			l.advance(1)
		}
		l.advance(1)
	}
	l.text = strings.TrimPrefix(l.text, mark)
	if len(mark) == 3 { // up to two quotes may precede the closing three
		l.text = strings.TrimPrefix(l.text, mark[:1])
		l.text = strings.TrimPrefix(l.text, mark[:1])
	}
	return whole[:len(whole)-len(l.text)]
}

// advance drops up to n bytes and counts lines.
func (l *locator) advance(n int) {
	n = min(n, len(l.text))
	l.line += strings.Count(l.text[:n], "\n")
	l.text = l.text[n:]
}

func (l *locator) skipSpace() {
	l.text = strings.TrimLeft(l.text, " \t")
}

// skipBlank skips white space, line ends and comments.
func (l *locator) skipBlank() {
	for {
		l.advance(len(l.text) - len(strings.TrimLeft(l.text, " \t\r\n")))
		if !strings.HasPrefix(l.text, "#") {
			return
		}
		l.skipLine()
	}
}

func (l *locator) skipLine() {
	l.text = l.text[indexAny(l.text, "\n"):]
}

// indexAny is strings.IndexAny, except that it returns len(s) if there is no match.
func indexAny(s, chars string) int {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return i
	}
	return len(s)
}

// descend follows path from p and creates missing places.
func (l *locator) descend(p *place, path []string) *place {
	for _, part := range path {
		p = l.child(p, part)
		if n := len(p.list); n > 0 {
			p = p.list[n-1] // a table header refers to the last element
		}
	}
	return p
}

func (l *locator) child(p *place, name string) *place {
	if c, ok := p.table[name]; ok {
		return c
	}
	if p.table == nil {
		p.table = map[string]*place{}
	}
	c := l.newPlace()
	p.table[name] = c
	return c
}

func (l *locator) newPlace() *place {
	l.places++
	return &place{line: l.line, order: l.places}
}
