package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/howlong"
	"krund/internal/analysis/quantile"
	"krund/internal/analysis/warmup"
)

// printAnalysis prints the study's Table 2 and Table 1, and what weakens them.
func (a *app) printAnalysis(doc *warmup.Document) {
	p := doc.Parameters
	a.print("%s: %s of %s, mode %s, delta %s, penalty %s\n\n", visible(doc.Source.Name), visible(p.Column),
		plural(len(doc.Pairs), "key"), p.Mode, p.Delta, p.Penalty)
	perf := ">steady perf"
	if doc.Unit != "" {
		perf = fmt.Sprintf(">steady perf (%s)", visible(doc.Unit))
	}
	rows := make([][]string, len(doc.Pairs))
	for i := range doc.Pairs {
		rows[i] = pairRow(&doc.Pairs[i])
	}
	a.table([]string{"benchmark", "VM", "variant", ">executions", "class", ">steady iter (#)", ">steady iter (s)", perf}, rows)
	a.printTotals(doc)
	a.printWarnings(doc)
	a.printHowLong(doc.HowLong)
}

func pairRow(p *warmup.Pair) []string {
	executions := strconv.Itoa(p.Status.Analysed)
	if all := len(p.Executions); all != p.Status.Analysed {
		executions += " of " + strconv.Itoa(all)
	}
	return []string{
		p.Benchmark, p.VM, p.Variant, executions, classCell(p),
		spreadCell(p.SteadyIteration), spreadCell(p.SteadySeconds), performanceCell(p.SteadyPerformance),
	}
}

// classCell is the symbol and the class; for inconsistent pairs the counts,
// the most frequent first.
func classCell(p *warmup.Pair) string {
	if p.Classification == classify.None {
		return "?"
	}
	cell := p.Classification.Symbol() + " " + string(p.Classification)
	if p.Classification != classify.GoodInconsistent && p.Classification != classify.BadInconsistent {
		return cell
	}
	classes := slices.Clone(classify.Classes)
	slices.SortStableFunc(classes, func(x, y classify.Class) int { return p.Counts.Of(y) - p.Counts.Of(x) })
	var parts []string
	for _, c := range classes {
		if n := p.Counts.Of(c); n > 0 {
			parts = append(parts, fmt.Sprintf("%d%s", n, classify.PairClass(c).Symbol()))
		}
	}
	return cell + " (" + strings.Join(parts, " ") + ")"
}

func spreadCell(s *quantile.Spread) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%s (%s, %s)", plainDigits(s.Median), plainDigits(s.P5), plainDigits(s.P95))
}

func performanceCell(p *warmup.Performance) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%s ±%s", strconv.FormatFloat(p.Mean, 'g', 6, 64), strconv.FormatFloat(p.Half, 'g', 3, 64))
}

// plainDigits writes a number with at most four significant digits, and all
// of them before the point.
func plainDigits(v float64) string {
	if v >= 1000 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// printTotals prints how many keys and executions have each class.
func (a *app) printTotals(doc *warmup.Document) {
	classified := 0
	for _, n := range doc.Totals.Pairs {
		classified += n
	}
	if classified == 0 {
		return
	}
	classes := []classify.PairClass{"flat", "warmup", "slowdown", "no steady state", classify.GoodInconsistent, classify.BadInconsistent}
	var rows [][]string
	for _, c := range classes {
		row := []string{c.Symbol() + " " + string(c), part(doc.Totals.Pairs[c], classified), ""}
		if c != classify.GoodInconsistent && c != classify.BadInconsistent {
			row[2] = part(doc.Totals.Executions.Of(classify.Class(c)), doc.Totals.Executions.Total())
		}
		rows = append(rows, row)
	}
	a.print("\n")
	a.table([]string{"class", ">keys", ">executions"}, rows)
}

// part writes a number and its percentage.
func part(n, of int) string {
	if of == 0 {
		return "0"
	}
	return fmt.Sprintf("%d %5.1f%%", n, 100*float64(n)/float64(of))
}

// printWarnings lists what weakens the results: a line for each kind of
// warning, with the keys it is about.
func (a *app) printWarnings(doc *warmup.Document) {
	var lines []string
	for _, w := range doc.Warnings {
		lines = append(lines, w.Text)
	}
	var codes []string
	keys := map[string][]string{}
	texts := map[string][]string{}
	for i := range doc.Pairs {
		for _, w := range doc.Pairs[i].Warnings {
			if keys[w.Code] == nil {
				codes = append(codes, w.Code)
			}
			keys[w.Code] = append(keys[w.Code], doc.Pairs[i].Key)
			texts[w.Code] = append(texts[w.Code], w.Text)
		}
	}
	for _, code := range codes {
		lines = append(lines, warningLine(keys[code], texts[code], len(doc.Pairs)))
	}
	if len(lines) == 0 {
		return
	}
	a.print("\nWarnings:\n")
	for _, line := range lines {
		a.print("  %s\n", visible(line))
	}
}

// warningLine is one kind of warning about so many of all keys. Where the
// texts differ, in their numbers, the first stands for all.
func warningLine(keys, texts []string, all int) string {
	line := keys[0] + ": " + texts[0]
	switch rest := keys[1:]; {
	case len(rest) == 0:
		return line
	case len(keys) == all:
		line += fmt.Sprintf(" (and so all %d keys", all)
	case len(rest) <= 3:
		line += " (and so " + strings.Join(rest, ", ")
	default:
		line += fmt.Sprintf(" (and so %s and %d more keys", strings.Join(rest[:3], ", "), len(rest)-3)
	}
	if len(slices.Compact(slices.Sorted(slices.Values(texts)))) > 1 {
		line += ", with other numbers"
	}
	return line + ")"
}

// printHowLong prints how alike the conclusions of shorter experiments are.
func (a *app) printHowLong(s *howlong.Study) {
	if s == nil {
		return
	}
	a.print("\nWith so much less, you would have concluded the same (percent of the keys):\n\n")
	columns := []string{">class", ">steady iter", ">steady perf", ">overall"}
	a.table(append([]string{">iterations"}, columns...), shareRows(s.Iterations))
	a.print("\n")
	a.table(append([]string{">executions"}, columns...), shareRows(s.Executions))
	a.print("\n%s\n", leastSentence(s))
}

// leastSentence says what would have been enough.
func leastSentence(s *howlong.Study) string {
	if least, ok := s.Least(); ok {
		return fmt.Sprintf("With %d iterations and %d executions you would have concluded the same in %.1f%%.",
			least.Iterations, least.Executions, least.Overall.Percent)
	}
	return fmt.Sprintf("No shorter experiment would have concluded the same in %d%%.", howlong.Enough)
}

func shareRows(points []howlong.Point) [][]string {
	rows := make([][]string, len(points))
	for i, p := range points {
		rows[i] = []string{strconv.Itoa(p.N)}
		for _, s := range []howlong.Share{p.Classification, p.SteadyIteration, p.SteadyPerformance, p.Overall} {
			cell := "-"
			if s.Compared > 0 {
				cell = fmt.Sprintf("%.1f%%", s.Percent)
			}
			rows[i] = append(rows[i], cell)
		}
	}
	return rows
}
