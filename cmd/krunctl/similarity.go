package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/similarity"
	"krund/internal/reading/experiment"
	"krund/internal/report"
)

const similarityHelp = `Similarity reports for each key how similar its process executions are, as series
of iterations, and names those that differ from the others.

It computes five dissimilarities of each pair of executions, from 0 (equal) to 1:
  M1  correlation: 1-max(r,0), r Pearson's: do they move together?
  M2  compression: do the patterns (SAX words) of one recur in the other?
  M3  distance of the Fourier coefficients, relative to both norms
  M4  cosine: 1-max(cos,0)
  M5  Kolmogorov-Smirnov: the largest distance of their distributions
and two verdicts:
  heuristic  dissimilar if the averages over all pairs of at least three of the
             five are above the threshold (Bauer et al., ICPE '23). It is
             conservative: in the paper it found 92% of the dissimilar benchmarks,
             but also flagged 61% of the similar ones
  SAME       dissimilar if clustering by four other distances gives more than one
             cluster. It accepted 83% of the similar ones
If one cluster has more than half of the executions, those outside it are the
outliers. Do not describe a benchmark that both call dissimilar by one number: look
at its series (krunctl plot), and find out what the outliers have in common.

It reads what krunctl analyze reads. Executions that were not completed, or that
have missing values, are left out and listed. Of two executions of different
lengths the first iterations are compared. docs/similarity.md has the equations.

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
	settings          similarity.Options
	input             experiment.Selection
}

func similarityCommand(a *app) *cobra.Command {
	var o similarityOptions
	c := &cobra.Command{
		Use:   "similarity DIR|NAME.toml|FILE...",
		Short: "Report how similar the executions of each key are", Long: similarityHelp,
		Args: arguments(1, 1000, "experiments or files of results"),
		RunE: func(_ *cobra.Command, args []string) error { return a.similarity(args, o) },
	}
	f := c.Flags()
	f.BoolVar(&o.json, "json", false, "print JSON: all pairs, distances and clusters")
	f.BoolVar(&o.csv, "csv", false, "print CSV: a row for each key")
	f.BoolVar(&o.matrix, "matrix", false,
		"also print how many of the five measures are above the threshold for each pair")
	f.Float64Var(&o.settings.Threshold, "threshold", similarity.DefaultThreshold,
		"threshold of the heuristic, between 0 and 1")
	f.IntVar(&o.settings.Frames, "frames", similarity.DefaultFrames,
		"number of frames that M2 divides a series into")
	f.IntVar(&o.settings.Alphabet, "alphabet", similarity.DefaultAlphabet,
		"number of letters of M2's words, 2 to 26")
	f.Float64Var(&o.settings.Merge, "merge", similarity.DefaultMerge,
		"SAME: maximum distance of clusters that are merged")
	f.StringVar(&o.linkage, "linkage", similarity.Average.String(),
		"SAME: distance of clusters: average, complete or single")
	a.keyFlag(c, &o.input.Key)
	jobsFlag(f, &o.workers)
	f.StringVar(&o.input.Column, "column", dataset.Wall,
		"column to compare: wall, cycles, ...; per-core columns are summed")
	f.StringVar(&o.input.VM, "vm", "", "name of the VM if the file has none")
	f.StringVar(&o.input.Variant, "variant", "", "name of the variant (language) if the file has none")
	return c
}

func (a *app) similarity(args []string, o similarityOptions) error {
	var err error
	if o.settings.Linkage, err = similarity.ParseLinkage(o.linkage); err != nil {
		return usageError(fmt.Errorf("--linkage: %w", err))
	}
	if s := o.settings; s.Threshold == 0 || s.Frames == 0 || s.Alphabet == 0 ||
		s.Merge == 0 { // which would be the defaults
		return usageError(errors.New("--threshold, --frames, --alphabet and --merge must be positive"))
	}
	if err := o.settings.Check(); err != nil {
		return usageError(err)
	}
	if o.json && o.csv {
		return usageError(errors.New("--json and --csv exclude each other"))
	}
	look := func(d *dataset.Dataset) (*similarity.Document, error) {
		return similarity.CompareKeys(d, o.input.Column, o.settings, o.workers)
	}
	return lookAtEach(a, args, o.input, look, printing[*similarity.Document]{
		json: o.json, csv: o.csv, rows: report.SimilarityRows,
		table: func(doc *similarity.Document) { report.SimilarityText(a.stdout, doc, o.matrix) },
	}, func(doc *similarity.Document) int {
		return count(doc.Keys, func(k similarity.KeyDocument) bool { return k.Averages != nil })
	})
}
