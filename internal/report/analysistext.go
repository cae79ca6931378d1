package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/bootstrap"
	"krund/internal/analysis/classify"
	"krund/internal/analysis/compare"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// AnalysisText prints how many keys are of which class, the study's Table 2 and Table 1 of an
// analysis, the warnings, what was computed and, if requested, how long the experiment should have
// been. Table 2 has at most most characters a line; 0: any number.
func AnalysisText(w io.Writer, most int, doc *warmup.Document) {
	unit := display.UnitOf(doc.Unit)
	p := doc.Parameters
	if text := doc.Source.Programs; text != "" {
		fmt.Fprintf(w, "%s\n\n", display.Terminal(text))
	}
	fmt.Fprintf(w, "%s: %s\n\n", display.Terminal(doc.Source.Name), classesText(doc))
	rows := make([][]string, len(doc.Pairs))
	for i := range doc.Pairs {
		rows[i] = pairRow(&doc.Pairs[i], unit)
	}
	display.NarrowTable(w, most, rowNames, []string{
		"benchmark", "VM", "variant", ">executions", "class", ">steady iter (#)", ">steady time",
		">" + performanceHead(p), ">median", ">mean",
	}, rows)
	totalsText(w, doc)
	warningsText(w, most, doc)
	fmt.Fprintf(w, "\n%s, mode %s, delta %s, penalty %s\n", display.Terminal(p.Column), p.Mode, p.Delta,
		p.Penalty)
	if slices.ContainsFunc(doc.Pairs, func(p warmup.Pair) bool { return p.SteadyPerformance != nil }) {
		of := "the mean over executions"
		if p.Scheme == bootstrap.Pooled {
			of = "the mean of one execution"
		}
		fmt.Fprintln(w, display.Wrap(fmt.Sprintf("steady perf: the mean of steady iterations "+
			"(compare takes their shortest half, without spikes), ± half of the %g%% interval of %s, by "+
			"bootstrap as in the study; %s", 100*p.Confidence, of, otherIntervals("enough", "compare")), most,
			"  "))
	}
	if doc.HowLong != nil {
		fmt.Fprintln(w)
		HowLongText(w, doc.HowLong)
	}
}

// otherIntervals says that the intervals of other commands are not the one beside it.
func otherIntervals(a, b string) string {
	return fmt.Sprintf("those of %s and %s answer other questions (docs/analysis.md)", a, b)
}

// rowNames is the number of columns that name a row: benchmark, VM, variant.
const rowNames = 3

// MachineConfidence is that of the intervals of machines' levels, MachineKeys how many keys are
// listed with them.
const (
	MachineConfidence = 0.95
	MachineKeys       = 10
)

// MachineText prints how much the machines that share an experiment differ; nothing if they do not.
func MachineText(w io.Writer, l compare.Levels) {
	text := l.String()
	if text == "" {
		return
	}
	fmt.Fprintf(w, "\n%s\n", display.Terminal(text))
	if l.Differ == 0 {
		return
	}
	fmt.Fprintln(w)
	var rows [][]string
	for _, k := range l.Keys {
		levels := make([]string, len(k.Levels))
		for i, m := range k.Levels {
			levels[i] = m.String()
		}
		rows = append(rows, []string{k.Key, k.Range(), k.PText(), strings.Join(levels, ", ")})
	}
	display.Table(w, []string{"key", "slowest to fastest", ">p", "machines, to their mean"}, rows)
	if l.Omitted > 0 {
		fmt.Fprintf(w, "%s with a smaller difference not listed\n", display.Count(l.Omitted, "key"))
	}
}

func pairRow(p *warmup.Pair, unit display.Unit) []string {
	r := rowOf(p)
	return []string{
		p.Benchmark, p.VM, p.ParsedKey().VariantArm(), r.ExecutionsText(), classCell(r),
		r.StartText(), r.StartTimeText(), performanceText(p.SteadyPerformance, unit),
		r.MedianText(unit), r.MeanText(unit),
	}
}

// classCell returns the symbol and the class; for inconsistent pairs the counts, the most frequent
// first.
func classCell(r Row) string {
	text := r.ClassText(plain)
	symbol, rest, _ := strings.Cut(text, " ")
	switch {
	case r.Class == classify.None:
		return text
	case r.BelowDelta():
		return plain(r.Class) + " flat? (below delta)"
	}
	return strings.TrimSpace(symbol + " " + string(r.Class) + " " + rest)
}

// classes are those of keys, from what one hopes for to what one does not.
var classes = []classify.PairClass{"flat", "warmup", "slowdown", "no steady state",
	classify.GoodInconsistent, classify.BadInconsistent}

// classesText says how many keys there are, and how many of each class.
func classesText(doc *warmup.Document) string {
	var parts []string
	rest := len(doc.Pairs)
	for _, c := range classes {
		if n := doc.Totals.Pairs[c]; n > 0 {
			parts, rest = append(parts, fmt.Sprintf("%d %s", n, c)), rest-n
		}
	}
	if rest > 0 {
		parts = append(parts, fmt.Sprintf("%d without a class", rest))
	}
	return display.Count(len(doc.Pairs), "key") + ": " + strings.Join(parts, ", ")
}

// totalsText prints the number of keys and executions in each class.
func totalsText(w io.Writer, doc *warmup.Document) {
	keys, executions := classified(doc)
	if keys == 0 {
		return
	}
	var rows [][]string
	for _, c := range classes {
		row := []string{c.Symbol() + " " + string(c), shareCell(doc.Totals.Pairs[c], keys), ""}
		if c != classify.GoodInconsistent && c != classify.BadInconsistent {
			row[2] = shareCell(doc.Totals.Executions.Of(classify.Class(c)), executions)
		}
		rows = append(rows, row)
	}
	fmt.Fprintln(w)
	display.Table(w, []string{"class", ">keys", ">executions"}, rows)
}

// shareCell formats a number and its percentage.
func shareCell(n, of int) string {
	if of == 0 {
		return "0"
	}
	return fmt.Sprintf("%d %5.1f%%", n, 100*float64(n)/float64(of))
}

// warningsText prints a line for each kind of warning, with the affected keys, broken at most
// characters; 0: not broken.
func warningsText(w io.Writer, most int, doc *warmup.Document) {
	var lines []string
	for _, warning := range doc.Warnings {
		if warning.Code != warmup.WarnPrograms { // the first line
			lines = append(lines, warning.Text)
		}
	}
	for _, g := range warningsOf(doc) {
		lines = append(lines, warningLine(g.Keys, g.Texts, len(doc.Pairs)))
	}
	for i, line := range lines {
		lines[i] = display.Wrap(display.Terminal(line), max(0, most-2), "  ")
	}
	if len(lines) > 0 {
		fmt.Fprintf(w, "\nWarnings:\n  %s\n", strings.ReplaceAll(strings.Join(lines, "\n"), "\n", "\n  "))
	}
}

// printWarnings prints warnings below a title, unless there are none.
func printWarnings(w io.Writer, lines []string) {
	if len(lines) > 0 {
		fmt.Fprint(w, "\nWarnings:\n")
		printIndented(w, lines)
	}
}

func printIndented(w io.Writer, lines []string) {
	for _, line := range lines {
		fmt.Fprintf(w, "  %s\n", display.Terminal(line))
	}
}

// warningLine formats one kind of warning. all is the number of all keys. If the texts differ in
// their numbers, the first one is printed.
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

// HowLongText prints how often shorter experiments agree with the full one.
func HowLongText(w io.Writer, s *warmup.Study) {
	fmt.Fprint(w, "Would a shorter experiment have led to the same classification?\n")
	judged := func(p warmup.Point) bool { return p.Overall.Compared > 0 }
	if !slices.ContainsFunc(append(slices.Clone(s.Iterations), s.Executions...), judged) {
		fmt.Fprint(w, "Nothing could be judged: no execution has a class.\n")
		return
	}
	if least, ok := s.Least(); ok {
		fmt.Fprintf(w, "With only %d iterations and only %d executions the conclusions agree in %.1f%% of "+
			"%d samples;\nthe tables reduce one of the two.\n", least.Iterations, least.Executions,
			least.Overall.Percent, least.Overall.Compared)
	} else {
		fmt.Fprintf(w, "None reaches an agreement of %d%%.\n", warmup.Sufficient)
	}
	fmt.Fprint(w, "\nAgreement of shorter experiments with the full one (percent of the keys):\n\n")
	columns := []string{">class", ">steady iter", ">steady perf", ">overall"}
	display.Table(w, append([]string{">iterations"}, columns...), agreementRows(s.Iterations))
	fmt.Fprintln(w)
	display.Table(w, append([]string{">executions"}, columns...), agreementRows(s.Executions))
}

func agreementRows(points []warmup.Point) [][]string {
	rows := make([][]string, len(points))
	for i, p := range points {
		rows[i] = []string{strconv.Itoa(p.N)}
		for _, s := range []warmup.Agreement{p.Classification, p.SteadyIteration, p.SteadyPerformance,
			p.Overall} {
			cell := "-"
			if s.Compared > 0 {
				cell = fmt.Sprintf("%.1f%%", s.Percent)
			}
			rows[i] = append(rows[i], cell)
		}
	}
	return rows
}
