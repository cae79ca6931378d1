package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/optimize"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// OptimizedText prints the recommendations, the savings, the warnings, and lines for the
// experiment's configuration.
func OptimizedText(w io.Writer, f *optimize.Findings) {
	fmt.Fprintf(w, "Which part of the experiment has a result as stable?%s\n\n", optimizedAnswer(f))
	fmt.Fprintf(w, "%s: %s, %s below %g\n\n", display.Terminal(f.Source.Source),
		display.Count(len(f.Results), "key"), f.Metric, f.Threshold)
	columns := []string{"key"}
	for _, l := range f.Suite.Levels {
		columns = append(columns, ">"+l.Name)
	}
	columns = append(columns, ">saved", ">result", ">off")
	for _, m := range optimize.Metrics() {
		columns = append(columns, ">"+string(m))
	}
	rows := make([][]string, len(f.Results))
	for i := range f.Results {
		rows[i] = optimizedRow(f, i)
	}
	display.Table(w, append(columns, ">confident"), rows)
	savingsText(w, f)
	optimizeWarnings(w, f)
	sharedText(w, f)
}

// optimizedAnswer says how many keys have such a part, and what that saves.
func optimizedAnswer(f *optimize.Findings) string {
	keys := 0
	for i := range f.Results {
		r := &f.Results[i]
		keys += arith.One(r.Stable && r.Minimal.Seconds < r.Full.Seconds)
	}
	if keys == 0 {
		return " None of the keys has one."
	}
	have := "have"
	if keys == 1 {
		have = "has"
	}
	text := fmt.Sprintf(" %d of %s %s one.", keys, display.Count(len(f.Results), "key"), have)
	for _, s := range f.Strategies {
		if s.Seconds < s.FullSeconds {
			return fmt.Sprintf("%s It takes %s less time.", text, percentOf(s.Saved))
		}
	}
	return text
}

func optimizedRow(f *optimize.Findings, i int) []string {
	r := &f.Results[i]
	cells, saved := []string{r.Name}, "unstable"
	empty := len(f.Suite.Benchmarks[i].Rows) == 0
	for _, level := range f.Levels {
		cell := "-"
		if !empty {
			cell = fmt.Sprintf("%d of %d", r.Minimal.Repetitions[level], r.Full.Repetitions[level])
		}
		cells = append(cells, cell)
	}
	switch {
	case empty:
		saved = "-"
	case r.Stable:
		saved = percentOf(r.Saved)
	}
	cells = append(cells, saved, withUnit(float64(r.Minimal.Average), f.Unit),
		signedPercent(float64(r.AverageDiff)))
	for _, m := range optimize.Metrics() {
		cells = append(cells, finePercent(float64(r.Minimal.Metric(m))))
	}
	return append(cells, percentOf(r.Confidence))
}

// withUnit formats a result with its unit.
func withUnit(v float64, unit string) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case unit == dataset.Nanoseconds:
		return display.Nanoseconds(v)
	}
	return display.UnitOf(unit).Value(v)
}

func signedPercent(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	return fmt.Sprintf("%+.2f%%", 100*v)
}

func finePercent(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case v >= 10:
		return ">1000%"
	}
	return fmt.Sprintf("%.2f%%", 100*v)
}

func savingsText(w io.Writer, f *optimize.Findings) {
	rows := make([][]string, len(f.Strategies))
	for i, s := range f.Strategies {
		v := s.Saving
		rows[i] = []string{s.Name, anySeconds(v.Seconds), anySeconds(v.FullSeconds)}
		for _, part := range []warmup.Real{v.Saved, v.Within1, v.Within3, v.Within5, v.Within10} {
			rows[i] = append(rows[i], percentOf(part))
		}
	}
	fmt.Fprintln(w)
	display.Table(w, []string{
		"strategy", ">time", ">of", ">saved", ">keys off by <= 1%", ">3%", ">5%", ">10%",
	}, rows)
}

// anySeconds formats a duration from microseconds to weeks.
func anySeconds(s float64) string {
	if s < 1 {
		return display.Nanoseconds(s * 1e9)
	}
	return display.Seconds(s)
}

func optimizeWarnings(w io.Writer, f *optimize.Findings) {
	lines := slices.Clone(f.Problems)
	for i := range f.Results {
		for _, warning := range f.Results[i].Warnings {
			lines = append(lines, f.Results[i].Name+": "+warning)
		}
	}
	printWarnings(w, lines)
}

// sharedText prints lines for the experiment's configuration.
func sharedText(w io.Writer, f *optimize.Findings) {
	c := f.Shared
	if c == nil {
		return
	}
	are := "are"
	if len(f.Results) == 1 {
		are = "is"
	}
	fmt.Fprintf(w, "\n[experiment] # %d of %s %s stable with it, and near the full result\n", c.Good,
		display.Count(len(f.Results), "key"), are)
	fmt.Fprintf(w, "executions = %d\niterations = %d\n", c.Executions, c.Iterations)
	for _, vm := range c.VMs {
		fmt.Fprintf(w, "# [vms.%s] iterations = %d would do\n", display.Terminal(vm.VM), vm.Iterations)
	}
}

// OptimizedTOML writes a section of a configuration for each benchmark and VM that needs less than
// the full experiment. The sections are those of all machines, so that they can follow any
// configuration. source is the experiment.
func OptimizedTOML(w io.Writer, source string, sizes []optimize.Size) {
	fmt.Fprintf(w, "\n# What krunctl enough optimize found in %s, to follow a copy of its configuration:\n",
		display.Terminal(source))
	fmt.Fprint(w, "# docs/optimize.md\n")
	for _, z := range sizes {
		fmt.Fprintf(w, "\n# %s: %d of %d executions, %d of %d iterations\n",
			display.Terminal(strings.Join(z.Keys, ", ")), z.Executions, z.AllExecutions, z.Iterations,
			z.AllIterations)
		fmt.Fprintf(w, "[machines.\"*\".benchmarks.%q.vms.%q]\n", z.Benchmark, z.VM)
		fmt.Fprintf(w, "executions = %d\niterations = %d\n", z.Executions, z.Iterations)
	}
}

// ChangesText prints the changes that full and reduced configurations detect, version by version.
// limit is the smallest relevant change.
func ChangesText(w io.Writer, f *optimize.Findings, limit float64) {
	side := "either way"
	if f.Published {
		side = "slower only"
	}
	made, missed, found := 0, 0, 0
	for i := range f.Changes {
		made, missed, found = made+f.Changes[i].FP, missed+f.Changes[i].FN, found+f.Changes[i].Full
	}
	fmt.Fprintf(w, "Does the part that has a result as stable still find what changed? It misses %d of %s, "+
		"and makes up %d.\n\n", missed, display.Count(found, "change"), made)
	fmt.Fprintf(w, "%s: minimal configurations for %s below %g; changes above %g%%, %s\n\n",
		display.Terminal(f.Source.Source), f.Metric, f.Threshold, 100*limit, side)
	number := strconv.Itoa
	var rows [][]string
	for i := range f.Changes {
		c := &f.Changes[i]
		rows = append(rows, []string{
			c.Before, c.After, number(c.Benchmarks), number(c.Full), number(c.Reduced), number(c.FP),
			number(c.FN), percentOf(warmup.Real(c.FPR)), percentOf(warmup.Real(c.FNR)),
		})
	}
	for i, s := range f.Strategies {
		name := "all"
		if i > 0 {
			name += ", " + s.Name // a baseline
		}
		r := s.Rates
		rows = append(rows, []string{
			name, "", "", number(r.Full), number(r.Reduced), number(r.FalsePositives),
			number(r.FalseNegatives), rangeText(r.FPR), rangeText(r.FNR),
		})
	}
	display.Table(w, []string{
		"before", "after", ">keys", ">changes in full", ">minimal", ">made up", ">missed",
		">false positives", ">false negatives",
	}, rows)
	for i := range f.Changes {
		changedText(w, &f.Changes[i])
	}
	savingsText(w, f)
	optimizeWarnings(w, f)
}

// rangeText writes the minimum, the maximum and the median.
func rangeText(r [3]float64) string {
	return fmt.Sprintf("%.3g%% to %.3g%%, median %.3g%%", 100*r[0], 100*r[1], 100*r[2])
}

// changedText lists the keys that changed.
func changedText(w io.Writer, c *optimize.Comparison) {
	if len(c.All) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s to %s:\n", display.Terminal(c.Before), display.Terminal(c.After))
	rows := make([][]string, len(c.All))
	for i, x := range c.All {
		note := ""
		switch {
		case x.Full == optimize.Unchanged:
			note = "made up"
		case x.Reduced == optimize.Unchanged:
			note = "missed"
		case x.Full != x.Reduced:
			note = "the other way"
		}
		rows[i] = []string{"  " + x.Name, x.Full.String(), x.Reduced.String(), note}
	}
	display.Table(w, []string{"  key", "in full", "minimal", ""}, rows)
}
