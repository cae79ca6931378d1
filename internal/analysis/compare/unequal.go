package compare

import (
	"fmt"
	"math"

	"krund/internal/analysis/warmup"
)

// unequalSpreads returns the standard deviation of after relative to before, if an F test at 10 %
// finds that they differ and few executions were measured; else 0. If they differ, and the values
// are skewed, no test keeps its error with few executions. So a doubt is enough for a remark.
func (e *estimate) unequalSpreads() float64 {
	const level, few = 0.1, 30
	v, w, n, m := e.sides[0], e.sides[1], float64(e.n), float64(e.m)
	if v == 0 || w == 0 || min(e.n, e.m) >= few {
		return 0
	}
	ratio := math.Sqrt(w / v)
	if v > w {
		v, w, n, m = w, v, m, n
	}
	if fTail(w/v, m-1, n-1) >= level/2 {
		return 0
	}
	return ratio
}

// differ reports whether the executions of one side vary more than those of the other over all
// keys.
func (f family) differ() bool {
	list := make([]estimate, len(f.rows))
	for i := range f.rows {
		list[i] = f.rows[i].steady
	}
	return differ(list)
}

// spreads puts a remark beside the changes that an unequal spread of the sides may have made.
func (r *Result) spreads(f family, o Options) {
	if f.differ() {
		r.Warnings = append(r.Warnings, warmup.Warning{Code: "unequal_spread", Text: fmt.Sprintf(
			"unequal spread: over all keys, the executions of one side vary more than those of the "+
				"other; with few of them, and if they are skewed, a false verdict is more probable than "+
				"%s; measure "+
				"both sides in blocks",
			Percent(o.alpha()),
		)})
	}
	for i, c := range r.both() {
		d := &f.rows[i]
		if v := d.change(0, o); v != Better && v != Worse {
			continue
		}
		times, more, less := d.steady.unequalSpreads(), "after", "before"
		if times == 0 {
			continue
		}
		if times < 1 {
			times, more, less = 1/times, less, more
		}
		c.Warnings = append(c.Warnings, warmup.Warning{Code: "unequal_spread", Text: fmt.Sprintf(
			"unequal spread: the executions %s vary %.2g times as much as those %s; with few of them, "+
				"and if they are skewed, a false verdict is more probable than %s; measure both sides "+
				"in blocks",
			more,
			times,
			less,
			Percent(o.alpha()),
		)})
	}
}
