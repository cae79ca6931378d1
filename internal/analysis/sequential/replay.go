package sequential

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/compare"
	"krund/internal/experiment/stop"
)

// Replayable is a policy that ReplayOf applies to recorded experiments.
type Replayable struct {
	Name  string
	Rules []stop.Rule // that are asked; none: the minimum is enough, whatever was measured
}

// ParseReplayable returns the policy of a name: rules that are joined with +, or "minimum".
func ParseReplayable(name string) (Replayable, error) {
	const minimum = "minimum"
	r := Replayable{Name: name}
	if name == minimum {
		return r, nil
	}
	for part := range strings.SplitSeq(name, "+") {
		rule := stop.Rule(part)
		if !slices.Contains(stop.Rules, rule) {
			return Replayable{}, fmt.Errorf("unknown policy %q; write halfwidth, verdict, class, similar or "+
				"%s, or rules joined with +", part, minimum)
		}
		r.Rules = append(r.Rules, rule)
	}
	return r, nil
}

// AsksHalfWidth reports whether the half width affects the policy.
func (r Replayable) AsksHalfWidth() bool { return slices.Contains(r.Rules, stop.HalfWidth) }

// Simulation is the replay of policies over recorded experiments.
type Simulation struct {
	Format    int        `json:"format"` // 1
	Sources   []string   `json:"sources"`
	Minimum   int        `json:"minimum"`
	Alpha     float64    `json:"alpha"`
	Margin    float64    `json:"margin"`
	Keep      int        `json:"keep"` // every so many keys are measured to the end; 0: none
	Replays   []*Replay  `json:"replays"`
	Identical *Identical `json:"identical"` // null: not asked for
}

// Replay is what a policy would have saved in a recorded experiment, and whether its conclusions
// are those of all executions. docs/output.md describes its fields.
type Replay struct {
	Policy     string         `json:"policy"`
	HalfWidth  float64        `json:"halfwidth"`
	Changed    int            `json:"changed_after"` // executions after which all keys went on; 0: never
	Executions Saving         `json:"executions"`    // and boots, where each has its own
	Iterations Saving         `json:"iterations"`
	Seconds    Saving         `json:"seconds"`
	Level      Kept           `json:"level"`   // the interval at the end covers the level of all executions
	Class      Kept           `json:"class"`   // most executions are of the same class
	Similar    Kept           `json:"similar"` // alike or unlike
	Verdict    Kept           `json:"verdict"` // better, worse, same or cannot tell
	Within     [3]Kept        `json:"level_within_1_2_3_percent"`
	Groups     []ReplayedKeys `json:"groups"`
}

// Saving counts what all executions took, and what those took that a policy needs.
type Saving struct {
	All    float64 `json:"all"`
	Needed float64 `json:"needed"`
}

func (s *Saving) add(cost float64, needed bool) {
	s.All += cost
	if needed {
		s.Needed += cost
	}
}

// Share is the share that is saved.
func (s Saving) Share() float64 {
	if s.All == 0 {
		return 0
	}
	return 1 - s.Needed/s.All
}

// Kept counts conclusions, and those that are the same with fewer executions.
type Kept struct {
	Of   int `json:"of"`
	Same int `json:"same"`
}

func (k *Kept) add(same bool) {
	k.Of++
	k.Same += arith.One(same)
}

// Share is the share that is kept; 1 of nothing.
func (k Kept) Share() float64 {
	if k.Of == 0 {
		return 1
	}
	return float64(k.Same) / float64(k.Of)
}

// AsksHalfWidth reports whether the half width affects the policy.
func (r *Replay) AsksHalfWidth() bool {
	return slices.Contains(strings.Split(r.Policy, "+"), string(stop.HalfWidth))
}

// ReplayedKeys is the replay of a key, or of all arms of one.
type ReplayedKeys struct {
	Keys       []string `json:"keys"`
	Executions int      `json:"executions"` // of the key with the fewest
	Needed     int      `json:"needed"`
	Reason     string   `json:"reason"` // why no more are needed; "" if all are
	Lost       []string `json:"lost"`   // conclusions that all executions would have changed
}

// ReplayOf applies a policy to the executions of an experiment, after each of them in turn.
func ReplayOf(groups []Group, r Replayable, p Policy) *Replay {
	p.Rules = r.Rules
	out := &Replay{Policy: r.Name, HalfWidth: p.HalfWidth, Groups: []ReplayedKeys{}}
	statements := p.Statements(groups)
	out.Changed = p.changedAfter(groups)
	usual := usually(groups, p)
	for i, g := range groups {
		k := ReplayedKeys{Executions: g.fewest(), Lost: []string{}}
		for _, key := range g {
			k.Keys = append(k.Keys, key.Name.String())
		}
		at := g
		p.Usual = 0
		for n := 1; n < g.last() && !p.kept(i); n++ {
			cut := g.first(n)
			if cut.fewest() < p.Minimum {
				continue
			}
			p.Usual = usual(i, n)
			d := p.Decide(cut, statements)
			if r.Rules == nil {
				d.Finish, d.Reason = true, fmt.Sprintf("%d executions", p.Minimum)
			}
			if d.Finish {
				at, k.Reason = g.without(n, out.Changed), d.Reason
				break
			}
		}
		k.Needed = at.fewest()
		out.count(g, at)
		out.compare(g, at, p, statements, &k)
		out.Groups = append(out.Groups, k)
	}
	return out
}

// usually returns UsualOf of the i-th group after n executions of all.
func usually(groups []Group, p Policy) func(i, n int) float64 {
	after := map[int][]spread{}
	return func(i, n int) float64 {
		if !p.asks(stop.HalfWidth) {
			return 0
		}
		if _, known := after[n]; !known {
			cut := make([]Group, len(groups))
			for k, g := range groups {
				cut[k] = g.first(n)
			}
			after[n] = spreadsOf(cut)
		}
		return medianOfOthers(after[n], i)
	}
}

// kept reports whether the i-th group is measured to the end.
func (p Policy) kept(i int) bool { return p.Keep > 0 && i%p.Keep == 0 }

// changedAfter returns the number of executions after which the kept keys show that the machine has
// changed; 0: never.
func (p Policy) changedAfter(groups []Group) int {
	var kept, cut []Group
	last := 0
	for i, g := range groups {
		if p.kept(i) {
			kept = append(kept, g)
			last = max(last, g.last())
		}
	}
	for n := p.Minimum; n <= last && len(kept) > 0; n++ {
		cut = cut[:0]
		for _, g := range kept {
			cut = append(cut, g.first(n))
		}
		if p.Changed(cut) != "" {
			return n
		}
	}
	return 0
}

// count adds up what is saved.
func (r *Replay) count(all, needed Group) {
	for i := range all {
		rest := needed[i].Executions
		for _, e := range all[i].Executions {
			needed := len(rest) > 0 && rest[0].Number == e.Number
			if needed {
				rest = rest[1:]
			}
			r.Executions.add(1, needed)
			r.Iterations.add(float64(len(e.Series)), needed)
			r.Seconds.add(e.Seconds, needed)
		}
	}
}

// compare compares the conclusions of a group.
func (r *Replay) compare(all, needed Group, p Policy, statements int, k *ReplayedKeys) {
	note := func(kept *Kept, what, key string, same bool) {
		kept.add(same)
		if !same {
			k.Lost = append(k.Lost, what+" of "+key)
		}
	}
	level := p.Alpha / float64(statements)
	for i := range all {
		a, b, name := all[i], needed[i], all[i].Name.String()
		if i > 0 && !a.Null && len(a.Executions) > 0 {
			note(&r.Verdict, "verdict", name, outcome(p.verdict(all[0], a, level)) ==
				outcome(p.verdict(needed[0], b, level)))
		}
		if a.Null || len(a.Executions) == 0 {
			continue
		}
		of, most, _ := majority(a.Executions)
		now, _, _ := majority(b.Executions)
		if most > 0 {
			note(&r.Class, "class", name, of == now)
		}
		if a.Executions[0].Series != nil {
			note(&r.Similar, "similarity", name, len(a.Executions) == len(b.Executions) ||
				similar(a).Answered == similar(b).Answered)
		}
		full, ok := levelOf(a)
		part, _, _ := p.level(b)
		if !ok {
			continue
		}
		difference := math.Abs(full.Mean - part.Mean)
		note(&r.Level, "level", name, difference <= part.Half(p.Alpha))
		for i, limit := range []float64{0.01, 0.02, 0.03} {
			r.Within[i].add(math.Expm1(difference) <= limit)
		}
	}
}

// outcome is the verdict alone.
func outcome(q stop.Question) string {
	verdict, _, _ := strings.Cut(q.Text, " (")
	return verdict
}

// Identical is the verdict rule on tables of identical code, made from a recorded experiment: a
// verdict other than "same" is false.
type Identical struct {
	Tables int     `json:"tables"`
	False  int     `json:"false"` // with at least one false verdict, at any look
	Low    float64 `json:"low"`   // interval of the share, 95 %
	High   float64 `json:"high"`
}

// IdenticalOf replays the verdict rule after each block of random tables. In an experiment with
// arms, the values of each block are exchanged at random; else the executions of each key are drawn
// into pairs.
func IdenticalOf(groups []Group, p Policy, tables int, seed uint64) *Identical {
	r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // reproducible
	out := &Identical{Tables: tables}
	for range tables {
		var table []Group
		for _, g := range groups {
			if pair, ok := identical(g, r); ok {
				table = append(table, pair)
			}
		}
		out.False += arith.One(p.anyFalse(table))
	}
	out.Low, out.High = compare.Binomial(out.False, tables, 0.95)
	return out
}

// anyFalse reports whether a look at a table of identical code finds a change.
func (p Policy) anyFalse(table []Group) bool {
	for _, g := range table {
		for n := p.Minimum; n <= len(g[0].Executions); n++ {
			cut := g.first(n)
			q := p.verdict(cut[0], cut[1], p.Alpha/float64(len(table)))
			if q.Low != nil && (*q.Low > 1 || *q.High < 1) {
				return true
			}
		}
	}
	return false
}

// identical makes two sides of a group that nothing distinguishes; ok is false if it has too few
// executions.
func identical(g Group, r *rand.Rand) (pair Group, ok bool) {
	var a, b []Execution
	add := func(x, y Execution) {
		if r.IntN(2) == 1 {
			x, y = y, x
		}
		x.Number, y.Number = len(a)+1, len(a)+1
		a, b = append(a, x), append(b, y)
	}
	if len(g) > 1 {
		for _, x := range g[0].Executions {
			same := func(y Execution) bool { return y.Number == x.Number }
			i := slices.IndexFunc(g[1].Executions, same)
			if i >= 0 {
				add(x, g[1].Executions[i])
			}
		}
	} else {
		list := slices.Clone(g[0].Executions)
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for i := 0; i+1 < len(list); i += 2 {
			add(list[i], list[i+1])
		}
	}
	for _, e := range slices.Concat(a, b) {
		if !(e.Value > 0) || math.IsInf(e.Value, 0) {
			return nil, false
		}
	}
	return Group{{Name: g[0].Name, Executions: a}, {Name: g[0].Name, Executions: b}}, len(a) > 1
}
