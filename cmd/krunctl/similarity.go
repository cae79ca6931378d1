package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/similarity"
	"krund/internal/experiment"
	"krund/internal/report"
)

const similarityHelp = `Similarity says of each key how alike its process executions are, as series of
iterations, and names those that are unlike the others.

It computes five dissimilarities of each pair of executions, from 0 (alike) to 1:
  M1  correlation: 1-max(r,0), r Pearson's: do they move together?
  M2  compression: do their patterns (SAX words) recur in the other?
  M3  distance of the Fourier coefficients, relative to both norms
  M4  cosine: 1-max(cos,0)
  M5  Kolmogorov-Smirnov: the largest distance of their distributions
and two verdicts:
  heuristic  dissimilar when the averages over all pairs of at least three of the
             five are above the threshold (Bauer et al., ICPE '23). It is careful:
             in the paper it found 92% of the dissimilar benchmarks, but also
             flagged 61% of the similar ones
  SAME       dissimilar when clustering by four other distances makes more than
             one cluster. It let 83% of the similar ones pass
Where one cluster has more than half of the executions, those outside are named as
outliers. A benchmark that both call dissimilar should not be summed up by one
number; look at its series (krunctl plot), and find out what the outliers have in
common.

It reads what krunctl analyze reads. Executions that were not completed, or have
values that are none, are left out and listed. Of a pair of executions of
different lengths as many iterations count as the shorter has. docs/similarity.md
has the equations.

EXAMPLES
  krunctl similarity warmup.toml
  krunctl similarity --matrix warmup.krun
  krunctl similarity --json warmup.krun | jq '.keys[] | {key, verdict, outliers}'
  krunctl similarity --csv --column cycles --threshold 0.3 warmup_results.json.bz2
` + readExitHelp

// similarityOptions are the flags.
type similarityOptions struct {
	json, csv, matrix bool
	linkage           string
	workers           int
	settings          similarity.Settings
	input             experiment.Options
}

func similarityCommand(a *app) *cobra.Command {
	var o similarityOptions
	c := &cobra.Command{
		Use:   "similarity DIR|NAME.toml|FILE...",
		Short: "Say how alike the executions of each key are",
		Long:  similarityHelp,
		Args:  arguments(1, 1000, "experiments or files of results"),
		RunE:  func(_ *cobra.Command, args []string) error { return a.similarity(args, o) },
	}
	f := c.Flags()
	f.BoolVar(&o.json, "json", false, "print JSON: all pairs, distances and clusters")
	f.BoolVar(&o.csv, "csv", false, "print CSV: a row for each key")
	f.BoolVar(&o.matrix, "matrix", false, "also print how many of the five measures are above the threshold, for each pair")
	f.Float64Var(&o.settings.Threshold, "threshold", similarity.DefaultThreshold, "of the heuristic, between 0 and 1")
	f.IntVar(&o.settings.Frames, "frames", similarity.DefaultFrames, "frames that M2 averages a series over")
	f.IntVar(&o.settings.Alphabet, "alphabet", similarity.DefaultAlphabet, "letters of M2's words, 2 to 26")
	f.Float64Var(&o.settings.Merge, "merge", similarity.DefaultMerge, "SAME: distance up to which clusters are merged")
	f.StringVar(&o.linkage, "linkage", similarity.Average.String(), "SAME: distance of clusters: average, complete or single")
	a.keyFlag(c, &o.input.Key)
	jobsFlag(f, &o.workers)
	f.StringVar(&o.input.Column, "column", dataset.Wall, "column to compare: wall, cycles, ...; of per-core columns the sum")
	f.StringVar(&o.input.VM, "vm", "", "name of the VM where the file does not say")
	f.StringVar(&o.input.Variant, "variant", "", "name of the variant (language) where the file does not say")
	return c
}

func (a *app) similarity(args []string, o similarityOptions) error {
	var err error
	if o.settings.Linkage, err = similarity.ParseLinkage(o.linkage); err != nil {
		return usageError(fmt.Errorf("--linkage: %w", err))
	}
	if s := o.settings; s.Threshold == 0 || s.Frames == 0 || s.Alphabet == 0 || s.Merge == 0 { // which would be the defaults
		return usageError(errors.New("--threshold, --frames, --alphabet and --merge are above 0"))
	}
	if err := o.settings.Check(); err != nil {
		return usageError(err)
	}
	if o.json && o.csv {
		return usageError(errors.New("--json and --csv: one of them"))
	}
	look := func(d *dataset.Dataset) (*similarity.Document, error) {
		return similarity.CompareKeys(d, o.input.Column, o.settings, o.workers)
	}
	return lookAtEach(a, args, o.input, look, printing[*similarity.Document]{
		json: o.json, csv: o.csv, rows: (*similarity.Document).WriteCSV,
		table: func(doc *similarity.Document) { report.SimilarityText(a.stdout, doc, o.matrix) },
	})
}
