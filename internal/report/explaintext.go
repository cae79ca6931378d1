package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/explain"
	"krund/internal/display"
)

// ExplainText prints what is established about each key, and every outlier and changepoint of the
// executions with the given numbers. The table has at most most characters a line; 0: any number.
func ExplainText(w io.Writer, most int, doc *explain.Document, executions []int) {
	answer := display.Terminal(doc.Source.Source + ": " + explainAnswer(doc))
	fmt.Fprintf(w, "%s\n\n", display.Wrap(answer, cmp.Or(most, explainWidth), "  "))
	rows := make([][]string, len(doc.Keys))
	for i := range doc.Keys {
		k := &doc.Keys[i]
		rows[i] = []string{k.Name.Benchmark, k.Name.VM, k.Name.VariantArm(), fmt.Sprint(len(k.Executions)),
			fmt.Sprint(k.Outliers.Total), shareText(k.Outliers), fmt.Sprint(k.Changepoints.Total),
			shareText(k.Changepoints), strings.Join(causesOf(k), ", ")}
	}
	display.NarrowTable(w, most, rowNames, []string{"benchmark", "VM", "variant", ">executions", ">outliers",
		">explained", ">changepoints", ">explained", "causes"}, rows)
	all := missingOfAll(doc.Keys)
	for i := range doc.Keys {
		explainKey(w, &doc.Keys[i], executions, all)
	}
	if len(all) > 0 {
		fmt.Fprintf(w, "\nMissing for all %s:\n", display.Count(len(doc.Keys), "key"))
		for _, missing := range all {
			fmt.Fprintln(w, display.Wrap("  "+display.Terminal(missing)+".", explainWidth, "    "))
		}
	}
	if len(doc.Problems) > 0 {
		fmt.Fprintln(w)
		printIndented(w, doc.Problems)
	}
}

// missingOfAll returns the evidence that every one of several keys lacks, which is printed once.
func missingOfAll(keys []explain.Key) []string {
	if len(keys) < 2 {
		return nil
	}
	var all []string
	for _, missing := range keys[0].Missing {
		lacks := func(k explain.Key) bool { return !slices.Contains(k.Missing, missing) }
		if !slices.ContainsFunc(keys, lacks) {
			all = append(all, missing)
		}
	}
	return all
}

func shareText(s explain.Coverage) string {
	if s.Total == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*float64(s.Explained)/float64(s.Total))
}

// explainAnswer says how much of all keys is explained, and by what in how many of them.
func explainAnswer(doc *explain.Document) string {
	var outliers, changepoints explain.Coverage
	keys, causes := map[string]int{}, []string{}
	for i := range doc.Keys {
		k := &doc.Keys[i]
		outliers.Total += k.Outliers.Total
		outliers.Explained += k.Outliers.Explained
		changepoints.Total += k.Changepoints.Total
		changepoints.Explained += k.Changepoints.Explained
		for _, c := range causesOf(k) {
			if keys[c]++; keys[c] == 1 {
				causes = append(causes, c)
			}
		}
	}
	var all, explained []string
	for _, of := range []struct {
		name string
		explain.Coverage
	}{{"outlier", outliers}, {"changepoint", changepoints}} {
		if text := display.Count(of.Total, of.name); of.Total > 0 {
			all, explained = append(all, text), append(explained, fmt.Sprintf("%d of %s", of.Explained, text))
		}
	}
	in := display.Count(len(doc.Keys), "key")
	switch {
	case all == nil:
		return "nothing to explain, no outlier and no changepoint in " + in
	case len(causes) == 0:
		return fmt.Sprintf("no cause is established for any of %s in %s", strings.Join(all, " and "), in)
	}
	slices.SortStableFunc(causes, func(a, b string) int { return keys[b] - keys[a] })
	for i, c := range causes {
		causes[i] = fmt.Sprintf("%s in %s", explain.Cause(c).Plural(), display.Count(keys[c], "key"))
	}
	return fmt.Sprintf("%s are explained: %s", strings.Join(explained, " and "), strings.Join(causes, ", "))
}

// causesOf lists the causes of a key, each once, without what only comes in the same bursts.
func causesOf(k *explain.Key) []string {
	var causes []string
	for i := range k.Statements {
		s := &k.Statements[i]
		if c := string(s.Cause); !s.SameBursts && !slices.Contains(causes, c) {
			causes = append(causes, c)
		}
	}
	return causes
}

// explainKey prints one key, without the missing evidence that is printed for all.
func explainKey(w io.Writer, k *explain.Key, executions []int, all []string) {
	fmt.Fprintf(w, "\n%s (instrument %s)\n", display.Terminal(k.Key), display.Terminal(k.Instrument))
	line := func(format string, args ...any) {
		fmt.Fprintln(w, display.Wrap("  "+display.Terminal(fmt.Sprintf(format, args...)), explainWidth,
			"    "))
	}
	for i := range k.Statements {
		s := &k.Statements[i]
		line("%s.", s.Text)
		line("  %s.", evidenceText(&s.Candidate, k.Tested, s.With))
	}
	if len(k.Statements) == 0 && k.Outliers.Total+k.Changepoints.Total > 0 {
		line("No cause is established for any outlier or changepoint.")
		if len(k.Candidates) > 0 {
			c := &k.Candidates[0]
			line("The best candidate is %s at %d of %d %s (%s): %s.", c.Cause, c.Hits, c.Targets, c.Target,
				c.Source, evidenceText(c, k.Tested, nil))
		}
	}
	if k.Outliers.Total+k.Changepoints.Total == 0 {
		line("It has no outlier and no changepoint.")
	} else {
		line("Unexplained: %s, %s.", leftText(k.Outliers, "outlier"), leftText(k.Changepoints, "changepoint"))
	}
	for i := range k.Executions {
		x := &k.Executions[i]
		if slices.Contains(executions, x.Number) {
			explainExecution(line, x)
		}
		for _, warning := range x.Steady.Warnings {
			line("Execution %d is %s, but %s.", x.Number, x.Steady.Text, warning)
		}
	}
	printIndented(w, leftOutNotes(k.Key, k.LeftOut))
	for _, warning := range k.Warnings {
		line("Warning: %s.", warning)
	}
	for _, missing := range k.Missing {
		if !slices.Contains(all, missing) {
			line("Missing: %s.", missing)
		}
	}
}

// explainWidth is the width of the text.
const explainWidth = 100

func leftText(s explain.Coverage, noun string) string {
	text := fmt.Sprintf("%d of %s", s.Total-s.Explained, display.Count(s.Total, noun))
	if s.Diagnosed > 0 {
		text += fmt.Sprintf(" (of %d of them it is known what changed in the processor's counters)",
			s.Diagnosed)
	}
	return text
}

// evidenceText states how strong the evidence is.
func evidenceText(c *explain.Candidate, tested int, with []string) string {
	text := fmt.Sprintf("Odds ratio %.0f, %.2g expected by chance, p = %.2g; %.2g corrected for %s",
		c.OddsRatio, c.Expected, c.P, c.Corrected, display.Count(tested, "candidate"))
	if c.Smallest >= 0.01 {
		text += fmt.Sprintf("; these events and %s cannot give a p below %.2g", c.Target, c.Smallest)
	}
	if c.Time != nil {
		text += fmt.Sprintf("; they took %.0f%% of the extra time", 100**c.Time)
	}
	if len(with) > 0 {
		text += "; seen with it: " + strings.Join(with, ", ")
	}
	return text
}

// explainExecution prints the findings of an execution.
func explainExecution(line func(string, ...any), x *explain.ExecutionFindings) {
	line("Execution %d, iterations 1 to %d: %s.", x.Number, x.Iterations, x.Steady.Text)
	for _, list := range [][]explain.Finding{x.Changepoints, x.Outliers} {
		for i := range list {
			line("  %s.", list[i].Text)
			for _, also := range list[i].Evidence {
				line("    also: %s", also)
			}
		}
	}
}

// whyCandidate is a row of the page's table of candidates.
type whyCandidate struct {
	*explain.Candidate
	Established string
}

// whyCandidates are those that are established, then the best of the others.
func whyCandidates(k *explain.Key) (list []whyCandidate) {
	for i := range k.Statements {
		established := "✓ yes"
		if k.Statements[i].SameBursts {
			established = "in the same bursts"
		}
		list = append(list, whyCandidate{&k.Statements[i].Candidate, established})
	}
	for i := range k.Candidates {
		list = append(list, whyCandidate{&k.Candidates[i], "no"})
	}
	return list
}

// whyWarned counts the executions whose steady state and VM disagree.
func whyWarned(k *explain.Key) (n int) {
	for i := range k.Executions {
		n += arith.One(len(k.Executions[i].Steady.Warnings) > 0)
	}
	return n
}

// explained returns the explanation of a key; nil if there is none, or nothing to explain it with.
func (in *Material) explained(pair int) *explain.Key {
	if in.Explanation == nil || pair >= len(in.Explanation.Keys) ||
		len(in.Explanation.Keys[pair].Sources) == 0 {
		return nil
	}
	return &in.Explanation.Keys[pair]
}

// whyRow is a key in the front page's table of explanations.
type whyRow struct {
	*explain.Key
	Index int // of the key
	Row   *Row
}

// whyRows lists the keys that have evidence.
func (in *Material) whyRows(rows []Row) (list []whyRow) {
	for i := range rows {
		if k := in.explained(i); k != nil {
			list = append(list, whyRow{k, i, &rows[i]})
		}
	}
	return list
}
