package krunconfig

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"krund/internal/display"
)

// Bounds of what a program can make krund do and print.
const (
	maxTime  = 10 * time.Second
	maxFiles = 10   // execfile in one another
	maxLeft  = 200  // notes
	maxQuote = 1000 // bytes of a message

	textCost = 8 // work for each byte of a file: a bound of all files together
)

// evaluator runs a program statement by statement, so that one which cannot be evaluated does not
// keep it from the others.
type evaluator struct {
	scale
	program  Program
	thread   *starlark.Thread
	globals  starlark.StringDict // variables, and the functions that a program finds
	known    starlark.StringDict // functions and values of modules, by their full names
	file     string              // that is run, "" for the program itself
	depth    int                 // of execfile
	left     []string            // sentences for a person
	noted    map[string]bool     // these
	assigned map[string]string   // variables and functions, and where
	names    []string            // of these, in the order of the program
	used     map[string]bool     // names that were read
	decision bool                // of the last condition
	over     error               // a bound was exceeded
}

// options are Python's rules where Starlark's are stricter.
var options = &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true,
	Recursion: true}

// evaluate runs a program. The error is for a text that is not Python, or exceeds a bound.
func evaluate(p Program) (*evaluator, error) {
	e := &evaluator{program: p, globals: starlark.StringDict{}, assigned: map[string]string{},
		used: map[string]bool{}, noted: map[string]bool{}}
	e.thread = &starlark.Thread{Print: func(*starlark.Thread, string) {}, OnMaxSteps: e.step}
	e.thread.SetMaxExecutionSteps(1) // each one is looked at
	e.standIns()
	late := func() { e.thread.Cancel(fmt.Sprintf("it takes more than %v", maxTime)) }
	defer time.AfterFunc(maxTime, late).Stop()
	return e, e.runText(p.Text)
}

// step stops a program that takes too many steps.
func (e *evaluator) step(t *starlark.Thread) {
	switch {
	case t.Steps > maxSteps:
		t.Cancel(fmt.Sprintf("it takes more than %d steps", maxSteps))
	case t.CallStackDepth() > maxCalls:
		t.Cancel(fmt.Sprintf("functions call one another more than %d deep", maxCalls))
	}
}

// note adds a sentence, which is said once, to what is left for a person.
func (e *evaluator) note(format string, a ...any) {
	s := display.Head(fmt.Sprintf(format, a...), maxQuote)
	if !e.noted[s] {
		e.noted[s] = true
		e.left = append(e.left, s)
	}
}

// runText runs the text of a file.
func (e *evaluator) runText(program string) error {
	e.work += textCost * len(program)
	if e.work > maxWork {
		return bound(fmt.Sprintf("it has more than %d KiB", maxWork/textCost>>10))
	}
	lines, err := lex(program)
	if err != nil {
		return err
	}
	list, err := blocks(&lines, 0)
	if err == nil {
		e.run(list)
		err = e.over
	}
	return err
}

// run runs statements. It chooses the branches of conditions that are not in functions or loops by
// itself.
func (e *evaluator) run(list []statement) {
	for i := 0; i < len(list) && e.over == nil; i++ {
		s := list[i]
		switch word := s.tokens[0].text; {
		case s.body == nil, slices.Contains([]string{"def", "for", "while", "class", "with"}, word):
			e.exec(s)
		case word == "if":
			n := 1
			for i+n < len(list) && (list[i+n].tokens[0].is("elif") || list[i+n].tokens[0].is("else")) {
				n++
			}
			e.choose(list[i : i+n])
			i += n - 1
		case word == "except":
			e.note("%s: what is to be done after an error is left out", e.at(s.tokens[0].line))
		default: // try, its else and finally
			e.run(s.body)
		}
	}
}

// choose runs the first branch whose condition is true.
func (e *evaluator) choose(branches []statement) {
	for _, s := range branches {
		first, n := s.tokens[0], len(s.tokens)
		if first.is("else") {
			e.run(s.body)
			return
		}
		condition := slices.Concat(first.words("__if__", "("), s.tokens[1:n-1], s.tokens[n-1].words(")"))
		if !e.exec(statement{tokens: condition}) {
			last := branches[len(branches)-1]
			for last.body != nil {
				last = last.body[len(last.body)-1]
			}
			e.note("%s: the branches of this condition, to line %d, are left out", e.at(first.line),
				last.tokens[0].line)
			return
		}
		if e.decision {
			e.run(s.body)
			return
		}
	}
}

// exec runs one statement, with its body. It reports whether that was possible, otherwise it notes
// why not.
func (e *evaluator) exec(s statement) bool {
	e.read(s)
	first := s.tokens[0]
	w := writer{line: first.line}
	w.statement(s, 0, "")
	f, err := options.Parse(e.file, syntax.FilePortion{Content: []byte(w.String() + "\n"),
		FirstLine: int32(first.line), FirstCol: 1}, 0)
	var made starlark.StringDict
	if err == nil {
		guard(f, false)
		var compiled *starlark.Program
		// A name that has no value yet may have one when a function reads it.
		compiled, err = starlark.FileProgram(f, func(string) bool { return true })
		if err == nil {
			made, err = compiled.Init(e.thread, e.globals)
		}
	}
	for variable, v := range made {
		e.globals[variable] = v
		if first.is("def") {
			e.assign(variable, e.at(first.line))
		}
	}
	if err != nil {
		e.fail(s, err)
	}
	return err == nil
}

// read remembers the names that a statement reads.
func (e *evaluator) read(s statement) {
	skipped := 2 * len(variables(s))
	if s.tokens[0].is("def") {
		skipped = len("f(")
	}
	for _, t := range s.tokens[min(skipped, len(s.tokens)):] {
		if t.kind == name {
			e.used[t.text] = true
		}
	}
	for _, child := range s.body {
		e.read(child)
	}
}

// variables returns the names that a statement assigns to: A, B in `A, B = X` and `A = B = X`.
func variables(s statement) []string {
	parts := split(s.tokens, "=")
	var list []string
	for _, part := range parts[:len(parts)-1] {
		for _, t := range split(part, ",") {
			if s.body != nil || len(t) != 1 || t[0].kind != name {
				return nil
			}
			list = append(list, t[0].text)
		}
	}
	return list
}

func (e *evaluator) assign(variable, where string) {
	if _, there := e.assigned[variable]; !there {
		e.names = append(e.names, variable)
	}
	e.assigned[variable] = where
}

// fail notes why a statement was not evaluated. A variable that it would have assigned has no value
// from here.
func (e *evaluator) fail(s statement, err error) {
	if e.over != nil { // in another file
		return
	}
	number, message := s.tokens[0].line, err.Error()
	where := e.at(number)
	if parse, ok := errors.AsType[syntax.Error](err); ok {
		where = at(parse.Pos)
		message = fmt.Sprintf("%s has no counterpart (%s)", words(s.tokens), parse.Msg)
	} else if list, ok := errors.AsType[resolve.ErrorList](err); ok {
		where, message = at(list[0].Pos), list[0].Msg
	} else if failed, ok := errors.AsType[*starlark.EvalError](err); ok {
		message = failed.Msg
		for _, frame := range failed.CallStack {
			if frame.Pos.Line > 0 {
				where = at(frame.Pos)
			}
		}
	}
	message = strings.TrimPrefix(message, "Starlark computation cancelled: ")
	if variable, ok := strings.CutPrefix(message, "internal error: predeclared variable "); ok {
		message = strings.TrimSuffix(variable, " is uninitialized") + " has no value"
	}
	if b, ok := errors.AsType[bound](err); ok {
		e.over = fmt.Errorf("%s: %w", where, b)
	} else if strings.HasPrefix(err.Error(), "Starlark computation cancelled") {
		e.over = fmt.Errorf("%s: %w", where, bound(message))
	}
	if list := variables(s); len(list) > 0 {
		for _, variable := range list {
			delete(e.globals, variable)
		}
		where += ", " + strings.Join(list, ", ")
	}
	e.note("%s: %s", where, message)
}

// at returns a line of the file that is run for messages.
func (e *evaluator) at(number int) string {
	return at(syntax.MakePosition(&e.file, int32(number), 1))
}

func at(p syntax.Position) string {
	if p.Filename() == "" {
		return fmt.Sprintf("line %d", p.Line)
	}
	return fmt.Sprintf("%s, line %d", p.Filename(), p.Line)
}

// here returns the line of the program that called a function.
func here(t *starlark.Thread) string {
	for i := range t.CallStackDepth() {
		if p := t.CallFrame(i).Pos; p.Line > 0 {
			return at(p)
		}
	}
	return ""
}

// include runs a file that is below the directory of the program.
func (e *evaluator) include(name string) error {
	name = path.Clean(e.below(name))
	switch {
	case e.program.Read == nil || path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../"):
		return fmt.Errorf("%s is not below the directory of the configuration", name)
	case e.depth == maxFiles:
		return bound(fmt.Sprintf("execfile runs files more than %d deep", maxFiles))
	}
	data, err := e.program.Read(name)
	if err != nil {
		return err
	}
	outer := e.file
	e.file = name
	e.depth++
	err = e.runText(string(data))
	e.depth--
	e.file = outer
	return err
}

// below returns a path relative to the directory of the program, if it is in it.
func (e *evaluator) below(name string) string {
	rest, inside := strings.CutPrefix(name, strings.TrimSuffix(e.program.Dir, "/")+"/")
	if !inside || e.program.Dir == "" {
		return name
	}
	return path.Clean(rest)
}
