package report

import (
	"cmp"
	"slices"

	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// Reason is why executions were not analyzed.
type Reason struct {
	Reason string
	Count  int         // executions
	Keys   []FailedKey // each once, in the order of the document
}

// FailedKey is a key with executions that failed.
type FailedKey struct {
	Index int // of its page
	Name  string
	Count int
}

const (
	mostReasons = 12  // lines about failures; the others are counted together
	reasonBytes = 200 // of a reason
)

// failures groups the executions that failed, or whose values cannot be used, by reason, the most
// frequent first. Executions that were run again, and those that are only too short, have warnings.
func (in *Material) failures() (list []Reason, total int) {
	at := map[string]int{}
	for i := range in.Document.Pairs {
		p := &in.Document.Pairs[i]
		for e := range p.Executions {
			reason := in.failure(i, e)
			if reason == "" {
				continue
			}
			total++
			n, ok := at[reason]
			if !ok {
				n = len(list)
				at[reason] = n
				list = append(list, Reason{Reason: reason})
			}
			list[n].add(FailedKey{i, p.Key, 1})
		}
	}
	slices.SortStableFunc(list, func(a, b Reason) int { return cmp.Compare(b.Count, a.Count) })
	if len(list) > mostReasons {
		rest := Reason{Reason: display.Count(len(list)-mostReasons+1, "other reason")}
		for _, f := range list[mostReasons-1:] {
			for _, k := range f.Keys {
				rest.add(k)
			}
		}
		list = append(list[:mostReasons-1], rest)
	}
	return list, total
}

func (f *Reason) add(k FailedKey) {
	f.Count += k.Count
	if i := slices.IndexFunc(f.Keys, func(of FailedKey) bool { return of.Index == k.Index }); i >= 0 {
		f.Keys[i].Count += k.Count
		return
	}
	f.Keys = append(f.Keys, k)
}

// failure returns the reason why an execution failed: the first one, after its outcome; "" if it
// did not.
func (in *Material) failure(pair, execution int) string {
	e := &in.Document.Pairs[pair].Executions[execution]
	const rerun = "rerun"
	reason := e.Problem
	switch {
	case e.Status == warmup.Analysed || e.Outcome == rerun || e.Level != nil:
		return ""
	case e.Status == warmup.NotCompleted:
		reason = e.Outcome
		if reasons := in.Data.Pairs[pair].Executions[execution].Reasons; len(reasons) > 0 {
			reason += ": " + reasons[0]
		}
	}
	return display.Clip(display.PlainLine(reason), reasonBytes)
}
