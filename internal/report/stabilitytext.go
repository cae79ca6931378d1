package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/stability"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// StabilityText prints where each key could have stopped, totals over all keys, and notes.
func StabilityText(w io.Writer, doc *stability.Document) {
	p := doc.Parameters
	fmt.Fprint(w, "Where could warm-up and executions have stopped by themselves?")
	for _, t := range doc.Totals {
		if t.Keys > 0 {
			fmt.Fprintf(w, "\n%s saves %s of the time, with the same result for %d of %s.", t.Criterion,
				percentOf(t.Saved), t.Same, display.Count(t.Keys, "key"))
			break
		}
	}
	fmt.Fprint(w, "\n\n")
	fmt.Fprintf(w,
		"%s: %s, profile %s, step %s, warm-up %d to %d steps, %d measured, %d to %d executions\n\n",
		display.Terminal(doc.Source.Source), display.Count(len(doc.Keys), "key"), p.Profile, p.Step,
		p.WarmupMin,
		p.WarmupMax, p.Measure, p.ExecutionsMin, p.ExecutionsMax)
	var rows [][]string
	for i := range doc.Keys {
		k := &doc.Keys[i]
		name := []string{k.Name.Benchmark, k.Name.VM, k.Name.VariantArm()}
		if len(k.Criteria) == 0 {
			rows = append(rows, append(name, "?"))
		}
		for j := range k.Criteria {
			rows = append(rows, slices.Concat(name, stabilityRow(k, &k.Criteria[j])))
			name = []string{"", "", ""}
		}
	}
	interval := "ratio (" + strconv.FormatFloat(100*p.Confidence, 'f', -1, 64) + "%)"
	display.Table(w, []string{
		"benchmark", "VM", "variant", "criterion", ">warm-up (steps)", ">executions", ">time", ">saved",
		interval, "A/A test",
	}, rows)
	stabilityTotals(w, doc)
	fmt.Fprint(w,
		"\nwarm-up: median (least-most) of the executions used. !: not stable before the\n"+
			"longest warm-up (so many executions), or before the executions ended.\n"+
			"ratio: mean of the shortened experiment to that of the full one.\n")
	printIndented(w, stabilityNotes(doc))
}

func stabilityRow(k *stability.KeyDocument, c *stability.CriterionDocument) []string {
	var steps []float64
	reached := 0
	for _, w := range c.Warmup[:c.Used] {
		steps = append(steps, float64(w.Steps))
		reached += arith.One(w.Reached)
	}
	warm := fmt.Sprintf("%s (%v-%v)", Number(arith.SpreadOf(steps).Median), slices.Min(steps),
		slices.Max(steps))
	if reached < c.Used {
		warm += fmt.Sprintf(" %d!", c.Used-reached)
	}
	used := fmt.Sprintf("%d of %d", c.Used, len(k.Executions))
	if !c.Reached {
		used += " !"
	}
	test := "different"
	if c.Same {
		test = "same"
	}
	ratio := "-"
	if !math.IsNaN(float64(c.Low)) {
		ratio = fmt.Sprintf("%.4f (%.4f, %.4f)", c.Ratio, c.Low, c.High)
	}
	return []string{
		string(c.Criterion), warm, used, anySeconds(c.Time), percentOf(c.Saved), ratio, test,
	}
}

// percentOf formats a share as a percentage, or "-" when it could not be computed.
func percentOf(part warmup.Real) string {
	if math.IsNaN(float64(part)) || math.IsInf(float64(part), 0) {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*part)
}

// stabilityTotals prints the paper's statistics of a suite.
func stabilityTotals(w io.Writer, doc *stability.Document) {
	var rows [][]string
	for _, t := range doc.Totals {
		if t.Keys == 0 {
			return
		}
		change := percentOf(t.Change)
		if t.ChangeOf > 1 {
			change += " ±" + percentOf(t.ChangeSD)
		}
		rows = append(rows, []string{
			string(t.Criterion), shareCell(t.Same, t.Keys), change, belowCell(t, 0), belowCell(t, 1),
			belowCell(t, 2), anySeconds(t.Time), anySeconds(t.FullTime), percentOf(t.Saved),
		})
	}
	fmt.Fprintln(w)
	display.Table(w, []string{"criterion", ">same result", ">change rate", ">below 1 %", ">2 %", ">3 %",
		">time", ">full", ">saved"}, rows)
}

// belowCell is the share of the keys whose change rate is below 1, 2 or 3 %.
func belowCell(t stability.Total, i int) string {
	return percentOf(warmup.Real(float64(t.Below[i]) / float64(t.ChangeOf)))
}

// stabilityNotes returns notes on circumstances that weaken the results.
func stabilityNotes(doc *stability.Document) []string {
	var notes []string
	for i := range doc.Keys {
		k := &doc.Keys[i]
		if k.Problem != "" {
			notes = append(notes, k.Key+": "+k.Problem)
		}
		if len(k.Executions) == 1 {
			notes = append(notes, k.Key+": with one execution no criterion can tell whether it is enough")
		}
		if n, err := strconv.Atoi(k.Step); doc.Parameters.Step == "auto" && err == nil { // not a second
			notes = append(notes, fmt.Sprintf("%s: too short for steps of a second: a step is %s", k.Key,
				display.Count(n, "iteration")))
		}
		notes = append(notes, leftOutNotes(k.Key, k.LeftOut)...)
	}
	return append(notes, doc.Problems...)
}
