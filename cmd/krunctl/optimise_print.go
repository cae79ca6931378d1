package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"krund/internal/analysis/optimise"
	"krund/internal/analysis/warmup"
)

// printOptimised prints the recommendations, what they save, what weakens them,
// and lines for the experiment's file.
func (a *app) printOptimised(f *optimised, o optimiseOptions) {
	a.print("%s: %s, %s below %g\n\n", visible(f.suite.Source), plural(len(f.results), "key"), o.metric, o.search.Threshold)
	columns := []string{"key"}
	for _, l := range f.suite.Levels {
		columns = append(columns, ">"+l.Name)
	}
	columns = append(columns, ">saved", ">result", ">off")
	for _, m := range optimise.Metrics() {
		columns = append(columns, ">"+string(m))
	}
	columns = append(columns, ">confident")
	rows := make([][]string, len(f.results))
	for i := range f.results {
		rows[i] = f.cells(i, o.search.Metric)
	}
	a.table(columns, rows)
	a.printSavings(f)
	a.printOptimiseWarnings(f)
	a.printShared(f)
}

func (f *optimised) cells(i int, m optimise.Metric) []string {
	r := &f.results[i]
	empty := len(f.suite.Benchmarks[i].Rows) == 0
	cells := []string{r.Name}
	for k := range f.suite.Levels {
		cell := "-"
		if !empty {
			cell = fmt.Sprintf("%d of %d", f.repetitions(i, k, r.Minimal.At), f.repetitions(i, k, r.Full.At))
		}
		cells = append(cells, cell)
	}
	saved := "unstable"
	switch {
	case empty:
		saved = "-"
	case r.Stable:
		saved = percent(warmup.Real(r.SavedSeconds / r.Full.Seconds))
	}
	cells = append(cells, saved, f.value(r.Minimal.Summary(m).Average), signedPercent(r.AverageDiff))
	for _, each := range optimise.Metrics() {
		cells = append(cells, finePercent(r.Minimal.Metric(each)))
	}
	return append(cells, percent(warmup.Real(r.Confidence)))
}

// value writes a result with its unit.
func (f *optimised) value(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case f.suite.Unit == "s":
		return short(v * 1e9)
	case f.suite.Unit == "ns" && v >= 1:
		return short(v)
	}
	return strings.TrimSpace(strconv.FormatFloat(v, 'g', 4, 64) + " " + f.suite.Unit)
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

func (a *app) printSavings(f *optimised) {
	a.print("\n")
	rows := make([][]string, len(f.savings))
	for i, s := range f.savings {
		v := s.saved
		rows[i] = []string{s.name, seconds(v.Seconds), seconds(v.FullSeconds), percent(warmup.Real(v.Saved)), percent(warmup.Real(v.Within1)), percent(warmup.Real(v.Within3)), percent(warmup.Real(v.Within5)), percent(warmup.Real(v.Within10))}
	}
	a.table([]string{"strategy", ">time", ">of", ">saved", ">keys off by <= 1%", ">3%", ">5%", ">10%"}, rows)
}

// seconds writes a time of microseconds to weeks.
func seconds(s float64) string {
	const most = 1e9 // seconds; a Duration holds nine times as much
	switch {
	case s > most:
		return fmt.Sprintf("%.3gs", s)
	case s < 1:
		return short(s * 1e9)
	}
	return long(time.Duration(s * 1e9))
}

func (a *app) printOptimiseWarnings(f *optimised) {
	var lines []string
	lines = append(lines, f.suite.Warnings...)
	for i := range f.results {
		for _, w := range f.results[i].Warnings {
			lines = append(lines, f.results[i].Name+": "+w)
		}
	}
	if len(lines) == 0 {
		return
	}
	a.print("\nWarnings:\n")
	for _, l := range lines {
		a.print("  %s\n", visible(l))
	}
}

// printShared prints what can be written into the TOML.
func (a *app) printShared(f *optimised) {
	c := f.shared
	if c == nil {
		return
	}
	a.print("\n[experiment] # %d of %s stable with it, and near the full result\n", c.Good, isOrAre(len(f.results), "key"))
	a.print("executions = %d\niterations = %d\n", c.Executions, c.Iterations)
	for _, vm := range c.VMs {
		a.print("# [vms.%s] iterations = %d would do\n", visible(vm.VM), vm.Iterations)
	}
}

func isOrAre(n int, noun string) string {
	if n == 1 {
		return plural(n, noun) + " is"
	}
	return plural(n, noun) + " are"
}

// printChanges prints what full and reduced configurations find, version by
// version.
func (a *app) printChanges(f *optimised, o optimiseOptions) {
	side := "either way"
	if o.search.Published {
		side = "slower only"
	}
	a.print("%s: minimal configurations for %s below %g; changes above %g%%, %s\n\n", visible(f.suite.Source), o.metric, o.search.Threshold, 100*o.limit, side)
	var rows [][]string
	for i := range f.changes {
		c := &f.changes[i]
		rows = append(rows, []string{
			c.Before, c.After, itoa(c.Benchmarks), itoa(c.Full()), itoa(c.Reduced()), itoa(c.FP), itoa(c.FN), percent(warmup.Real(c.FPR())), percent(warmup.Real(c.FNR())),
		})
	}
	r := optimise.Sum(f.changes)
	rows = append(rows, []string{"all", "", "", itoa(r.Full), itoa(r.Reduced), itoa(r.FalsePositive), itoa(r.FalseNegatives), span(r.FPRMin, r.FPRMax, r.FPRMedian), span(r.FNRMin, r.FNRMax, r.FNRMedian)})
	a.table([]string{"before", "after", ">keys", ">changes in full", ">minimal", ">made up", ">missed", ">false positives", ">false negatives"}, rows)
	for i := range f.changes {
		a.printChange(&f.changes[i])
	}
	a.printSavings(f)
	a.printOptimiseWarnings(f)
}

// span is the least, the most and the median.
func span(low, high, middle float64) string {
	return fmt.Sprintf("%.1f%% to %s, median %s", 100*low, percent(warmup.Real(high)), percent(warmup.Real(middle)))
}

// printChange lists the keys that changed.
func (a *app) printChange(c *optimise.Comparison) {
	if len(c.Changes) == 0 {
		return
	}
	a.print("\n%s to %s:\n", visible(c.Before), visible(c.After))
	rows := make([][]string, len(c.Changes))
	for i, x := range c.Changes {
		note := ""
		switch {
		case x.Full == optimise.Unchanged:
			note = "made up"
		case x.Reduced == optimise.Unchanged:
			note = "missed"
		case x.Full != x.Reduced:
			note = "the other way"
		}
		rows[i] = []string{"  " + x.Name, direction(x.Full), direction(x.Reduced), note}
	}
	a.table([]string{"  key", "in full", "minimal", ""}, rows)
}

func direction(d optimise.Direction) string {
	switch d {
	case optimise.Slower:
		return "slower"
	case optimise.Faster:
		return "faster"
	case optimise.Unchanged:
	}
	return "same"
}
