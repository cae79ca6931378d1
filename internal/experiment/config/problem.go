package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"krund/internal/display"
	"krund/internal/experiment/key"
)

// A Mistake is one mistake in a configuration.
type Mistake struct {
	File string // as given by the user
	Line int    // from 1
	What string // what is wrong
	Fix  string // how to fix it
}

// Error returns "file:line: what; what to do".
func (p Mistake) Error() string {
	return fmt.Sprintf("%s:%d: %s; %s", p.File, p.Line, p.What, p.Fix)
}

// Errors is every mistake found, in file order. It is never empty.
type Errors []Mistake

// Error returns one line per problem, at most a hundred.
func (e Errors) Error() string {
	const most = 100
	lines := make([]string, min(len(e), most), most+1)
	for i := range lines {
		lines[i] = e[i].Error()
	}
	if more := len(e) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("%s: %d more mistakes; correct these first", e[0].File, more))
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find each Problem.
func (e Errors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, p := range e {
		errs[i] = p
	}
	return errs
}

// problems collects mistakes while a file is read.
type problems struct {
	file     string
	list     []Mistake
	reported map[Mistake]bool // the problems in list
}

// add records one mistake. The same mistake on the same line is recorded once, because a machine's
// section is read both alone and merged with the rest.
func (p *problems) add(line int, what, fix string) {
	const most = 500 // bytes: names and values come from the file and may be as long as the file
	found := Mistake{File: p.file, Line: max(line, 1), What: display.Clip(what, most), Fix: display.Clip(fix,
		most)}
	if p.reported[found] {
		return
	}
	if p.reported == nil {
		p.reported = map[Mistake]bool{}
	}
	p.reported[found] = true
	p.list = append(p.list, found)
}

// addError records an error whose text has both parts: "what; what to do".
func (p *problems) addError(line int, at string, err error) {
	what, fix, _ := strings.Cut(err.Error(), "; ")
	p.add(line, at+": "+what, fix)
}

// checkName reports whether name is valid and records a problem if it is not.
func (p *problems) checkName(line int, at, name string) bool {
	err := key.CheckName(name)
	if err != nil {
		p.addError(line, at, err)
	}
	return err == nil
}

// errors returns the problems sorted by line, or nil if there are none.
func (p *problems) errors() error {
	if len(p.list) == 0 {
		return nil
	}
	slices.SortStableFunc(p.list, func(a, b Mistake) int { return cmp.Compare(a.Line, b.Line) })
	return Errors(p.list)
}
