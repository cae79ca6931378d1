package krunconfig

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"krund/internal/display"
)

// Short names of what functions of Starlark take and return.
type (
	thread = starlark.Thread
	value  = starlark.Value
)

// maxName is the maximum length in bytes of the name of an unknown value.
const maxName = 100

// unknown is a value that only the machine or Krun knows: a module, what it contains, a call of it,
// or what was computed from that. Calls of Krun's classes are such values, too.
type unknown struct {
	name   string // such as os.environ, or os.environ["HOME"]
	called bool
	args   starlark.Tuple
	named  []starlark.Tuple
	where  string // the line that made it
}

func (u *unknown) String() string {
	if !u.called {
		return u.name
	}
	var list []string
	for _, v := range u.args {
		list = append(list, short(v))
	}
	for _, n := range u.named {
		list = append(list, string(n[0].(starlark.String))+"=...")
	}
	return display.Head(u.name+"("+strings.Join(list, ", ")+")", maxQuote)
}

// short returns a value for messages.
func short(v value) string {
	switch v := v.(type) {
	case starlark.Int, *unknown:
		return v.String()
	case starlark.String:
		return fmt.Sprintf("%q", display.Head(string(v), maxName))
	}
	return "..."
}

// Type implements starlark.Value.
func (u *unknown) Type() string { return u.String() }

// Freeze implements starlark.Value.
func (u *unknown) Freeze() {}

// Truth implements starlark.Value. Conditions refuse unknown values.
func (u *unknown) Truth() starlark.Bool { return true }

// Hash implements starlark.Value.
func (u *unknown) Hash() (uint32, error) { return 0, fmt.Errorf("%s has no known value", u) }

// Name implements starlark.Callable.
func (u *unknown) Name() string { return u.name }

// CallInternal implements starlark.Callable.
func (u *unknown) CallInternal(t *thread, args starlark.Tuple, named []starlark.Tuple) (value, error) {
	return &unknown{name: u.within(""), called: true, args: args, named: named, where: here(t)}, nil
}

// Get implements starlark.Mapping: an element.
func (u *unknown) Get(key value) (value, bool, error) {
	return &unknown{name: u.within("[" + short(key) + "]"), where: u.where}, true, nil
}

// within returns the name of something in u.
func (u *unknown) within(what string) string {
	if u.called {
		what = "()" + what
	}
	return display.Head(u.name+what, maxName)
}

// attribute returns what a module or another unknown value contains.
func (e *evaluator) attribute(u *unknown, name, where string) value {
	full := strings.TrimPrefix(u.within("."+name), ".")
	v, ok := e.known[full]
	if full == "sys.platform" && !e.used[full] {
		e.used[full] = true
		e.note("%s: %s is taken as %s; what is for other systems is left out", where, full, v)
	}
	if !ok {
		v = &unknown{name: full, where: where}
	}
	return v
}

// member returns X.NAME, a bounded method if X is a value of Starlark.
func (e *evaluator) member(t *thread, a []value) (value, error) {
	x, name := a[0], string(a[1].(starlark.String))
	switch x := x.(type) {
	case *unknown:
		return e.attribute(x, name, here(t)), nil
	case *starlark.Dict:
		name = strings.TrimPrefix(name, "iter") // iteritems
	}
	if has, ok := x.(starlark.HasAttrs); ok {
		v, err := has.Attr(name)
		if method, ok := v.(*starlark.Builtin); ok {
			return e.bounded(method), nil
		} else if v != nil || err != nil {
			return v, err
		}
	}
	return nil, fmt.Errorf("%s has no %s", x.Type(), name)
}

// keep are functions of Starlark whose result contains what they are given.
var keep = []string{"dict", "enumerate", "len", "list", "reversed", "set", "tuple", "zip"}

// bounded returns a function of Starlark that weighs what it is given and what it returns. Of
// unknown values it makes one.
func (e *evaluator) bounded(f *starlark.Builtin) *starlark.Builtin {
	return starlark.NewBuiltin(f.Name(), func(t *thread, _ *starlark.Builtin, args starlark.Tuple,
		named []starlark.Tuple) (value, error) {
		given := slices.Clone(args)
		for _, n := range named {
			given = append(given, n[1])
		}
		size, found, err := e.weigh(given...)
		switch r := f.Receiver().(type) {
		case nil:
			if slices.Contains(keep, f.Name()) {
				found, _ = append(given, starlark.None)[0].(*unknown)
			}
		case starlark.String: // replace, join and format repeat what they are given
			err = cmp.Or(err, e.product(len(r), int64(size)+1))
		default:
			found = nil
			if s, ok := r.(starlark.Sequence); ok && f.Name() != "append" {
				e.work += s.Len()
			}
		}
		if err != nil || found != nil {
			return found, err
		}
		v, err := starlark.Call(t, f, args, named)
		if err == nil {
			_, _, err = e.weigh(v)
		}
		return v, err
	})
}

// body is what a function of Starlark does with its arguments.
type body func(t *thread, a []value) (value, error)

// function makes a function of Starlark that has from least to most arguments.
func function(name string, least, most int, f body) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(t *thread, _ *starlark.Builtin, args starlark.Tuple,
		named []starlark.Tuple) (value, error) {
		for _, n := range named {
			args = append(args, n[1])
		}
		if len(args) < least || len(args) > most {
			return nil, fmt.Errorf("%s cannot have %d arguments", name, len(args))
		}
		return f(t, args)
	})
}

// standIns makes what a program finds when it begins.
func (e *evaluator) standIns() {
	for name, v := range starlark.Universe {
		if f, ok := v.(*starlark.Builtin); ok {
			v = e.bounded(f)
		}
		e.globals[name] = v
	}
	delete(e.globals, "getattr") // its methods would not be bounded
	e.globals["xrange"] = e.globals["range"]
	for op := syntax.PLUS; op <= syntax.NOT_IN; op++ {
		e.globals[op.String()] = function(op.String(), 2, 2, e.operator(op))
	}
	for name, f := range map[string]body{
		memberName: e.member, assignName: e.set, "__import__": e.importing,
	} {
		e.globals[name] = function(name, 2, 2, f)
	}
	for name, f := range map[string]body{
		weighName: e.weighed, knownName: known, discardName: e.discard, "__if__": e.decide,
	} {
		e.globals[name] = function(name, 1, 1, f)
	}
	e.globals["assert"] = function("assert", 1, 2, assert)
	e.globals["execfile"] = function("execfile", 1, 3, e.execfile)
	e.globals["find_executable"] = e.text("find_executable", same)
	e.globals["globals"] = e.text("globals", same) // an argument of execfile
	e.globals["fatal"], e.globals["__raise__"] = stop("fatal"), stop("raise")
	dir := func(string) string { return e.program.Dir }
	get, node := function("get", 1, 2, e.unset), function("node", 0, 0, e.node)
	e.known = starlark.StringDict{
		"distutils.spawn.find_executable": e.globals["find_executable"],

		"krun.util.fatal": e.globals["fatal"], "sys.exit": stop("sys.exit"),
		"platform.node": node, "socket.gethostname": node, "os.environ.get": get, "os.getenv": get,
		"sys.platform": starlark.String(e.program.Platform),
		"os.sep":       starlark.String("/"), "os.path.sep": starlark.String("/"),
		"os.getcwd": e.text("getcwd", dir), "os.path.join": function("join", 1, maxTokens, e.join),
		"os.path.abspath":    e.text("abspath", func(s string) string { return joined(e.program.Dir, s) }),
		"os.path.basename":   e.text("basename", path.Base),
		"os.path.dirname":    e.text("dirname", path.Dir),
		"os.path.normpath":   e.text("normpath", path.Clean),
		"os.path.expanduser": e.text("expanduser", same), "os.path.realpath": e.text("realpath", same),
	}
	for _, name := range []string{"EntryPoint", "os", "sys", "platform"} {
		e.globals[name] = &unknown{name: name}
	}
	for name := range definitions {
		e.globals[name] = &unknown{name: name}
	}
}

// operator returns X OP Y, or X OP= Y.
func (e *evaluator) operator(op syntax.Token) body {
	return func(t *thread, a []value) (value, error) {
		if list, ok := a[0].(*starlark.List); ok && op == syntax.PLUS_EQ {
			extend, _ := list.Attr("extend")
			_, err := starlark.Call(t, e.bounded(extend.(*starlark.Builtin)), a[1:], nil)
			return list, err
		}
		if op >= syntax.PLUS_EQ && op <= syntax.GTGT_EQ {
			return e.binary(op-syntax.PLUS_EQ+syntax.PLUS, a[0], a[1])
		}
		return e.binary(op, a[0], a[1])
	}
}

func (e *evaluator) weighed(_ *thread, a []value) (value, error) {
	_, _, err := e.weigh(a...)
	return a[0], err
}

// known returns the value of a condition, which must have one.
func known(_ *thread, a []value) (value, error) {
	if u, ok := a[0].(*unknown); ok {
		return nil, fmt.Errorf("%s has no known value", u)
	}
	return a[0], nil
}

// decide takes the value of a condition outside of functions and loops.
func (e *evaluator) decide(t *thread, a []value) (value, error) {
	v, err := known(t, a)
	e.decision = err == nil && bool(v.Truth())
	return starlark.None, err
}

func assert(t *thread, a []value) (value, error) {
	v, err := known(t, a)
	if err == nil && !v.Truth() {
		err = errors.New("the program ends here: its assertion does not hold")
	}
	return starlark.None, err
}

// stop returns a function that ends the program.
func stop(name string) *starlark.Builtin {
	return function(name, 0, maxTokens, func(_ *thread, a []value) (value, error) {
		return nil, fmt.Errorf("the program ends here: %s %s", name, short(append(a, starlark.String(""))[0]))
	})
}

// discard notes calls that are made for their effect.
func (e *evaluator) discard(t *thread, a []value) (value, error) {
	if u, ok := a[0].(*unknown); ok && u.called {
		e.note("%s: %s has no counterpart", here(t), u)
	}
	return starlark.None, nil
}

// set assigns to variables of the program.
func (e *evaluator) set(t *thread, a []value) (value, error) {
	names, values := strings.Fields(string(a[0].(starlark.String))), a[1:]
	if list, ok := a[1].(starlark.Indexable); ok && len(names) > 1 && list.Len() == len(names) {
		values = nil
		for i := range names {
			values = append(values, list.Index(i))
		}
	}
	if len(values) != len(names) {
		return nil, fmt.Errorf("%s is not %d values", a[1].Type(), len(names))
	}
	for i, variable := range names {
		e.globals[variable] = values[i]
		e.assign(variable, here(t))
	}
	return starlark.None, nil
}

// importing returns a module or, of a module, what it contains.
func (e *evaluator) importing(t *thread, a []value) (value, error) {
	module, _ := starlark.AsString(a[0])
	name, _ := starlark.AsString(a[1])
	e.exact = e.exact || module == "__future__" && name == "division"
	return e.attribute(&unknown{name: display.Head(module, maxName)}, name, here(t)), nil
}

func (e *evaluator) execfile(_ *thread, a []value) (value, error) {
	name, ok := starlark.AsString(a[0])
	if !ok {
		return nil, fmt.Errorf("the file is %s", a[0].Type())
	}
	return starlark.None, e.include(name)
}

// unset is what a variable of the environment is.
func (e *evaluator) unset(t *thread, a []value) (value, error) {
	e.note("%s: the environment variable %s is taken as unset", here(t), short(a[0]))
	return append(a, starlark.None)[1], nil
}

func (e *evaluator) node(t *thread, _ []value) (value, error) {
	e.note("%s: the name of the machine is taken as %q; [machines.NAME] is for others", here(t),
		e.program.Host)
	return starlark.String(e.program.Host), nil
}

// text makes a function that makes a text of one, or of none.
func (e *evaluator) text(name string, f func(string) string) *starlark.Builtin {
	return function(name, 0, 1, func(t *thread, a []value) (value, error) {
		v, err := e.join(t, a)
		if s, ok := v.(starlark.String); ok {
			v = starlark.String(f(string(s)))
		}
		return v, err
	})
}

func same(s string) string { return s }

// join is os.path.join.
func (e *evaluator) join(_ *thread, a []value) (value, error) {
	_, found, err := e.weigh(a...)
	if found != nil || err != nil {
		return found, err
	}
	parts := make([]string, len(a))
	for i, v := range a {
		s, ok := starlark.AsString(v)
		if !ok {
			return nil, fmt.Errorf("a path is %s instead of a text", v.Type())
		}
		parts[i] = s
	}
	return starlark.String(joined(parts...)), nil
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
