package compare

import (
	"fmt"

	"krund/internal/analysis/warmup"
)

// look returns the options with the confidence of this look at the data. An experiment is extended
// because of how it came out, and each of its stages was compared, or could have been, before the
// next one was planned: if each of these looks had the whole error alpha, one of two would have a
// false verdict with a probability of up to 2 alpha (measured: 10 % instead of 5 %). So look k has
// alpha/2^(k-1): two looks together at most 1.5 alpha, any number of them less than 2 alpha.
func (r *Result) look(rows []row, o Options) Options {
	stages, apart := 1, 0
	for _, row := range rows {
		both, least := row.stages(o.Paired)
		stages, apart = max(stages, both), apart+number(least == 0)
	}
	warn := func(code, format string, args ...any) {
		r.Warnings = append(r.Warnings, warmup.Warning{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	if apart > 0 {
		warn("stages", "%d of %d keys were added when the experiment was extended, and measured at another "+
			"time than what they are compared with: a change may be that of the machine; more executions of "+
			"all are measured in turns", apart, len(rows))
	}
	if stages == 1 {
		return o
	}
	planned := o.Confidence
	together := 0.0
	alpha := o.alpha()
	for range stages {
		together += alpha
		o.Confidence, alpha = 1-alpha, alpha/2
	}
	r.Confidence = o.Confidence
	const percent = 100
	warn("extended", "the executions are of %d stages, because an experiment was extended: this is "+
		"look %[1]d at the same question. It holds with a confidence of %.4g %% instead of %.4g %%, so "+
		"that a false verdict at any of the looks has a probability of at most %.3g %%", stages,
		percent*o.Confidence, percent*planned, percent*together)
	return o
}

// stages returns how many stages the executions are of that are compared, with blocks those of
// blocks that have both sides; and how many stages both sides have in common, -1 if one has none.
func (r row) stages(paired bool) (compared, common int) {
	before, after := map[int]bool{}, map[int]bool{}
	blocks := map[int]bool{}
	for _, e := range r.before {
		before[e.Stage], blocks[e.Block()] = true, true
	}
	both := map[int]bool{}
	for _, e := range r.after {
		after[e.Stage] = true
		if blocks[e.Block()] {
			both[e.Stage] = true
		}
	}
	common = -number(len(before) == 0 || len(after) == 0)
	for stage := range before {
		common += number(after[stage])
	}
	if paired {
		return len(both), common
	}
	return max(len(before), len(after)), common
}

// More returns how many executions of each key on each side (blocks when paired) are advised, for
// the key that needs most; 0 if none are.
func (r *Result) More() int {
	most := 0
	for _, c := range r.Changes {
		if c.Help != nil && c.Verdict == CannotTell {
			most = max(most, c.Help.Executions)
		}
	}
	return most
}
