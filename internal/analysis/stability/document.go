package stability

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
	"krund/internal/experiment/key"
)

// Format is the version of Document. docs/output.md describes its fields.
const Format = 1

// Document reports for every key of a dataset where it could have stopped.
type Document struct {
	Format     int          `json:"format"`
	Source     dataset.Info `json:"source"`
	Parameters Parameters   `json:"parameters"`
	Keys       []KeyResult  `json:"keys"`
	Totals     []Total      `json:"totals"` // one for each criterion
	Problems   []string     `json:"problems"`
}

// KeyResult is the result of a key. Executions are identified by their numbers, from 1.
type KeyResult struct {
	Name    key.Key          `json:"-"`
	Key     string           `json:"key"`
	Problem string           `json:"problem"` // why it could not be evaluated; "" if it was
	LeftOut []warmup.LeftOut `json:"left_out"`
	Result
}

// JudgeKeys applies the criteria to every key of d on the given number of goroutines. A key that is
// too short has a Problem. done, which may be nil, is called with the number of executions
// evaluated so far and the total; calls do not overlap. The errors are those of Of.
func JudgeKeys(d *dataset.Dataset, criteria []Criterion, p Parameters, workers int,
	done func(n, of int)) (*Document, error) {
	doc := &Document{Format: Format, Source: d.Info, Parameters: p,
		Problems: append([]string{}, d.Problems...)}
	if p.Exact {
		doc.Parameters.Draws = 0
	}
	var err error
	doc.Keys, err = warmup.EachKey(d, dataset.Wall, workers,
		func(pair *dataset.Pair, s warmup.KeySeries) (KeyResult, error) {
			return judgeKey(pair, s, criteria, p)
		}, done)
	doc.Totals = TotalsOf(criteria, doc)
	return doc, err
}

func judgeKey(pair *dataset.Pair, s warmup.KeySeries, criteria []Criterion, p Parameters) (KeyResult,
	error) {
	none := warmup.Real(math.NaN())
	k := KeyResult{Name: s.Key, Key: s.Key.String(), LeftOut: s.LeftOut, Result: Result{
		Executions: []int{}, FullSeconds: none, FullMean: none, Criteria: []CriterionResult{}}}
	p.Numbers, p.Calls = s.Numbers, callsOfAll(pair, s.Numbers)
	r, err := Of(s.Series, criteria, p)
	switch {
	case err == nil:
		k.Result = *r
		for _, short := range r.Short {
			k.LeftOut = append(k.LeftOut, short.leftOut(pair))
		}
	case !errors.Is(err, ErrShort) && !errors.Is(err, ErrData):
		return k, err
	case len(s.Series) == 0:
		k.Problem = "there is no usable execution"
	default:
		k.Problem = err.Error()
		if slices.ContainsFunc(pair.Executions, func(e dataset.Execution) bool { return e.Stopped }) {
			k.Problem = "its executions" + whyStopped
		}
	}
	return k, nil
}

// whyStopped explains why executions that the watcher ended are too short.
const whyStopped = " were ended by [stop.iterations] after warm-up and measurement, so they cannot show " +
	"what other rules, or the full experiment, would have found; krunctl show has the decisions. To " +
	"compare rules, record whole executions with dry_run = true"

func (s Short) leftOut(pair *dataset.Pair) warmup.LeftOut {
	problem := fmt.Sprintf("it is too short: %s of the %d needed", display.Count(s.Steps, "step"), s.Least)
	if slices.ContainsFunc(pair.Executions, func(e dataset.Execution) bool {
		return e.Number == s.Number && e.Stopped
	}) {
		problem += "; [stop.iterations] ended it"
	}
	return warmup.LeftOut{Execution: s.Number, Problem: problem}
}

// callsOfAll returns the calls of the executions with these numbers; nil unless all are known.
func callsOfAll(pair *dataset.Pair, numbers []int) []*dataset.Calls {
	known := map[int]*dataset.Calls{}
	for i := range pair.Executions {
		if e := &pair.Executions[i]; e.Calls != nil {
			known[e.Number] = e.Calls
		}
	}
	var list []*dataset.Calls
	for _, n := range numbers {
		if known[n] == nil {
			return nil
		}
		list = append(list, known[n])
	}
	return list
}
