package krunconfig

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"krund/internal/display"
)

const (
	maxSteps = 1 << 18 // of Starlark
	maxFiles = 10      // execfile in one another
	maxLeft  = 200     // notes
	maxQuote = 1000    // bytes of a message
	maxName  = 100     // bytes of the name of an unknown value
)

type value = starlark.Value

// evaluator runs a program statement by statement, so that one which cannot be evaluated does not
// keep it from the others.
type evaluator struct {
	program  Program
	thread   *starlark.Thread
	globals  starlark.StringDict // variables, and the functions that a program finds
	known    map[string]value    // functions and values of modules, by their full names
	depth    int                 // of execfile
	left     []string            // sentences for a person
	assigned map[string]string   // variables, and where
	names    []string            // of these, in the order of the program
	used     map[string]bool     // names that were read
	exact    bool                // integers are divided as from __future__
	over     error               // a bound was exceeded
}

// options are Python's rules where Starlark's are stricter.
var options = &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true}

// evaluate runs a program. The error is for a text that is not Python, or takes too many steps.
func evaluate(p Program) (*evaluator, error) {
	e := &evaluator{program: p, globals: starlark.StringDict{}, assigned: map[string]string{},
		used:   map[string]bool{},
		thread: &starlark.Thread{Print: func(*starlark.Thread, string) {}}}
	e.thread.SetMaxExecutionSteps(maxSteps)
	e.standIns()
	err := e.runText("", p.Text)
	return e, cmp.Or(e.over, err)
}

// note adds a sentence, which is said once, to what is left for a person.
func (e *evaluator) note(format string, a ...any) {
	s := display.Head(fmt.Sprintf(format, a...), maxQuote)
	if !slices.Contains(e.left, s) && len(e.left) <= maxLeft {
		e.left = append(e.left, s)
	}
}

// runText runs the text of a file.
func (e *evaluator) runText(file, program string) error {
	f, err := parse(file, program)
	if err != nil {
		return err
	}
	syntax.Walk(f, e.prepare)
	e.run(f.Stmts)
	return e.over
}

// prepare remembers the names that are read, and calls what makes operators those of Python:
// unknown values are not compared, and division has its rule.
func (e *evaluator) prepare(n syntax.Node) bool {
	call := func(function string, x syntax.Expr) syntax.Expr {
		at := syntax.Start(x)
		return &syntax.CallExpr{Fn: &syntax.Ident{NamePos: at, Name: function}, Args: []syntax.Expr{x},
			Lparen: at, Rparen: at}
	}
	switch n := n.(type) {
	case *syntax.Ident:
		e.used[n.Name] = true
	case *syntax.BinaryExpr:
		switch n.Op {
		case syntax.EQL, syntax.NEQ, syntax.LT, syntax.GT, syntax.LE, syntax.GE, syntax.IN, syntax.NOT_IN:
			n.X, n.Y = call("__known__", n.X), call("__known__", n.Y)
		case syntax.SLASH, syntax.PERCENT:
			n.X = call("__operand__", n.X)
		}
	case *syntax.AssignStmt:
		if n.Op == syntax.SLASH_EQ {
			n.RHS = call("__operand__", n.RHS)
		}
		if _, variable := n.LHS.(*syntax.Ident); variable {
			syntax.Walk(n.RHS, e.prepare)
			return false
		}
	}
	return true
}

// run runs statements, and chooses the branches of conditions that are not in functions or loops.
func (e *evaluator) run(list []syntax.Stmt) {
	for _, s := range list {
		if e.over != nil {
			return
		}
		err := e.exec(s)
		if e.over == nil && e.thread.ExecutionSteps() >= maxSteps {
			e.over = fmt.Errorf("%s: it takes more than %d steps", at(syntax.Start(s)), maxSteps)
		} else if err != nil && e.over == nil {
			e.fail(s, err)
		}
	}
}

func (e *evaluator) exec(s syntax.Stmt) error {
	begin, end := s.Span()
	switch s := s.(type) {
	case *syntax.IfStmt:
		v, err := starlark.EvalExprOptions(options, e.thread, s.Cond, e.globals)
		if err == nil {
			_, err = isKnown(v)
		}
		switch {
		case err != nil:
			e.fail(s, err)
			e.note("%s: the branches of this condition, to line %d, are left out", at(begin), end.Line)
		case bool(v.Truth()):
			e.run(s.True)
		default:
			e.run(s.False)
		}
		return nil
	case *syntax.ExprStmt:
		v, err := starlark.EvalExprOptions(options, e.thread, s.X, e.globals)
		if u, ok := v.(*unknown); ok && u.called {
			e.note("%s: %s has no counterpart", at(begin), u.text())
		}
		return err
	case *syntax.DefStmt: // it finds the variables that there are when it is called
		f := &syntax.File{Path: begin.Filename(), Stmts: []syntax.Stmt{s}, Options: options}
		p, err := starlark.FileProgram(f, func(name string) bool { return !starlark.Universe.Has(name) })
		if err == nil {
			var made starlark.StringDict
			made, err = p.Init(e.thread, e.globals)
			e.globals[s.Name.Name] = made[s.Name.Name]
			e.assign(s.Name)
		}
		return err
	}
	if a, ok := s.(*syntax.AssignStmt); ok {
		variable, ok := a.LHS.(*syntax.Ident)
		if ok && a.Op == syntax.EQ && !imports(a.RHS) {
			e.assign(variable)
		}
	}
	f := &syntax.File{Path: begin.Filename(), Stmts: []syntax.Stmt{s}, Options: options}
	return starlark.ExecREPLChunk(f, e.thread, e.globals)
}

// imports reports whether an expression was made of an import.
func imports(x syntax.Expr) bool {
	call, ok := x.(*syntax.CallExpr)
	if !ok {
		return false
	}
	function, ok := call.Fn.(*syntax.Ident)
	return ok && function.Name == "__import__"
}

func (e *evaluator) assign(variable *syntax.Ident) {
	if _, there := e.assigned[variable.Name]; !there {
		e.names = append(e.names, variable.Name)
	}
	e.assigned[variable.Name] = at(variable.NamePos)
}

// fail notes why a statement was not evaluated. A variable that it would have assigned has no value
// from here.
func (e *evaluator) fail(s syntax.Stmt, err error) {
	e.thread.Uncancel()
	where, message := at(syntax.Start(s)), err.Error()
	if list, ok := errors.AsType[resolve.ErrorList](err); ok {
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
	for _, prefix := range []string{"undefined: ", "internal error: predeclared variable "} {
		if variable, ok := strings.CutPrefix(message, prefix); ok {
			message = strings.TrimSuffix(variable, " is uninitialized") + " has no value"
		}
	}
	var list []string
	if a, ok := s.(*syntax.AssignStmt); ok {
		syntax.Walk(a.LHS, func(n syntax.Node) bool {
			if variable, ok := n.(*syntax.Ident); ok {
				list = append(list, variable.Name)
				delete(e.globals, variable.Name)
			}
			_, tuple := n.(*syntax.TupleExpr)
			return tuple
		})
	}
	if len(list) > 0 {
		where += ", " + strings.Join(list, ", ")
	}
	e.note("%s: %s", where, message)
}

func at(p syntax.Position) string {
	if p.Filename() == "" {
		return fmt.Sprintf("line %d", p.Line)
	}
	return fmt.Sprintf("%s, line %d", p.Filename(), p.Line)
}

// here returns the line of the program that is evaluated.
func (e *evaluator) here() string {
	for i := range e.thread.CallStackDepth() {
		if p := e.thread.CallFrame(i).Pos; p.Line > 0 {
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
		e.over = fmt.Errorf("%s: execfile runs files more than %d deep", e.here(), maxFiles)
		return e.over
	}
	data, err := e.program.Read(name)
	if err == nil {
		e.depth++
		err = e.runText(name, string(data))
		e.depth--
	}
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

// standIns makes what a program finds when it begins.
func (e *evaluator) standIns() {
	text := func(v value) string { s, _ := starlark.AsString(v); return s }
	add := func(name string, most int, f func(a []value) (value, error)) value {
		v := starlark.NewBuiltin(name, func(_ *starlark.Thread, _ *starlark.Builtin, a starlark.Tuple,
			named []starlark.Tuple) (value, error) {
			for _, n := range named {
				a = append(a, n[1])
			}
			if len(a) > most {
				return nil, fmt.Errorf("%s cannot have %d arguments", name, len(a))
			}
			return f(append(a, starlark.None)) // so that there is one
		})
		e.globals[name] = v
		return v
	}
	const any = maxText
	stop := func(what string) value {
		return add(what, any, func(a []value) (value, error) {
			return nil, fmt.Errorf("the program ends here: %s %s", strings.Trim(what, "_"), short(a[0]))
		})
	}
	// Functions of paths take an unknown one to itself.
	paths := func(name string, most int, f func(parts []string) string) value {
		return add(name, most, func(a []value) (value, error) {
			parts := make([]string, len(a)-1)
			for i := range parts {
				var ok bool
				if u := inside(a[i], nested); u != nil {
					return u, nil
				} else if parts[i], ok = starlark.AsString(a[i]); !ok {
					return nil, fmt.Errorf("a path is %s instead of a text", a[i].Type())
				}
			}
			return starlark.String(f(parts)), nil
		})
	}
	path1 := func(name string, f func(string) string) value {
		return paths(name, 1, func(parts []string) string { return f(joined(parts...)) })
	}
	same := func(s string) string { return s }
	get := func(a []value) (value, error) {
		e.note("%s: the environment variable %s is taken as unset", e.here(), short(a[0]))
		return append(a, starlark.None)[1], nil
	}
	node := func([]value) (value, error) {
		e.note("%s: the name of the machine is taken as %q; [machines.NAME] is for others", e.here(),
			e.program.Host)
		return starlark.String(e.program.Host), nil
	}
	add("__import__", 1, func(a []value) (value, error) {
		e.exact = e.exact || text(a[0]) == "__future__.division"
		return e.find(display.Head(text(a[0]), maxName)), nil
	})
	add("__known__", 1, func(a []value) (value, error) { return isKnown(a[0]) })
	add("__operand__", 1, func(a []value) (value, error) { return operand{a[0], e.exact}, nil })
	add("__refuse__", 1, func(a []value) (value, error) { return nil, errors.New(text(a[0])) })
	add("__except__", 0, func([]value) (value, error) {
		e.note("%s: what is to be done after an error is left out", e.here())
		return starlark.False, nil
	})
	add("__assert__", 2, func(a []value) (value, error) {
		v, err := isKnown(a[0])
		if err == nil && !v.Truth() {
			err = errors.New("the program ends here: its assertion does not hold")
		}
		return starlark.None, err
	})
	add("execfile", 3, func(a []value) (value, error) {
		name, ok := starlark.AsString(a[0])
		if !ok {
			return nil, fmt.Errorf("the file is %s", a[0].Type())
		}
		return starlark.None, e.include(name)
	})
	stop("__raise__")
	e.known = map[string]value{
		"distutils.spawn.find_executable": path1("find_executable", same),
		"krun.util.fatal":                 stop("fatal"), "sys.exit": stop("sys.exit"),
		"platform.node": add("node", 0, node), "socket.gethostname": add("gethostname", 0, node),
		"os.environ.get": add("os.environ.get", 2, get), "os.getenv": add("getenv", 2, get),
		"sys.platform": starlark.String(e.program.Platform),
		"os.sep":       starlark.String("/"), "os.path.sep": starlark.String("/"),
		"os.getcwd":        paths("getcwd", 0, func([]string) string { return e.program.Dir }),
		"os.path.join":     paths("join", any, func(parts []string) string { return joined(parts...) }),
		"os.path.abspath":  path1("abspath", func(s string) string { return joined(e.program.Dir, s) }),
		"os.path.basename": path1("basename", path.Base), "os.path.dirname": path1("dirname", path.Dir),
		"os.path.normpath":   path1("normpath", path.Clean),
		"os.path.expanduser": path1("expanduser", same), "os.path.realpath": path1("realpath", same),
	}
	path1("globals", same) // an argument of execfile
	for _, name := range slices.Concat([]string{"EntryPoint", "os", "sys", "platform"}, classes()) {
		e.globals[name] = &unknown{evaluator: e, name: name}
	}
}

// joined joins the parts of a path as os.path.join does.
func joined(parts ...string) string {
	p := ""
	for _, s := range parts {
		if strings.HasPrefix(s, "/") {
			p = ""
		} else if p != "" && !strings.HasSuffix(p, "/") {
			p += "/"
		}
		p += s
	}
	return p
}
