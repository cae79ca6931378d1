package krunconfig

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"krund/internal/display"
)

// unknown is a value that only the machine or Krun knows: a module, what it contains, a call of it,
// or what was computed from that. Calls of Krun's classes are such values, too.
type unknown struct {
	evaluator *evaluator
	name      string // such as os.environ, or os.environ["HOME"]
	called    bool
	args      starlark.Tuple
	named     []starlark.Tuple
	where     string // the line that made it
}

// text returns it for messages.
func (u *unknown) text() string {
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
	case starlark.Int:
		return v.String()
	case *unknown:
		return v.text()
	case starlark.String:
		return fmt.Sprintf("%q", display.Head(string(v), maxName))
	}
	return "..."
}

func (u *unknown) err() error { return fmt.Errorf("%s has no known value", u.text()) }

// String implements starlark.Value. A program that makes a text of it fails.
func (u *unknown) String() string {
	u.evaluator.thread.Cancel(u.err().Error())
	return u.text()
}

// Truth implements starlark.Value. A program whose condition it is fails.
func (u *unknown) Truth() starlark.Bool { return u.String() == "" }

// Type implements starlark.Value.
func (u *unknown) Type() string { return u.text() }

// Freeze implements starlark.Value.
func (u *unknown) Freeze() {}

// Hash implements starlark.Value.
func (u *unknown) Hash() (uint32, error) { return 0, u.err() }

// Name implements starlark.Callable.
func (u *unknown) Name() string { return u.name }

// CallInternal implements starlark.Callable.
func (u *unknown) CallInternal(_ *starlark.Thread, args starlark.Tuple,
	named []starlark.Tuple) (value, error) {
	return &unknown{evaluator: u.evaluator, name: u.within(""), called: true, args: args, named: named,
		where: u.evaluator.here()}, nil
}

// Get implements starlark.Mapping: an element.
func (u *unknown) Get(key value) (value, bool, error) {
	return &unknown{evaluator: u.evaluator, name: u.within("[" + short(key) + "]"), where: u.where}, true, nil
}

// Binary implements starlark.HasBinary.
func (u *unknown) Binary(syntax.Token, value, starlark.Side) (value, error) { return u, nil }

// AttrNames implements starlark.HasAttrs.
func (u *unknown) AttrNames() []string { return nil }

// Attr implements starlark.HasAttrs: what a module or another unknown value contains.
func (u *unknown) Attr(name string) (value, error) {
	return u.evaluator.find(u.within("." + name)), nil
}

// within returns the name of something in u.
func (u *unknown) within(what string) string {
	if u.called {
		what = "()" + what
	}
	return display.Head(u.name+what, maxName)
}

// find returns a module, or what one contains.
func (e *evaluator) find(full string) value {
	v, ok := e.known[full]
	if full == "sys.platform" && !e.used[full] {
		e.used[full] = true
		e.note("%s: %s is taken as %s; what is for other systems is left out", e.here(), full, v)
	}
	if !ok {
		v = &unknown{evaluator: e, name: full, where: e.here()}
	}
	return v
}

// inside returns an unknown value that v is or contains, nil if there is none.
func inside(v value, depth int) *unknown {
	switch v := v.(type) {
	case *unknown:
		return v
	case starlark.String:
	case *starlark.Dict:
		return inside(starlark.Tuple(slices.Concat(v.Items()...)), depth)
	case starlark.Iterable:
		for element := range starlark.Elements(v) {
			if u := inside(element, depth-1); u != nil || depth == 0 {
				return u
			}
		}
	}
	return nil
}

const nested = 5 // how deep unknown values are searched

// operand is one of / or %, as Python 2 computes them.
type operand struct {
	value
	exact bool
}

// Binary implements starlark.HasBinary.
func (o operand) Binary(op syntax.Token, y value, side starlark.Side) (value, error) {
	x := o.value
	if side == starlark.Right {
		x, y = y, x
	}
	if u := cmp.Or(inside(x, nested), inside(y, nested)); u != nil {
		return u, nil
	}
	_, isInt := x.(starlark.Int)
	_, alsoInt := y.(starlark.Int)
	if op == syntax.SLASH && isInt && alsoInt && !o.exact {
		op = syntax.SLASHSLASH
	}
	return starlark.Binary(op, x, y)
}

func isKnown(v value) (value, error) {
	if u := inside(v, nested); u != nil {
		return nil, u.err()
	}
	return v, nil
}
