package libkrun

import (
	"cmp"
	"fmt"
)

// tally counts the iterations, or what else, with the same finding and remembers the first.
type tally struct {
	what         string // "" is "iteration"
	n, first, of int
}

func (t *tally) add(i int) {
	if t.n == 0 {
		t.first = i
	}
	t.n++
}

// String lists the iterations, counted from 0.
func (t tally) String() string {
	what := cmp.Or(t.what, "iteration")
	if t.n == 1 {
		return fmt.Sprintf("%s %d", what, t.first)
	}
	return fmt.Sprintf("%d of %d %ss, the first is %d", t.n, t.of, what, t.first)
}

// onCore names a core in a sentence.
func onCore(core int) string {
	if core == NoCore {
		return ""
	}
	return fmt.Sprintf(" on core %d", core)
}
