package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/dataset"
)

// look returns the options with the confidence of this look at the data. An experiment is extended
// because of how it came out, and each of its stages was compared, or could have been, before the
// next one was planned: if each of these looks had the whole error alpha, one of two would have a
// false verdict with a probability of up to 2 alpha (measured: 10 % instead of 5 %). So look k has
// alpha/2^(k-1): two looks together at most 1.5 alpha, any number of them less than 2 alpha.
func (r *Result) look(rows []row, o Options) Options {
	stages, again, changes := 1, 0, r.both()
	for i, row := range rows {
		looks := row.looks(o.Paired)
		if i < len(changes) {
			looks = max(looks, changes[i].looks)
		}
		stages, again = max(stages, looks), again+arith.One(looks > 1)
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
	of := ""
	if again < len(rows) {
		of = fmt.Sprintf(" of %d of %d keys", again, len(rows))
	}
	r.warn("extended", "the executions%s are of %d stages, because an experiment was extended: this is "+
		"look %[2]d at the same question. It holds with a confidence of %.4g %% instead of %.4g %%, so "+
		"that a false verdict at any of the looks has a probability of at most %.3g %%", of, stages,
		percent*o.Confidence, percent*planned, percent*together)
	return o
}

// looks returns of how many stages the executions are that are compared, with blocks those of
// blocks that have both sides.
func (r row) looks(paired bool) int {
	before, after, both := map[int]bool{}, map[int]bool{}, map[int]bool{}
	blocks := map[int]bool{}
	for _, e := range r.before {
		before[e.Stage], blocks[e.Block()] = true, true
	}
	for _, e := range r.after {
		after[e.Stage] = true
		if blocks[e.Block()] {
			both[e.Stage] = true
		}
	}
	if paired {
		return len(both)
	}
	return max(len(before), len(after))
}

// together returns the executions of one experiment that were measured in turns: those of the
// stages that both sides have. If their shares of the executions differ from one stage to another,
// a change of the machine between two would move one side more, and only the stage that says most
// counts. Blocks have the same share on both sides. why says why there is nothing to compare, else
// it is "".
func (c *Change) together(r row, paired bool) (compared row, why string) {
	const fewest, tolerated = 2, 0.1
	n, m := perStage(r.before), perStage(r.after)
	shared, before, after := map[int]bool{}, 0, 0
	all := maps.Clone(n)
	maps.Copy(all, m)
	if len(all) < 2 || len(r.before) == 0 || len(r.after) == 0 {
		return r, ""
	}
	for stage := range all {
		if n[stage] > 0 && m[stage] > 0 {
			shared[stage] = true
			before, after = before+n[stage], after+m[stage]
		}
	}
	c.looks = len(shared)
	best, balanced := -1, true
	says := func(stage int) float64 { // reciprocal of the variance of the effect
		return 1 / (1/float64(n[stage]) + 1/float64(m[stage]))
	}
	for _, stage := range slices.Sorted(maps.Keys(shared)) {
		share := float64(n[stage])/float64(before) - float64(m[stage])/float64(after)
		balanced = balanced && math.Abs(share) <= tolerated
		if best < 0 || says(stage) > says(best) {
			best = stage
		}
	}
	if !balanced && !paired {
		shared = map[int]bool{best: true}
	}
	other := func(e reduced) bool { return !shared[e.Stage] }
	compared = row{slices.DeleteFunc(slices.Clone(r.before), other),
		slices.DeleteFunc(slices.Clone(r.after), other)}
	if min(len(compared.before), len(compared.after)) < fewest {
		return r, fmt.Sprintf("they were measured at different times: the experiment was extended, and "+
			"no part of it has %d executions of each; add at least %[1]d, better 10, of all, which are "+
			"measured in turns: `krunctl run NAME.toml --executions +10`", fewest)
	}
	c.OtherTime = len(r.before) + len(r.after) - len(compared.before) - len(compared.after)
	return compared, ""
}

// perStage returns how many executions are of each stage.
func perStage(list []reduced) map[int]int {
	counts := map[int]int{}
	for _, e := range list {
		counts[e.Stage]++
	}
	return counts
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

// stopped warns of keys that [stop] finished early: their p-values and intervals are those of a
// number of executions that was chosen in advance. The warning of a key states why it was finished,
// which holds whatever the number.
func (r *Result) stopped(before, after Side) {
	n := 0
	early := stoppedKeys(before, after)
	for i := range r.Changes {
		c := &r.Changes[i]
		if s := early[c.Key]; s != nil {
			n++
			c.warn("stopped_early", "it was finished by [stop] after %d executions: %s", s.Executions,
				s.Reason)
		}
	}
	if n == 0 {
		return
	}
	alpha := Percent(1 - r.Confidence)
	r.warn("stopped_early", "%d of %d keys were finished by [stop]. The p-values and intervals are for a "+
		"number of executions chosen in advance, so the probability of any false verdict is at most %s "+
		"plus stop.alpha; in simulations it is below %s (docs/stopping.md). The reason why a key was "+
		"finished holds at any number of executions", n, len(r.Changes), alpha, alpha)
}

// stoppedKeys returns how keys of the sides were finished early, by their names in a comparison; of
// a key of both sides, how the first one was.
func stoppedKeys(sides ...Side) map[string]*dataset.Stopped {
	names := map[string]*dataset.Stopped{}
	for _, s := range slices.Backward(sides) {
		keys := map[string]*dataset.Stopped{}
		for at := range slices.Backward(s.Data.Stopped) {
			for _, k := range s.Data.Stopped[at].Keys {
				keys[k] = &s.Data.Stopped[at]
			}
		}
		for i := range s.Data.Pairs {
			if k, ok := s.name(i); ok && keys[s.Data.Pairs[i].Key.String()] != nil {
				names[k.String()] = keys[s.Data.Pairs[i].Key.String()]
			}
		}
	}
	return names
}
