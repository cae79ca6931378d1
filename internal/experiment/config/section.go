package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"krund/internal/display"
	"krund/internal/experiment/config/setting"
	"krund/internal/experiment/key"
)

// lines maps keys of a configuration to their lines, for problems found after reading it:
// "limits.heap", "experiment.skip.0".
type lines map[string]int

// of returns the line of the first known path, or 1.
func (l lines) of(paths ...string) int {
	for _, path := range paths {
		if line, ok := l[path]; ok {
			return line
		}
	}
	return 1
}

// reader walks a tree according to the schema and collects problems, lines and the keys that it
// asked for.
type reader struct {
	*problems
	lines
	partial  bool                 // one of several layers: what is missing may be in another
	settings []setting.Descriptor // that [controls] can name
	asked    []askedKey           // in the order of the schema
	doubtful map[string]bool      // keys that the file means to set, but not to what was read
	unitless map[string]bool      // sizes that the file gives as numbers without a unit
}

func newReader(found *problems, settings []setting.Descriptor, partial bool) *reader {
	return &reader{
		problems: found, lines: lines{}, settings: settings, partial: partial, doubtful: map[string]bool{},
		unitless: map[string]bool{},
	}
}

// askedKey is a key of the schema with its default in TOML syntax; "" means no default.
type askedKey struct {
	section, name, normal string
}

// section is one table of the tree, which may be absent.
type section struct {
	*reader
	path  string
	node  *node
	known []string
}

// section opens the table at path. A value of another kind is reported and treated as an absent
// table.
func (r *reader) section(path string, n *node) *section {
	if n != nil && n.table == nil {
		r.add(n.line, path+" is "+n.describe(), "make it a table: ["+path+"]")
		n = nil
	}
	if n != nil {
		r.lines[path] = n.line
	}
	return &section{reader: r, path: path, node: n}
}

// table reads the table of that name in s.
func table[T any](s *section, name string, read func(*section) T) T {
	own := s.section(name, s.get(name, ""))
	defer own.done()
	return read(own)
}

// tables reads the tables in the one at path, each under its name. Those with an invalid name are
// reported and left out.
func tables[T any](r *reader, path string, n *node, read func(name string, s *section) T) []T {
	var list []T
	all := r.section(path, n)
	for _, name := range all.node.names() {
		n := all.node.table[name]
		s := r.section(join(path, name), n)
		if all.checkName(n.line, path, name) {
			list = append(list, read(name, s))
			s.done()
		}
	}
	all.onlyByCase()
	return list
}

// get returns the node of a key, or nil, and records the key as known.
func (s *section) get(name, normal string) *node {
	s.known = append(s.known, name)
	s.asked = append(s.asked, askedKey{section: s.path, name: name, normal: normal})
	n := s.node.child(name)
	if n != nil {
		s.lines[join(s.path, name)] = n.line
	}
	return n
}

// done reports the unknown keys of the table.
func (s *section) done() {
	for _, name := range s.node.names() {
		if slices.Contains(s.known, name) {
			continue
		}
		if near, ok := display.Nearest(name, s.known); ok {
			s.doubtful[join(s.path, near)] = true
		}
		advice := didYouMean(name, s.known, "remove it, or see docs/config.md for the keys there are")
		s.add(s.node.table[name].line, "unknown key "+join(s.path, name), advice)
	}
}

// bad reports an invalid value of a key.
func (s *section) bad(n *node, name, fix string) {
	at := join(s.path, name)
	s.doubtful[elementIndex.ReplaceAllString(at, "")] = true
	s.add(n.line, at+" is "+n.describe(), fix)
}

// elementIndex matches the index at the end of the path of a list element.
var elementIndex = regexp.MustCompile(`\[[0-9]+\]$`)

// join builds the path of a key and quotes the name if TOML requires it.
func join(path, name string) string {
	bare := elementIndex.ReplaceAllString(name, "")
	if name == "" || len(name) > key.MaxName || strings.ContainsFunc(bare, func(r rune) bool {
		return r != '_' && r != '-' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	}) {
		name = quoteShort(name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// text reads a single-line string.
func (s *section) text(name, normal string) string {
	n := s.get(name, strconv.Quote(normal))
	if n == nil {
		return normal
	}
	v, ok := s.line(n, name)
	if !ok {
		return normal
	}
	return v
}

// line returns the string of n if it is a single line without control characters.
func (s *section) line(n *node, name string) (string, bool) {
	v, ok := n.value.(string)
	if !ok {
		s.bad(n, name, `write a string, such as "text"`)
		return "", false
	}
	if strings.ContainsFunc(v, unicode.IsControl) {
		s.bad(n, name, "remove the line breaks and control characters")
		return "", false
	}
	return v, true
}

// choice reads one of several strings.
func (s *section) choice(name, normal string, choices ...string) string {
	n := s.get(name, strconv.Quote(normal))
	if n == nil {
		return normal
	}
	return s.oneOf(n, name, normal, choices)
}

func (s *section) oneOf(n *node, name, normal string, choices []string) string {
	v, ok := n.value.(string)
	if ok && slices.Contains(choices, v) {
		return v
	}
	s.bad(n, name, didYouMean(v, choices, "write "+orList(choices)))
	return normal
}

// whole reads an integer between least and most.
func (s *section) whole(name string, normal, least, most int64) int64 {
	n := s.get(name, fmt.Sprint(normal))
	if n == nil {
		return normal
	}
	return s.wholeOf(n, name, normal, least, most)
}

func (s *section) wholeOf(n *node, name string, normal, least, most int64) int64 {
	v, ok := n.value.(int64)
	if !ok {
		s.bad(n, name, fmt.Sprintf("write a whole number without quotes, such as %d", max(normal, least)))
		return normal
	}
	if v < least || v > most {
		s.bad(n, name, fmt.Sprintf("write a number from %d to %d", least, most))
		return normal
	}
	return v
}

// flag reads true or false.
func (s *section) flag(name string, normal bool) bool {
	n := s.get(name, fmt.Sprint(normal))
	if n == nil {
		return normal
	}
	v, ok := n.value.(bool)
	if !ok {
		s.bad(n, name, "write true or false, without quotes")
		return normal
	}
	return v
}

// count is whole for an int.
func (s *section) count(name string, normal, least, most int) int {
	return int(s.whole(name, int64(normal), int64(least), int64(most)))
}

// An item is a string in a list with its line.
type item struct {
	text string
	line int
}

// items reads a list of single-line strings. Invalid elements are reported and dropped. The bool
// reports whether the file has the list.
func (s *section) items(name string, normal []string) ([]item, bool) {
	n := s.get(name, quoteList(normal))
	if n == nil {
		return nil, false
	}
	if n.list == nil {
		s.bad(n, name, `write a list of strings, such as ["one", "two"]`)
		return nil, false
	}
	var list []item
	for i, element := range n.list {
		at := fmt.Sprintf("%s[%d]", name, i)
		s.lines[join(s.path, at)] = element.line
		if v, ok := s.line(element, at); ok {
			list = append(list, item{text: v, line: element.line})
		}
	}
	return list, true
}

// texts is items with a check of each element, which returns what is wrong and how to fix it, or
// "". A nil check accepts everything.
func (s *section) texts(name string, normal []string, check func(string) (what, fix string)) []string {
	list, ok := s.items(name, normal)
	if !ok {
		return slices.Clone(normal)
	}
	var texts []string
	for _, it := range list {
		if check == nil {
			texts = append(texts, it.text)
			continue
		}
		if what, fix := check(it.text); what != "" {
			s.add(it.line, join(s.path, name)+": "+what, fix)
			continue
		}
		texts = append(texts, it.text)
	}
	return texts
}

// names reads a list of different names out of known; what is what they name.
func (s *section) names(name string, normal []string, what string, known ...string) []string {
	seen := map[string]bool{}
	return s.texts(name, normal, func(text string) (string, string) {
		if !slices.Contains(known, text) {
			return fmt.Sprintf("there is no %s %q", what, text), didYouMean(text, known, "")
		}
		if seen[text] {
			return fmt.Sprintf("%q is listed twice", text), "remove one"
		}
		seen[text] = true
		return "", ""
	})
}

// argument reads one argument of a command line: any text that execve accepts.
func (s *section) argument(n *node, name string) (string, bool) {
	v, ok := n.value.(string)
	if !ok {
		s.bad(n, name, "write a string, in quotes")
		return "", false
	}
	if strings.Contains(v, "\x00") {
		s.bad(n, name, "remove the NUL character")
		return "", false
	}
	return v, true
}

// arguments reads a list of arguments; ok is false if one is invalid.
func (s *section) arguments(n *node, name string) (list []string, ok bool) {
	if n.list == nil {
		s.bad(n, name, `write a list of strings, such as ["program", "argument"]`)
		return nil, false
	}
	ok = true
	for i, item := range n.list {
		v, right := s.argument(item, fmt.Sprintf("%s[%d]", name, i))
		list, ok = append(list, v), ok && right
	}
	return list, ok
}

func quoteList(list []string) string {
	quoted := make([]string, len(list))
	for i, v := range list {
		quoted[i] = fmt.Sprintf("%q", v)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// orList formats a choice of quoted names: "a", "b" or "c".
func orList(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = `"` + name + `"`
	}
	return display.Or(quoted)
}

// didYouMean returns advice for an unknown name: the nearest known name, all known names if there
// are few, or otherwise.
func didYouMean(name string, known []string, otherwise string) string {
	if near, ok := display.Nearest(name, known); ok {
		return `did you mean "` + near + `"?`
	}
	if n := len(known); n > 0 && n <= 6 {
		return "write " + orList(slices.Clone(known))
	}
	return otherwise
}
