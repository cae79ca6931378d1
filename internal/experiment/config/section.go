package config

import (
	"regexp"
	"slices"
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
