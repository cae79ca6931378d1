// Command lines reports lines that are too wide in the files that it is given: code over 110
// columns, comments and Markdown prose over 100, a tab counted as 4.
//
// Text that cannot be wrapped may be wider: raw strings, single words (such as links), and in
// Markdown code blocks, tables, headings and images.
package main

import (
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

const (
	codeColumns  = 110
	proseColumns = 100
	tabColumns   = 4
)

func main() {
	wide, err := run(os.Stdout, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "lines:", err)
	}
	if wide > 0 || err != nil {
		os.Exit(1)
	}
}

// run reports the wide lines of the named files and returns how many there are.
func run(w io.Writer, names []string) (wide int, err error) {
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return wide, err
		}
		for _, l := range check(filepath.Ext(name), text) {
			fmt.Fprintf(w, "%s:%d: %d columns, at most %d\n", name, l.number, l.columns, l.limit)
			wide++
		}
	}
	return wide, nil
}

// A line is one that is too wide.
type line struct{ number, columns, limit int }

// check returns the wide lines of a file with the extension ext; "" is that of a Makefile, in which
// the help ("## ...") is no comment.
func check(ext string, text []byte) []line {
	free := map[int]bool{} // lines that may be wide, counted from 1
	switch ext {
	case ".go":
		free = rawStrings(text)
	case ".md":
		free = unwrappable(text)
	}
	var wide []line
	for i, l := range bytes.Split(text, []byte("\n")) {
		words := strings.TrimLeft(string(l), "\t */#")
		limit := codeColumns
		if ext == ".md" || isComment(ext, string(l)) {
			limit = proseColumns
		}
		n := utf8.RuneCount(l) + (tabColumns-1)*bytes.Count(l, []byte("\t"))
		if n > limit && !free[i+1] && strings.Contains(words, " ") && !strings.HasPrefix(words, "go:") {
			wide = append(wide, line{number: i + 1, columns: n, limit: limit})
		}
	}
	return wide
}

func isComment(ext, l string) bool {
	l = strings.TrimLeft(l, "\t ")
	switch ext {
	case "", ".mk", ".sh":
		return strings.HasPrefix(l, "# ")
	}
	if strings.HasPrefix(l, "//\t") { // preformatted, as code is
		return false
	}
	return strings.HasPrefix(l, "//") || strings.HasPrefix(l, "/*") || strings.HasPrefix(l, "* ")
}

// rawStrings returns the lines of Go code that a raw string begins, ends or lies on.
func rawStrings(code []byte) map[int]bool {
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(code))
	var s scanner.Scanner
	s.Init(file, code, nil, 0)
	lines := map[int]bool{}
	for {
		pos, kind, text := s.Scan()
		if kind == token.EOF {
			return lines
		}
		if kind == token.STRING && text[0] == '`' {
			first := file.Line(pos)
			for i := range 1 + strings.Count(text, "\n") {
				lines[first+i] = true
			}
		}
	}
}

// unwrappable returns the lines of Markdown that are no prose.
func unwrappable(text []byte) map[int]bool {
	lines, fenced := map[int]bool{}, false
	for i, l := range strings.Split(string(text), "\n") {
		fence := strings.HasPrefix(strings.TrimSpace(l), "```")
		if fence {
			fenced = !fenced
		}
		for _, start := range []string{"|", "    ", "#", "!["} {
			lines[i+1] = lines[i+1] || fenced || fence || strings.HasPrefix(l, start)
		}
	}
	return lines
}
