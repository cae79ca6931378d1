package report

import (
	"strings"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/explain"
	"krund/internal/experiment/key"
	"krund/rig/must"
)

// TestExplainText: what a person reads about one key with a statement and one without evidence.
func TestExplainText(t *testing.T) {
	time := 0.93
	best := explain.Candidate{Target: explain.Outliers, Cause: explain.GC, Source: "events gc", Targets: 43,
		Hits: 41, Expected: 1.075, OddsRatio: 3405, P: 0.02, Corrected: 0.02, Smallest: 0.02, Time: &time}
	doc := &explain.Document{Source: dataset.Info{Source: "warmup.krun"}, Keys: []explain.Key{
		{
			Key: "nbody:V:v", Name: key.Key{Benchmark: "nbody", VM: "V", Variant: "v"}, Instrument: "events",
			Tested: 24, Outliers: explain.Coverage{Total: 43, Explained: 41},
			Changepoints: explain.Coverage{Total: 2, Diagnosed: 1},
			Statements: []explain.Statement{{Candidate: best,
				Text: "41 of 43 outliers contain a garbage collection",
				With: []string{"page faults"}}},
			Executions: []explain.ExecutionFindings{{Number: 1, Iterations: 2000,
				Outliers: []explain.Finding{{Iteration: 50,
					Text: "outlier at 50: a garbage collection \x1b[31m"}},
				Steady: explain.Steady{Text: "statistically steady from iteration 120",
					Warnings: []string{"the VM still compiled"}}}},
			Missing: []string{"there are no counts of instructions", "the clock is coarse"},
		},
		{
			Key: "fasta:V:v", Name: key.Key{Benchmark: "fasta", VM: "V", Variant: "v"},
			Instrument: "off\x1b[31m",
			Outliers:   explain.Coverage{Total: 1}, Candidates: []explain.Candidate{best},
			Warnings: []string{"3 events were lost"}, Missing: []string{"the clock is coarse"},
		},
		{
			Key: "richards:V:v", Name: key.Key{Benchmark: "richards", VM: "V", Variant: "v"},
			Instrument: "off", Missing: []string{"the clock is coarse"},
		},
	}}
	var b strings.Builder
	ExplainText(&b, 0, doc, []int{1})
	for _, want := range []string{
		"41 of 44 outliers and 0 of 2 changepoints are explained: garbage collections in 1 key\n\n",
		"nbody      V   v                 1        43        95%             2         0%  gc\n",
		"\nnbody:V:v (instrument events)\n  41 of 43 outliers contain a garbage collection.\n    Odds " +
			"ratio 3405, " +
			"1.1 expected by chance, p = 0.02; 0.02 corrected for 24 candidates; these\n" +
			"    events and outliers cannot give a p below 0.02; they took 93% of the extra time; " +
			"seen with it:\n    page faults.\n",
		"  Unexplained: 2 of 43 outliers, 2 of 2 changepoints (of 1 of them it is known what changed in " +
			"the\n" +
			"    processor's counters).\n",
		"  Execution 1, iterations 1 to 2000: statistically steady from iteration 120.\n" +
			"    outlier at 50: a garbage collection \\x1b[31m.\n",
		"  Execution 1 is statistically steady from iteration 120, but the VM still compiled.\n",
		"  Missing: there are no counts of instructions.\n",
		"\nfasta:V:v (instrument off\\x1b[31m)\n  No cause is established for any outlier or changepoint.\n" +
			"  The best candidate is gc at 41 of 43 outliers (events gc): Odds ratio 3405,",
		"  Warning: 3 events were lost.\n\nrichards:V:v (instrument off)\n" +
			"  It has no outlier and no changepoint.\n\nMissing for all 3 keys:\n  the clock is coarse.\n",
	} {
		must.Contain(t, b.String(), want, "no", "in")
	}
}
