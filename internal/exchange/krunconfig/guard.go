package krunconfig

import (
	"fmt"
	"iter"
	"math"
	"reflect"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Bounds of the evaluation. One instruction of Starlark can take any time and memory, so each
// operation whose result can be larger than what was written is a call of a function that weighs
// what it takes and makes.
const (
	maxSteps = 1 << 18
	maxWork  = 1 << 24 // bytes that all operations read and make, about
	maxBits  = 4096    // of an integer
	maxCalls = 200     // functions in one another

	weight = 16 // of a value in bytes, without its contents
)

// Names that no program can write, of the functions that replace operations. That of an operator is
// the operator.
const (
	memberName  = "."
	assignName  = "="
	weighName   = "weigh "
	knownName   = "known "
	discardName = "discard "
	itemName    = "item " // a variable: the element of a loop
)

// guard replaces the operations below a node of a syntax tree by calls. Within a function (local)
// assignments stay as they are; elsewhere they go to the variables of the program.
func guard(node any, local bool) {
	_, isFunction := node.(*syntax.DefStmt)
	v := reflect.ValueOf(node).Elem()
	for i := range v.NumField() {
		guardField(v.Type().Field(i).Name, v.Field(i), local || isFunction)
	}
}

func guardField(name string, field reflect.Value, local bool) {
	if field.Kind() == reflect.Slice {
		for i := range field.Len() {
			guardField(name, field.Index(i), local)
		}
	}
	if field.Kind() != reflect.Interface {
		return
	}
	switch n := field.Interface().(type) {
	case syntax.Expr:
		switch name {
		case "Params", "LHS", "Vars":
			target(n, local)
			return
		case "Cond":
			n = call(knownName, syntax.Start(n), operation(n, local))
		default:
			n = operation(n, local)
		}
		field.Set(reflect.ValueOf(n))
	case *syntax.AssignStmt:
		guard(n, local)
		field.Set(reflect.ValueOf(assignment(n, local)))
	case *syntax.ExprStmt:
		n.X = call(discardName, syntax.Start(n.X), operation(n.X, local))
	case *syntax.ForStmt:
		if !local { // a variable of the program
			first := &syntax.AssignStmt{OpPos: n.For, Op: syntax.EQ, LHS: n.Vars, RHS: ident(itemName, n.For)}
			n.Vars, n.Body = ident(itemName, n.For), append([]syntax.Stmt{first}, n.Body...)
		}
		guard(n, local)
	case syntax.Node:
		guard(n, local)
	}
}

// target guards what is assigned to, and what parameters are without arguments.
func target(x syntax.Expr, local bool) {
	switch x := x.(type) {
	case *syntax.BinaryExpr:
		x.Y = operation(x.Y, local)
	case *syntax.IndexExpr:
		guard(x, local)
		x.Y = call(weighName, x.Lbrack, x.Y)
	case *syntax.DotExpr:
		guard(x, local)
	case *syntax.ParenExpr:
		target(x.X, local)
	case *syntax.TupleExpr:
		for _, e := range x.List {
			target(e, local)
		}
	case *syntax.ListExpr:
		for _, e := range x.List {
			target(e, local)
		}
	}
}

// assignment returns an assignment without an operator, and of variables of the program as a call.
func assignment(a *syntax.AssignStmt, local bool) syntax.Stmt {
	variables := assigned(a.LHS)
	if a.Op != syntax.EQ {
		before := a.LHS
		if variables != "" { // a node is in one place of a tree
			before = ident(variables, a.OpPos)
		}
		a.RHS, a.Op = call(a.Op.String(), a.OpPos, before, a.RHS), syntax.EQ
	}
	if local || variables == "" {
		return a
	}
	return &syntax.ExprStmt{X: call(assignName, a.OpPos, literal(variables, a.OpPos), a.RHS)}
}

// assigned returns the variables that are assigned to, separated by spaces, "" if there are others.
func assigned(x syntax.Expr) string {
	var list []syntax.Expr
	switch x := x.(type) {
	case *syntax.Ident:
		return x.Name
	case *syntax.TupleExpr:
		list = x.List
	}
	var all []string
	for _, e := range list {
		variable, ok := e.(*syntax.Ident)
		if !ok {
			return ""
		}
		all = append(all, variable.Name)
	}
	return strings.Join(all, " ")
}

// operation returns the call that replaces an expression, or the expression.
func operation(x syntax.Expr, local bool) syntax.Expr {
	guard(x, local)
	switch x := x.(type) {
	case *syntax.BinaryExpr:
		switch x.Op {
		case syntax.EQ: // a named argument
		case syntax.AND, syntax.OR:
			x.X = call(knownName, x.OpPos, x.X)
		default:
			return call(x.Op.String(), x.OpPos, x.X, x.Y)
		}
	case *syntax.UnaryExpr:
		switch x.Op {
		case syntax.NOT:
			x.X = call(knownName, x.OpPos, x.X)
		case syntax.STAR, syntax.STARSTAR:
			x.X = call(weighName, x.OpPos, x.X)
		}
	case *syntax.DotExpr:
		return call(memberName, x.Dot, x.X, literal(x.Name.Name, x.NamePos))
	case *syntax.IndexExpr:
		x.Y = call(weighName, x.Lbrack, x.Y)
	case *syntax.SliceExpr:
		return call(weighName, x.Lbrack, x)
	case *syntax.DictEntry:
		x.Key = call(weighName, x.Colon, x.Key)
	}
	return x
}

func call(function string, at syntax.Position, args ...syntax.Expr) syntax.Expr {
	return &syntax.CallExpr{Fn: ident(function, at), Lparen: at, Args: args, Rparen: at}
}

func ident(name string, at syntax.Position) *syntax.Ident {
	return &syntax.Ident{NamePos: at, Name: name}
}

func literal(s string, at syntax.Position) *syntax.Literal {
	return &syntax.Literal{Token: syntax.STRING, TokenPos: at, Raw: s, Value: s}
}

// bound is the error of a program that is not evaluated to its end.
type bound string

func (b bound) Error() string { return string(b) }

// scale weighs values.
type scale struct {
	work  int
	exact bool // integers are divided as from __future__
}

// weigh returns about how many bytes the values have, each counted as often as it is reached, and
// one of the unknown values among them.
func (s *scale) weigh(values ...starlark.Value) (size int, found *unknown, err error) {
	before := s.work
	for i := 0; i < len(values) && err == nil; i++ {
		err = s.add(values[i], 0, &found)
	}
	return s.work - before, found, err
}

func (s *scale) add(v starlark.Value, depth int, found **unknown) error {
	s.work += weight
	var elements iter.Seq[starlark.Value]
	switch v := v.(type) {
	case starlark.String:
		s.work += len(v)
	case starlark.Int:
		if _, small := v.Int64(); !small && v.BigInt().BitLen() > maxBits {
			return bound(fmt.Sprintf("a number has more than %d bits", maxBits))
		}
	case *unknown:
		*found = v
	case *starlark.Dict:
		elements = func(yield func(starlark.Value) bool) {
			for key, value := range v.Entries() {
				if !yield(key) || !yield(value) {
					return
				}
			}
		}
	case starlark.Tuple:
		elements = v.Elements()
	case *starlark.List:
		elements = v.Elements()
	case *starlark.Set:
		elements = v.Elements()
	case starlark.Sequence: // of small elements, such as a range
		s.work += min(v.Len(), maxWork) * weight
	}
	switch {
	case s.work > maxWork:
		return bound(fmt.Sprintf("it makes and reads more than %d MiB of texts and lists", maxWork>>20))
	case depth > maxDepth:
		return bound(fmt.Sprintf("values are nested deeper than %d, or one contains itself", maxDepth))
	case elements == nil:
		return nil
	}
	for element := range elements {
		if err := s.add(element, depth+1, found); err != nil {
			return err
		}
	}
	return nil
}

// product refuses a result of a times b bytes; b is above 0.
func (s *scale) product(a int, b int64) error {
	if int64(a) > maxWork/b {
		return bound(fmt.Sprintf("a value has more than %d MiB", maxWork>>20))
	}
	return nil
}

// binary computes X OP Y as Python 2 does. An unknown operand makes the result unknown.
func (s *scale) binary(op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	for _, v := range []starlark.Value{x, y} {
		if u, ok := v.(*unknown); ok {
			return u, nil
		}
	}
	xSize, _, err := s.weigh(x)
	if err != nil {
		return nil, err
	}
	ySize, inside, err := s.weigh(y)
	if err != nil {
		return nil, err
	}
	xInt, isInt := x.(starlark.Int)
	yInt, alsoInt := y.(starlark.Int)
	_, xNumber := starlark.AsFloat(x)
	_, yNumber := starlark.AsFloat(y)
	_, format := x.(starlark.String)
	switch {
	case op >= syntax.LT && op <= syntax.NEQ:
		is, err := starlark.Compare(op, x, y)
		return starlark.Bool(is), err
	case op == syntax.SLASH && isInt && alsoInt && !s.exact:
		op = syntax.SLASHSLASH
	case op == syntax.PERCENT && format:
		if inside != nil {
			return inside, nil
		}
		err = s.product(xSize, int64(ySize))
	case op == syntax.STAR && isInt && !yNumber: // N times a text or list
		err = s.product(ySize, times(xInt))
	case op == syntax.STAR && alsoInt && !xNumber:
		err = s.product(xSize, times(yInt))
	}
	if err != nil {
		return nil, err
	}
	z, err := starlark.Binary(op, x, y)
	if err == nil {
		_, _, err = s.weigh(z)
	}
	return z, err
}

// times returns a number of repetitions, at least 1.
func times(n starlark.Int) int64 {
	if i, small := n.Int64(); small {
		return max(i, 1)
	}
	return math.MaxInt64
}
