package execution

import (
	"slices"
	"strings"

	"krund/internal/execution/child"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
)

// Layout is how the addresses of a process are chosen. The addresses of environment and stack move
// caches' conflicts and alignment, and thereby results (Mytkowicz et al., ASPLOS 2009).
type Layout struct {
	Mode string // config.LayoutOff, LayoutFixed or LayoutRandom
	// bytes by which environment and stack begin lower than with LayoutFixed, a multiple of 16
	Offset int

	LinkSeed uint32          // for Relink; 0 with LayoutFixed
	Relinked *results.Relink // what Executor.Relink did; nil: nothing
}

// layoutName is the variable that pads the environment. Benchmarks ignore it.
const layoutName = "KRUN_LAYOUT"

const (
	// padTo is a multiple of the bytes that arguments and environment take, so that they take the
	// same in every execution.
	padTo = 16 << 10
	// stackAlign is the alignment of the stack at the start of a process (System V ABI, AMD64
	// supplement 3.4.1).
	stackAlign = 16
)

// apply pads the environment of c so that the stack begins at an address that only the layout
// determines, and not the length of paths or the number of arguments.
func (l Layout) apply(c *child.Command) {
	if !l.set() {
		return
	}
	const pointer = 8
	c.FixedAddresses = true
	c.Env = append(c.Env, layoutName+"=")
	texts := len(c.Path) + 1 + child.EnvBytes(c.Args) + child.EnvBytes(c.Env)
	pointers := up(pointer*(len(c.Args)+len(c.Env)), stackAlign)
	c.Env[len(c.Env)-1] += strings.Repeat("x", up(texts+pointers, padTo)-texts-pointers+l.Offset)
}

// set reports whether krund determines the layout.
func (l Layout) set() bool { return l.Mode == config.LayoutFixed || l.Mode == config.LayoutRandom }

// up rounds n up to a multiple.
func up(n, multiple int) int { return (n + multiple - 1) / multiple * multiple }

// record returns the layout of c in the form of a record, and its environment without the padding;
// nil if krund does not determine the layout.
func (l Layout) record(c child.Command) (*results.Layout, []string) {
	if !l.set() {
		return nil, c.Env
	}
	env := slices.Clone(c.Env)
	last := len(env) - 1
	padding := len(env[last]) - len(layoutName+"=")
	env[last] = layoutName + "="
	return &results.Layout{Mode: l.Mode, PaddingBytes: padding, OffsetBytes: l.Offset,
		Relink: l.Relinked}, env
}
