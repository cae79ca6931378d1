package compare

import (
	"fmt"
	"slices"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
)

// layout fills in the share of the layout in the noise of each key, and warns of verdicts from one
// layout and of arms that are alike.
func (r *Result) layout(before, after Side, o Options) {
	sides := []Side{before, after}
	if before.Data == after.Data {
		sides = sides[:1]
	}
	for _, s := range sides {
		if s.Data.Layout == dataset.LayoutFixed {
			r.Warnings = append(r.Warnings, warmup.Warning{Code: "one_layout", Text: fmt.Sprintf(
				"all executions of %s had the same layout in memory: a change may hold for that layout "+
					"only; measure with experiment.layout = \"random\", or aslr = 2", s.Data.Source)})
		}
	}
	if armsSay(before, after, func(arm dataset.Arm) []string { return arm.Twins }) {
		r.Warnings = append(r.Warnings, warmup.Warning{Code: "same_arms", Text: fmt.Sprintf(
			"the files and settings of the arms %s and %s are the same, at least for some keys: a change "+
				"there is noise", before.Arm, after.Arm)})
	}
	if !o.Paired || before.Data.Layout != dataset.LayoutRandom {
		return
	}
	other := after // a copy of the same program is affected by a layout in the same way
	if o.Null != nil {
		other = *o.Null
	}
	keys := other.Keys()
	for i := range before.Data.Pairs {
		k, ok := before.name(i)
		j, both := keys[k]
		if !ok || !both {
			continue
		}
		at := slices.IndexFunc(r.Changes, func(c Change) bool { return c.Key == k.String() })
		if s, ok := layoutShares(blocks(before.reduced(i, o), other.reduced(j, o))); ok && at >= 0 {
			r.Changes[at].Layout = &s
		}
	}
}

// blocks returns the positive values of the executions with the same number, in the order of their
// numbers.
func blocks(a, b []reduced) [][]float64 {
	var list [][]float64
	for i := range a {
		j := slices.IndexFunc(b, func(e reduced) bool { return e.Block() == a[i].Block() })
		if j >= 0 && a[i].Value > 0 && b[j].Value > 0 {
			list = append(list, []float64{a[i].Value, b[j].Value})
		}
	}
	return list
}
