package compare

import (
	"math"
	"slices"

	"krund/internal/analysis/warmup"
)

// Needs is the number of executions that a comparison needs to find a change.
type Needs struct {
	From       Party   `json:"from"` // where the variation between executions was measured
	Change     float64 `json:"change"`
	Margin     float64 `json:"margin"`     // of the comparison: that of Options, or half of a smaller change
	Confidence float64 `json:"confidence"` // of the table
	Power      float64 `json:"power"`
	Tests      int     `json:"tests"`  // of the steady state
	Paired     bool    `json:"paired"` // by block
	Prior      Prior   `json:"prior"`
	// Executions is the number for every key; MostKeys that for nine of ten. 0: a key has no
	// number, or it is too large.
	Executions int        `json:"executions"`
	MostKeys   int        `json:"executions_most_keys"`
	Keys       []KeyNeeds `json:"keys"`
}

// KeyNeeds is the need of one key.
type KeyNeeds struct {
	Key      string      `json:"key"`
	Measured int         `json:"measured"` // executions (complete blocks when paired)
	SD       warmup.Real `json:"sd"`       // see Effect.SD; NaN (null) when it is not known
	// Executions on each side (blocks when paired); 0: more than 10,000, or not known. They are
	// enough for nine of ten keys whose executions vary as those measured.
	Executions int `json:"executions"`
	// AsMeasured are enough if SD is the true standard deviation.
	AsMeasured int `json:"executions_as_measured"`
	// Detectable is the change for which Executions would be as many as were measured.
	Detectable warmup.Real `json:"detectable"`
}

// NeedsOf returns the executions needed on each side to find the given change (0.02 is 2 %) in each
// key of before with the published power, in a comparison of all keys with o. With o.Paired the
// variation is that of the differences between before and other within blocks.
func NeedsOf(before Side, other *Side, change float64, o Options) *Needs {
	o = o.withDefaults()
	p := &Needs{From: before.party(), Change: change, Margin: o.Margin, Confidence: o.Confidence,
		Power: power, Paired: o.Paired, Keys: []KeyNeeds{}}
	if change <= p.Margin {
		p.Margin = change / 2
	}
	var list []estimate
	for i := range before.Data.Pairs {
		k, ok := before.name(i)
		if !ok {
			continue
		}
		var e estimate
		values := row{before: before.reduced(i, o)}
		switch {
		case !o.Paired:
			e = alone(values.sample(ofSteady).before)
		default:
			if j, ok := other.Keys()[k]; ok {
				values.after = other.reduced(j, o)
				e = estimateOf(values.sample(ofSteady), true)
			}
		}
		e.ok = e.ok && !e.linear
		p.Keys = append(p.Keys, KeyNeeds{Key: k.String(), Measured: e.n})
		p.Tests += number(e.ok)
		list = append(list, e)
	}
	p.Prior = squeezeAll(list)
	level := o.Correction.level(o.alpha(), steadyShare, p.Tests)
	for i := range p.Keys {
		p.Keys[i].fill(&list[i], p, level)
	}
	p.total()
	return p
}

// Detectable returns the relative change (0.02 is 2 %) that a comparison of one key finds with the
// published power at an error of 5 %, with at least 2 executions on each side.
func (n Need) Detectable(executions int) float64 {
	const alpha = 0.05
	return math.Expm1(n.detectable(alpha, executions))
}

// alone estimates the variance between the executions of one side.
func alone(values []Observation) estimate {
	e := estimate{n: len(values), test: StudentT}
	if e.n < 2 {
		return e
	}
	e.ok = true
	e.linear = !all(values, func(o Observation) bool { return o.Value > 0 })
	e.variance, e.freedom = variance(e.scaled(values)), float64(e.n-1)
	return e
}

func (k *KeyNeeds) fill(e *estimate, p *Needs, level float64) {
	k.SD, k.Detectable = warmup.Real(math.NaN()), warmup.Real(math.NaN())
	if !e.ok {
		return
	}
	k.SD = warmup.Real(math.Sqrt(e.variance))
	need := Need{SD: float64(k.SD), Freedom: e.prior(), Paired: p.Paired, Margin: math.Log1p(p.Margin)}
	change := math.Log1p(p.Change)
	k.AsMeasured = need.executions(change, level, 2, mostExecutions)
	need.SD *= atMost(assurance, e.freedom)
	k.Executions = need.executions(change, level, 2, mostExecutions)
	k.Detectable = warmup.Real(math.Expm1(need.detectable(level, k.Measured)))
}

// total fills in the numbers for the table.
func (p *Needs) total() {
	var needs []int
	for _, k := range p.Keys {
		if k.Executions == 0 {
			needs = append(needs, math.MaxInt)
		} else {
			needs = append(needs, k.Executions)
		}
	}
	if len(needs) == 0 {
		return
	}
	slices.Sort(needs)
	at := func(i int) int {
		if needs[i] == math.MaxInt {
			return 0
		}
		return needs[i]
	}
	const most = 0.9
	p.Executions = at(len(needs) - 1)
	p.MostKeys = at(int(math.Ceil(most*float64(len(needs)))) - 1)
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}
