package sequential

import (
	"fmt"
	"math"

	"krund/internal/experiment/stop"
)

// Changed reports why the machine is not the one at which keys were finished; "" if nothing shows
// that. kept are keys that are measured to the end (stop.keep). Each of them whose level [stop]
// would have known by now must still be within the interval that it had then; of levels that do not
// change, at most Alpha leave it. Two, and a fifth of them, are a change.
func (p Policy) Changed(kept []Group) string {
	if !p.asks(stop.HalfWidth) {
		return "" // differences within blocks do not contain the machine, classes have no level
	}
	const fewest, share = 2, 0.2
	watched, gone := 0, 0
	for _, g := range kept {
		for _, k := range g {
			n := p.knownAfter(k)
			if n == len(k.Executions) {
				continue
			}
			watched++
			now, _ := levelOf(k)
			k.Executions = k.Executions[:n]
			then, _ := levelOf(k)
			if math.Abs(now.Mean-then.Mean) > then.Half(p.Alpha) {
				gone++
			}
		}
	}
	if gone < fewest || float64(gone) <= share*float64(watched) {
		return ""
	}
	return fmt.Sprintf("the machine has changed: of %d kept keys whose level was known, %d have left its "+
		"interval", watched, gone)
}

// knownAfter returns the number of executions after which the level of a key was known as well as
// wanted: all, if it never was.
func (p Policy) knownAfter(k Key) int {
	all := k.Executions
	for n := p.Minimum; n < len(all); n++ {
		k.Executions = all[:n]
		if p.halfWidth(k).Answered {
			return n
		}
	}
	return len(all)
}
