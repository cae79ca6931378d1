package libkrun

import "fmt"

// tally counts the iterations with the same finding and remembers the first.
type tally struct {
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
	if t.n == 1 {
		return fmt.Sprintf("iteration %d", t.first)
	}
	return fmt.Sprintf("%d of %d iterations, the first is %d", t.n, t.of, t.first)
}

// onCore names a core in a sentence.
func onCore(core int) string {
	if core == NoCore {
		return ""
	}
	return fmt.Sprintf(" on core %d", core)
}
