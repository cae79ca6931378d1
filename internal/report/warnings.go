package report

import (
	"fmt"
	"strings"

	"krund/internal/analysis/warmup"
)

// GroupedWarning is a warning about several keys. Text is that of the first.
type GroupedWarning struct {
	Code, Text string
	Keys       []string
}

// GroupWarnings collects the pairs' warnings by code.
func GroupWarnings(doc *warmup.Document) []GroupedWarning {
	var list []GroupedWarning
	index := map[string]int{}
	for i := range doc.Pairs {
		for _, w := range doc.Pairs[i].Warnings {
			at, ok := index[w.Code]
			if !ok {
				at = len(list)
				index[w.Code] = at
				list = append(list, GroupedWarning{Code: w.Code, Text: w.Text})
			}
			list[at].Keys = append(list[at].Keys, doc.Pairs[i].Key)
		}
	}
	return list
}

// warningNotes are a document's warnings, those of pairs grouped.
func warningNotes(doc *warmup.Document) []string {
	var notes []string
	for _, w := range doc.Warnings {
		notes = append(notes, w.Text)
	}
	for _, g := range GroupWarnings(doc) {
		const named = 3
		keys := strings.Join(g.Keys[:min(named, len(g.Keys))], ", ")
		if more := len(g.Keys) - named; more > 0 {
			keys += fmt.Sprintf(" and %d more", more)
		}
		notes = append(notes, keys+": "+g.Text)
	}
	return notes
}

// documentWarnings are those about all keys: of the records, then of the
// analysis.
func documentWarnings(doc *warmup.Document, facts *Facts) []warmup.Warning {
	list := []warmup.Warning{}
	return append(append(list, facts.Warnings()...), doc.Warnings...)
}
