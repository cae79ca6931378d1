package report

import (
	"strings"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/explain"
)

// whyView is the explanation of a key on its page.
type whyView struct {
	Key        *explain.Key
	Statements []whyStatement
	Candidates []whyCandidate // those established, then the best of the others
	Left       []string       // "3 of 40 outliers"
	Steady     []whySteady
	Warned     int // executions whose steady state and VM disagree
}

type whyStatement struct{ Text, Evidence string }

type whyCandidate struct {
	*explain.Candidate
	Source      string
	Established string // "✓ yes", "no" or "in the same bursts"
}

type whySteady struct {
	Number   int
	Text     string
	Warnings []string
}

// why returns the explanation of a key; nil if there is none, or nothing to explain it with.
func (in *Material) why(pair int) *whyView {
	k := in.explained(pair)
	if k == nil || len(k.Sources) == 0 {
		return nil
	}
	w := &whyView{Key: k, Left: []string{leftText(k.Outliers, "outlier"),
		leftText(k.Changepoints, "changepoint")}}
	add := func(c *explain.Candidate, established string) {
		source := c.Source
		if c.Name != "" {
			source += " `" + boundedName(c.Name) + "`"
		}
		w.Candidates = append(w.Candidates, whyCandidate{c, source, established})
	}
	for i := range k.Statements {
		s := &k.Statements[i]
		w.Statements = append(w.Statements, whyStatement{boundedText(s.Text),
			boundedText(evidenceText(&s.Candidate, k.Tested, s.With))})
		if s.SameBursts {
			add(&s.Candidate, "in the same bursts")
		} else {
			add(&s.Candidate, "✓ yes")
		}
	}
	for i := range k.Candidates {
		add(&k.Candidates[i], "no")
	}
	for i := range k.Executions {
		x := &k.Executions[i]
		s := whySteady{Number: x.Number, Text: boundedText(x.Steady.Text)}
		for _, warning := range x.Steady.Warnings {
			s.Warnings = append(s.Warnings, boundedText(warning))
		}
		w.Warned += arith.One(len(s.Warnings) > 0)
		w.Steady = append(w.Steady, s)
	}
	return w
}

// explained returns the explanation of a key; nil if there is none.
func (in *Material) explained(pair int) *explain.Key {
	if in.Explanation == nil || pair >= len(in.Explanation.Keys) {
		return nil
	}
	return &in.Explanation.Keys[pair]
}

// whyRow is a key in the front page's table of explanations.
type whyRow struct {
	Index        int // of the key
	Row          *Row
	Outliers     int
	Changepoints int
	OutlierShare string // explained: "83%"
	ChangeShare  string
	Causes       string
}

// whyRows lists the keys that have evidence.
func (in *Material) whyRows(rows []Row) []whyRow {
	var list []whyRow
	for i := range rows {
		k := in.explained(i)
		if k == nil || len(k.Sources) == 0 {
			continue
		}
		list = append(list, whyRow{i, &rows[i], k.Outliers.Total, k.Changepoints.Total,
			shareText(k.Outliers), shareText(k.Changepoints), strings.Join(causesOf(k), ", ")})
	}
	return list
}
