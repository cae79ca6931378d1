// Package explain names causes of outliers and changepoints when there is evidence: what the VM,
// the kernel and the processor did in the same iterations.
//
// A candidate is a feature of a source of evidence at outliers or at changepoints: an event in the
// iteration, an extraordinary count, an event near a changepoint, the last compilation of a burst,
// a change of a column's level. All candidates of a key are one family. The corrected p of a
// candidate is the share of the comparisons with chance in which any candidate reaches its excess
// (Westfall and Young 1993, single step). Chance is the evidence shifted by up to 100 iterations
// and, from five executions on, that of the other executions. The candidate with the highest score
// becomes a statement, the targets that it hits are set aside, and the others are tested again.
//
// docs/explain.md, "Error control", has the reasons, the papers, and what would break the error
// rate: the probability that a key gets any statement although its evidence has nothing to do with
// its series is at most Alpha. Start reading at [OfKey].
package explain

import (
	"cmp"
	"slices"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/parallel"
	"krund/internal/analysis/warmup"
)

const (
	unexplained = -1
	// mostStatements bounds the statements about a key, listed the candidates that are no
	// statements.
	mostStatements = 12
	listed         = 8
	// A cause of lower rank is named in place of the candidate with the most evidence if it has
	// this share of its hits per expected hit, and this share of its targets are targets of that
	// candidate.
	rivalLift, rivalHits = 0.25, 0.5
	// withHits is the share of a statement's targets from which on another cause is mentioned.
	withHits = 0.5
	// leastTime is the share of the extra time of outliers that lasting events must take.
	leastTime = 1.0 / 3
)

// targets holds, by kind, execution and target, the index of the statement that explains it, or
// unexplained.
type targets map[Target][][]int

// study is a key during its explanation.
type study struct {
	p       Parameters
	runs    []*run
	sources []source
	tests   []*test
	tables  []*table
	chance  chance
	state   targets
	used    []*test // by statement
	out     *Key
}

// Explain explains every key of an experiment, whose analysis is doc. series returns an execution
// with all columns and events, by the indexes of its pair and of itself in doc; it is called by
// several goroutines. So only as many keys as workers are in memory. The number of workers does not
// change the result. The error is the first one of series.
func Explain(info dataset.Info, doc *warmup.Document, p Parameters, workers int,
	series func(pair, execution int) (dataset.Execution, error)) (*Document, error) {
	result := &Document{Format: Format, Source: info, Parameters: p, Keys: make([]Key, len(doc.Pairs)),
		Problems: []string{}}
	errs := make([]error, len(doc.Pairs))
	parallel.Each(len(doc.Pairs), workers, func(i int) {
		a := &doc.Pairs[i]
		pair := dataset.Pair{Key: a.ParsedKey()}
		for e := range a.Executions {
			one, err := series(i, e)
			if err != nil {
				errs[i] = err
				return
			}
			pair.Executions = append(pair.Executions, one)
		}
		result.Keys[i] = OfKey(&pair, a, doc.Parameters.Column, p)
	})
	return result, cmp.Or(errs...)
}

// OfKey explains the executions of a key, whose analysis of the named column is a.
func OfKey(pair *dataset.Pair, a *warmup.Pair, column string, p Parameters) Key {
	k := Key{Key: a.Key, Name: a.ParsedKey(), Instrument: "off", Sources: []string{}, Missing: []string{},
		Statements: []Statement{}, Candidates: []Candidate{}, Executions: []ExecutionFindings{},
		LeftOut: []warmup.LeftOut{}, Warnings: []string{}}
	s := study{p: p, out: &k}
	if len(pair.Executions) == len(a.Executions) {
		for i := range pair.Executions {
			k.Instrument = cmp.Or(pair.Executions[i].Instrument, k.Instrument)
			r, problem := newRun(&pair.Executions[i], &a.Executions[i], column)
			if r == nil {
				k.LeftOut = append(k.LeftOut, warmup.LeftOut{Execution: a.Executions[i].Number,
					Problem: problem})
				continue
			}
			s.runs = append(s.runs, r)
		}
	}
	if len(s.runs) == 0 {
		k.Warnings = append(k.Warnings, "no execution was analyzed")
		return k
	}
	s.prepare()
	for len(k.Statements) < mostStatements && s.next() {
		continue
	}
	s.describe()
	return k
}

// prepare collects the evidence and the candidates.
func (s *study) prepare() {
	s.sources = sourcesOf(s.runs)
	s.tests = testsOf(s.sources, s.runs)
	s.chance = chanceOf(s.runs, s.p)
	s.state = targets{}
	for _, t := range []Target{Outliers, Changepoints} {
		for _, r := range s.runs {
			s.state[t] = append(s.state[t], slices.Repeat([]int{unexplained}, len(r.targets[t])))
		}
	}
	s.tables = make([]*table, len(s.tests))
	s.out.Tested = len(s.tests)
	for i := range s.sources {
		if src := &s.sources[i]; src.name == "" {
			s.out.Sources = append(s.out.Sources, src.label)
		}
	}
}

// scored is a candidate with its evidence.
type scored struct {
	Candidate
	score  float64
	test   *test
	named  bool // established
	bursts bool // not in the very iteration of the outliers
}

// next adds the statement with the most evidence about the targets that are still unexplained. It
// returns false if there is none; the candidates are then final.
func (s *study) next() bool {
	all := s.scoreAll()
	var best *scored
	for i := range all {
		c := &all[i]
		c.named = s.established(c)
		if c.named && (best == nil || c.better(best)) {
			best = c
		}
	}
	if best == nil {
		slices.SortStableFunc(all, func(a, b scored) int {
			return cmp.Or(cmp.Compare(a.Corrected, b.Corrected), cmp.Compare(a.P, b.P),
				cmp.Compare(b.score, a.score))
		})
		for _, c := range all[:min(len(all), listed)] {
			if c.score > 0 {
				s.out.Candidates = append(s.out.Candidates, c.Candidate)
			}
		}
		return false
	}
	best = s.rival(best, all)
	statement := Statement{Candidate: best.Candidate, With: s.with(best, all), SameBursts: best.bursts}
	s.assign(best.test, len(s.out.Statements))
	s.used = append(s.used, best.test)
	s.out.Statements = append(s.out.Statements, statement)
	return true
}

// lift is how many times as frequent hits are as expected.
func (c *scored) lift() float64 { return float64(c.Hits) / c.Expected }

// better: what is in the very iteration before what only comes in the same bursts, causes before
// symptoms, then by evidence.
func (c *scored) better(than *scored) bool {
	if c.bursts != than.bursts {
		return than.bursts
	}
	if c.Cause.Symptom() != than.Cause.Symptom() {
		return than.Cause.Symptom()
	}
	return c.score > than.score
}

// scoreAll tests all candidates together on the targets that are unexplained. In each comparison
// with chance the corrected p of a candidate is the share in which any candidate has at least its
// score (Westfall and Young's single-step maximum).
func (s *study) scoreAll() []scored {
	families := []*family{{share: 1}}
	if s.chance.orders != nil {
		families = []*family{{share: lagAlpha}, {share: exchangeAlpha}}
	}
	var all []scored
	for i, t := range s.tests {
		if s.tables[i] == nil {
			s.tables[i] = newTable(t, s.runs, &s.chance, s.state)
		}
		tab := s.tables[i]
		if tab.targets == 0 || tab.mean == 0 {
			continue
		}
		families[0].add(tab, tab.lags, tab.mean, tab.deviation, s.p)
		if s.chance.orders != nil {
			orders := tab.byOrder(&s.chance)
			mean, deviation := moments(orders)
			families[1].add(tab, orders, mean, deviation, s.p)
		}
		c := scored{test: t, bursts: t.feature == Around, score: tab.score(tab.evidence, tab.mean, s.p)}
		c.Candidate = Candidate{Target: t.target, Cause: t.source.cause, Source: t.source.label,
			Name: t.source.name, Feature: t.feature, Targets: tab.targets, Hits: tab.hits,
			Expected: tab.expected, OddsRatio: tab.odds(float64(tab.hits), tab.expected),
			Explained: (float64(tab.hits) - tab.expected) / float64(tab.targets)}
		all = append(all, c)
	}
	for i := range all {
		c := &all[i]
		c.P = combined(families, func(f *family) float64 { return f.p[i] })
		c.Smallest = combined(families, func(f *family) float64 { return f.least[i] })
		c.Corrected = combined(families,
			func(f *family) float64 { return shareAbove(f.highest, f.excess[i]) })
		if c.Target == Outliers && c.Cause.trait().lasting {
			c.Time = s.timeOf(c.test)
		}
	}
	return all
}

// established reports whether a candidate can be named. A task that took a small part of the extra
// time can be: it displaces what is in the caches, too.
func (s *study) established(c *scored) bool {
	short := c.Time != nil && *c.Time < leastTime
	return c.score > 0 && c.Corrected <= s.p.Alpha && !(short && c.Cause.trait().ofVM()) &&
		(c.bursts || c.Target != Outliers || !s.beside(c.test).inBursts(s.p.Alpha))
}

// rival returns the candidate to name in place of the best one: one whose cause has a lower rank
// and that is as specific for some of the same targets. The others are left for later statements.
func (s *study) rival(best *scored, all []scored) *scored {
	chosen := best
	for i := range all {
		c := &all[i]
		if c.Target != best.Target || !c.named || c.bursts != best.bursts ||
			c.lift() < rivalLift*best.lift() ||
			c.Cause.trait().rank >= best.Cause.trait().rank ||
			s.shared(c.test, best.test) < rivalHits {
			continue
		}
		if c.Cause.trait().rank < chosen.Cause.trait().rank ||
			c.Cause.trait().rank == chosen.Cause.trait().rank && c.score > chosen.score {
			chosen = c
		}
	}
	return chosen
}

// shared is the share of the unexplained targets hit by a that b hits, too.
func (s *study) shared(a, b *test) float64 {
	both, all := 0, 0
	s.eachOpen(a.target, func(e, k int) {
		if a.hit(s.runs, e, k) {
			all++
			if b.hit(s.runs, e, k) {
				both++
			}
		}
	})
	return float64(both) / float64(max(all, 1))
}

// with lists other established evidence of most of the same targets.
func (s *study) with(best *scored, all []scored) []string {
	list := []string{}
	for i := range all {
		c := &all[i]
		if c.Target != best.Target || c.Cause == best.Cause || !c.named ||
			c.bursts != best.bursts || s.shared(best.test, c.test) < withHits {
			continue
		}
		if what := c.Cause.trait().many; !slices.Contains(list, what) {
			list = append(list, what)
		}
	}
	return list
}

// eachOpen calls do for each unexplained target.
func (s *study) eachOpen(t Target, do func(e, k int)) {
	for e, of := range s.state[t] {
		for k, statement := range of {
			if statement == unexplained {
				do(e, k)
			}
		}
	}
}

// assign makes a statement explain the targets that its test hits.
func (s *study) assign(t *test, statement int) {
	s.eachOpen(t.target, func(e, k int) {
		if t.hit(s.runs, e, k) {
			s.state[t.target][e][k] = statement
		}
	})
	for i := range s.tests {
		if s.tests[i].target == t.target {
			s.tables[i] = nil
		}
	}
}

// timeOf is Candidate.Time.
func (s *study) timeOf(t *test) *float64 {
	spent, excess := 0.0, 0.0
	timed := false
	s.eachOpen(t.target, func(e, k int) {
		r, a := s.runs[e], &t.source.runs[e]
		if a.spent == nil || !r.seconds || !t.hit(s.runs, e, k) {
			return
		}
		i := r.targets[t.target][k]
		timed = true
		spent += a.spent[i] / 1e9
		excess += max(0, r.excess(i))
	})
	if !timed || excess == 0 {
		return nil
	}
	share := spent / excess
	return &share
}
