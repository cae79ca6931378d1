package main

import (
	"fmt"
	"runtime"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/similarity"
	"krund/internal/report"
)

// similarity reports how similar the executions of each key are.
func (a *app) similarity(args []string, o analyzeOptions) error {
	if o.format != "text" && o.format != "csv" && o.format != "json" {
		return usageError(fmt.Errorf("--similarity has the formats text, csv and json, not %s", o.format))
	}
	look := func(d *dataset.Dataset) (*similarity.Document, error) {
		return similarity.CompareKeys(d, o.Column, similarity.Options{Threshold: similarity.DefaultThreshold,
			Frames: similarity.DefaultFrames, Alphabet: similarity.DefaultAlphabet,
			Merge: similarity.DefaultMerge},
			runtime.NumCPU())
	}
	return lookAtEach(a, args, o.Selection, look, printing[*similarity.Document]{
		json: o.format == "json", csv: o.format == "csv", rows: report.SimilarityRows,
		table: func(doc *similarity.Document) { report.SimilarityText(a.stdout, a.console().Width(), doc) },
	}, func(doc *similarity.Document) int {
		return count(doc.Keys, func(k similarity.KeyDocument) bool { return k.Averages != nil })
	})
}
