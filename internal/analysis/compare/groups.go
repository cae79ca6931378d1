package compare

// This file makes the two sides of [Of] from the keys of one experiment, or of several together,
// that differ in one factor: before has the key of the base, as often as it is compared, and after
// the others. So one table with one error rate decides about all of them. Start at [OfGroups].

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
)

// Groups is how the keys of a table differ.
type Groups struct {
	By     Factor   `json:"by"`
	Base   string   `json:"base"`
	Levels []string `json:"levels"` // that are compared with the base
	Rows   []string `json:"rows"`   // what the levels have in common, such as benchmarks
	// Chosen says what was chosen because it was not asked for; "" if everything was.
	Chosen string `json:"chosen"`

	of            []Side
	members       []member
	null          string // level of the null arm; "" without one
	before, after Side
	copied        *Side
	paired        bool
	rows          []matched
}

// fewestRounds from which the rounds of an experiment are taken as blocks. With fewer, the degrees
// of freedom that blocks cost are worth more than what they cancel.
const fewestRounds = 5

// matched is a row of the table: two keys that are compared. One may be missing (nil).
type matched struct {
	before, after *member
	level         string
	key           key.Key // under which they are compared
}

// Sides returns what is compared, for statements about both sides beside the result.
func (g *Groups) Sides() (before, after Side) { return g.before, g.after }

// Two reports whether the table is about one change of the same keys, like that of two experiments.
func (g *Groups) Two() bool {
	return len(g.Levels) == 1 && (g.By == ByArm || g.By == ByRestart || g.By == ByKey)
}

// OfGroups compares groups: see [Of].
func OfGroups(g *Groups, o Options) (*Result, error) {
	o.Paired, o.Null, o.together = g.paired, g.copied, len(g.of) == 1 && g.By != ByMachine
	r, err := Of(g.before, g.after, o)
	if err != nil {
		return nil, err
	}
	r.Groups = g
	if len(g.of) == 1 {
		r.places(g, o)
	}
	if g.By == ByRestart {
		for _, s := range g.of {
			r.Restarts = append(r.Restarts, spreads(s)...)
		}
	}
	if len(g.Levels) == 1 && (g.By == ByArm || !g.By.inKey()) {
		r.Before.Arm, r.After.Arm = g.Base, g.Levels[0]
	}
	names := map[string]*matched{}
	for i := range g.rows {
		names[g.rows[i].key.String()] = &g.rows[i]
	}
	titles := g.titles()
	for i := range r.Changes {
		c := &r.Changes[i]
		m := names[c.Key]
		c.Level, c.Row = m.level, titles[m.one().key()]
		if !slices.Contains(g.Rows, c.Row) {
			g.Rows = append(g.Rows, c.Row)
		}
		if m.before != nil {
			c.Base = m.before.key().String()
		}
		switch c.OnlyIn {
		case "before":
			c.Reason = fmt.Sprintf("%s has nothing to compare with %s", m.level, c.Base)
		case "after":
			c.Reason = fmt.Sprintf("%s has nothing to compare with it", g.Base)
		}
	}
	return r, r.see(g, o)
}

// see adds whether slowdowns that are known were found: those of arms that are not compared
// otherwise.
func (r *Result) see(g *Groups, o Options) error {
	o.Splits = 0
	for _, a := range g.of[0].Data.Arms {
		if a.Inject == 0 || g.By != ByArm || len(g.of) > 1 || g.Base != g.of[0].Data.Arms[0].Name ||
			slices.Contains(g.Levels, a.Name) {
			continue
		}
		own, err := Choice{By: ByArm, Base: g.Base, Only: []string{a.Name}}.Groups(g.of...)
		if _, none := errors.AsType[*NoGroupsError](err); none {
			continue // none of its executions was completed
		}
		var found *Result
		if err == nil {
			found, err = OfGroups(own, o)
		}
		if err != nil {
			return err
		}
		r.Seen = append(r.Seen, Seen{Arm: a.Name, Size: a.Inject, Found: found.Counts[Worse],
			Of: len(found.both())})
	}
	return nil
}

// one is a member that there is.
func (m *matched) one() *member {
	if m.after != nil {
		return m.after
	}
	return m.before
}

// sides makes the two sides.
func (g *Groups) sides() error {
	g.match()
	pairs := 0
	for _, m := range g.rows {
		pairs += arith.One(m.before != nil && m.after != nil)
	}
	if pairs == 0 {
		return noGroups("no key of %s has a counterpart of %s: two keys are compared if they differ in the "+
			"%s alone", g.Base, strings.Join(g.Levels, ", "), g.By.Noun(1))
	}
	g.paired = g.blocks()
	if g.By == ByArm && len(g.Levels) == 1 && len(g.of) == 1 {
		side := func(arm string) Side { return Side{Doc: g.of[0].Doc, Data: g.of[0].Data, Arm: arm} }
		g.before, g.after = side(g.Base), side(g.Levels[0])
		if g.null != "" {
			null := side(g.null)
			g.copied = &null
		}
		return nil
	}
	g.before = g.side(func(m *matched) *member { return m.before })
	g.after = g.side(func(m *matched) *member { return m.after })
	if g.null != "" {
		null := g.side(func(m *matched) *member {
			if m.before == nil {
				return nil
			}
			return g.find(m.before.key(), g.null)
		})
		g.copied = &null
	}
	return nil
}

// find returns the member with which a key is compared: that whose key differs only in the factor.
// A variant may belong to its VM ("default-c"): if the other VM does not have it, and has only one
// of the benchmark, that one is meant.
func (g *Groups) find(k key.Key, level string) *member {
	want := k
	if g.By.inKey() {
		want = g.By.with(k, level)
	}
	var near []*member
	for i := range g.members {
		m := &g.members[i]
		switch {
		case m.level != level:
		case m.key() == want, g.By == ByKey:
			return m
		case g.By == ByVM && m.key().Benchmark == k.Benchmark && m.key().Arm == k.Arm:
			near = append(near, m)
		}
	}
	if len(near) == 1 {
		return near[0]
	}
	return nil
}

// match finds the rows: for each level, every key of it and the one of the base; then the keys of
// the base that the level lacks.
func (g *Groups) match() {
	for _, level := range g.Levels {
		found := map[key.Key]bool{}
		for i := range g.members {
			m := &g.members[i]
			if m.level != level {
				continue
			}
			r := matched{after: m, before: g.find(m.key(), g.Base), level: level, key: m.key()}
			if r.before != nil {
				found[r.before.key()] = true
			}
			g.rows = append(g.rows, r)
		}
		for i := range g.members {
			if m := &g.members[i]; m.level == g.Base && !found[m.key()] {
				g.rows = append(g.rows, matched{before: m, level: level, key: g.By.with(m.key(), level)})
			}
		}
	}
	for i := range g.rows {
		switch k := &g.rows[i].key; {
		case g.By == ByArm && len(g.Levels) == 1:
			k.Arm = ""
		case !g.By.inKey() && len(g.Levels) > 1:
			k.Arm = strings.TrimPrefix(k.Arm+"+"+g.rows[i].level, "+")
		}
	}
}

// blocks reports whether the executions of the rows with the same number are a block.
func (g *Groups) blocks() bool {
	data := g.of[0].Data
	if len(g.of) > 1 || !g.By.inKey() {
		return false
	}
	return data.Blocked || data.Rounds && slices.ContainsFunc(g.rows, func(m matched) bool {
		if m.before == nil || m.after == nil {
			return false
		}
		have, n := map[int]bool{}, 0
		for _, e := range m.before.pair.Executions {
			if e.Outcome == results.Completed {
				have[e.Block()] = true
			}
		}
		for _, e := range m.after.pair.Executions {
			n += arith.One(e.Outcome == results.Completed && have[e.Block()])
		}
		return n >= fewestRounds
	})
}

// side makes one side of the members of all rows, under the names of the rows.
func (g *Groups) side(of func(*matched) *member) Side {
	s := Side{Doc: &warmup.Document{}, Data: &dataset.Dataset{}}
	*s.Doc, s.Data.Info = *g.of[0].Doc, g.of[0].Data.Info
	s.Doc.Pairs, s.Data.Stopped = nil, nil
	var names, machines []string
	stopped := map[string][]string{}
	for i := range g.rows {
		m := of(&g.rows[i])
		if m == nil {
			continue
		}
		k, from := g.rows[i].key, g.of[m.side]
		pair, doc := m.pair, m.doc
		stopped[pair.Key.String()] = append(stopped[pair.Key.String()], k.String())
		pair.Key, doc.Key, doc.Benchmark, doc.VM, doc.Variant, doc.Arm = k, k.String(), k.Benchmark, k.VM,
			k.Variant, k.Arm
		s.Data.Pairs, s.Doc.Pairs = append(s.Data.Pairs, pair), append(s.Doc.Pairs, doc)
		if !slices.Contains(names, from.Doc.Source.Name) {
			names, machines = append(names, from.Doc.Source.Name), append(machines, from.Data.Machine)
		}
		if from.Data.Layout != s.Data.Layout {
			s.Data.Layout = ""
		}
	}
	for _, from := range g.of {
		for _, early := range from.Data.Stopped {
			var keys []string
			for _, k := range early.Keys {
				keys = append(keys, stopped[k]...)
			}
			early.Keys = keys
			s.Data.Stopped = append(s.Data.Stopped, early)
		}
	}
	s.Doc.Source.Name = strings.Join(names, ", ")
	slices.Sort(machines)
	s.Doc.Source.Machine = strings.Join(slices.Compact(machines), ", ")
	if g.By == ByMachine {
		s.Doc.Source.Machine = ""
	}
	return s
}

// titles names the rows: what their keys have beside the factor, without what all have. The variant
// is left out where a VM has only one.
func (g *Groups) titles() map[key.Key]string {
	variants := map[key.Key]int{}
	of := func(k key.Key) key.Key { k.Variant = ""; return k }
	for _, m := range g.members {
		variants[of(m.key())]++
	}
	several := map[string]bool{} // benchmarks of which a VM has several variants
	for k, n := range variants {
		several[k.Benchmark] = several[k.Benchmark] || n > 1
	}
	parts := map[key.Key][]string{}
	differ := make([]bool, 4)
	var first []string
	for i := range g.rows {
		k := g.rows[i].one().key()
		rest := g.By.with(k, "")
		if g.By == ByVM && !several[k.Benchmark] {
			rest.Variant = ""
		}
		list := []string{rest.Benchmark, rest.VM, rest.Variant, rest.Arm}
		if g.By == ByKey {
			list = []string{k.String(), "", "", ""}
		}
		if first == nil {
			first = list
		}
		for p := range list {
			differ[p] = differ[p] || list[p] != first[p]
		}
		parts[k] = list
	}
	if !slices.Contains(differ, true) {
		differ[0], differ[1] = true, first[0] == ""
	}
	titles := map[key.Key]string{}
	for k, list := range parts {
		var words []string
		for p, word := range list {
			if differ[p] && word != "" {
				words = append(words, word)
			}
		}
		titles[k] = strings.Join(words, ":")
	}
	return titles
}

// FailOn says which verdicts are a failure unless something else was asked: a key that got worse,
// of kinds of restart any change, and nothing ("") of what only differs, such as VMs.
func (r *Result) FailOn() string {
	switch {
	case r.Groups == nil || r.Groups.By == ByArm:
		return "worse"
	case r.Groups.By == ByRestart:
		return "changed"
	}
	return ""
}
