package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"krund/internal/analysis/quantile"
	"krund/internal/analysis/stability"
	"krund/internal/analysis/warmup"
)

func (a *app) printStability(doc *stabilityJSON) {
	p := doc.Parameters
	a.print("%s: %s, profile %s, step %s, warm-up %d to %d steps, %d measured, %d to %d executions\n\n", visible(doc.Source.Name),
		plural(len(doc.Keys), "key"), p.Profile, p.Step, p.WarmupMin, p.WarmupMax, p.Measure, p.ExecutionsMin, p.ExecutionsMax)
	var rows [][]string
	for i := range doc.Keys {
		k := &doc.Keys[i]
		name := k.names
		if len(k.Criteria) == 0 {
			rows = append(rows, slices.Concat(name, []string{"?"}))
		}
		for j := range k.Criteria {
			rows = append(rows, slices.Concat(name, stabilityRow(k, &k.Criteria[j])))
			name = []string{"", "", ""}
		}
	}
	interval := "ratio (" + strconv.FormatFloat(100*p.Confidence, 'f', -1, 64) + "%)"
	for i := range rows {
		rows[i] = append(rows[i], make([]string, 10-len(rows[i]))...)
	}
	a.table([]string{"benchmark", "VM", "variant", "criterion", ">warm-up (steps)", ">executions", ">time", ">saved", interval, "A/A test"}, rows)
	a.printStabilityTotals(doc)
	a.printStabilityNotes(doc)
}

func stabilityRow(k *stabilityKeyJSON, c *stabilityCriterionJSON) []string {
	var steps []float64
	reached := 0
	for _, w := range c.Warmup[:c.Used] {
		steps = append(steps, float64(w.Steps))
		if w.Reached {
			reached++
		}
	}
	warm := fmt.Sprintf("%s (%v-%v)", plainDigits(quantile.SpreadOf(steps).Median), slices.Min(steps), slices.Max(steps))
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
	return []string{string(c.Criterion), warm, used, secondsOf(c.Time), percent(c.Saved), ratio, test}
}

// secondsOf writes a duration in seconds.
func secondsOf(s float64) string {
	const longest = 1e9 // what a Duration can hold, and more than a lifetime
	if s > longest {
		return fmt.Sprintf("%.3gs", s)
	}
	return long(time.Duration(s * float64(time.Second)))
}

func percent(part warmup.Real) string {
	if math.IsNaN(float64(part)) || math.IsInf(float64(part), 0) {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*part)
}

// printStabilityTotals prints what the paper says of a suite.
func (a *app) printStabilityTotals(doc *stabilityJSON) {
	var rows [][]string
	for _, t := range doc.Totals {
		if t.Keys == 0 {
			return
		}
		change := percent(t.Change)
		if t.ChangeOf > 1 {
			change += " ±" + percent(t.ChangeSD)
		}
		rows = append(rows, []string{string(t.Criterion), part(t.Same, t.Keys), change, secondsOf(t.Time), secondsOf(t.FullTime), percent(t.Saved)})
	}
	a.print("\n")
	a.table([]string{"criterion", ">same result", ">change rate", ">time", ">full", ">saved"}, rows)
}

// printStabilityNotes says what the signs mean, and what weakens the results.
func (a *app) printStabilityNotes(doc *stabilityJSON) {
	a.print("\nwarm-up: median (least-most) of the executions used. !: not stable before the longest warm-up (so many\n" +
		"executions), or before the executions ended. ratio: mean of the shortened experiment to that of the full one.\n")
	for i := range doc.Keys {
		k := &doc.Keys[i]
		if k.Problem != "" {
			a.print("  %s\n", visible(k.Key+": "+k.Problem))
		}
		if len(k.Executions) == 1 {
			a.print("  %s\n", visible(k.Key+": with one execution no criterion can tell whether it is enough"))
		}
		if doc.Parameters.Step == "auto" && k.Step != "" && k.Step != (stability.Length{Seconds: 1}).String() {
			a.print("  %s\n", visible(fmt.Sprintf("%s: too short for steps of a second: a step is %s", k.Key, stepInWords(k.Step))))
		}
		a.printLeftOut(k.Key, k.LeftOut)
	}
	for _, p := range doc.Problems {
		a.print("  %s\n", visible(p))
	}
}

// stepInWords is a step in words; k.Step is a number of them where it is not a duration.
func stepInWords(step string) string {
	if step == "1" {
		return "1 iteration"
	}
	return step + " iterations"
}

// stabilityCSV writes a row for each key and criterion, and one for a key
// without.
func stabilityCSV(w *csv.Writer, doc *stabilityJSON, header bool) error {
	if header {
		if err := w.Write([]string{
			"source", "key", "problem", "step", "criterion", "profile", "threshold", "executions", "executions_used", "reached", "warmup_steps", "warmup_not_reached",
			"time_s", "full_time_s", "saved", "mean_s", "full_mean_s", "ratio", "ratio_low", "ratio_high", "change_rate", "same",
		}); err != nil {
			return err
		}
	}
	number := func(v warmup.Real) string {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return ""
		}
		return exactly(float64(v))
	}
	for i := range doc.Keys {
		k := &doc.Keys[i]
		head := []string{doc.Source.Name, k.Key, k.Problem, k.Step}
		if len(k.Criteria) == 0 {
			if err := w.Write(append(head, make([]string, 18)...)); err != nil {
				return err
			}
		}
		for j := range k.Criteria {
			c := &k.Criteria[j]
			steps, missed := []int{}, 0
			for _, x := range c.Warmup[:c.Used] {
				steps = append(steps, x.Steps)
				if !x.Reached {
					missed++
				}
			}
			if err := w.Write(slices.Concat(head, []string{
				string(c.Criterion), string(doc.Parameters.Profile), exactly(c.Threshold), itoa(len(k.Executions)), itoa(c.Used), strconv.FormatBool(c.Reached),
				list(steps), itoa(missed), exactly(c.Time), number(k.FullTime), number(c.Saved), number(c.Mean), number(k.FullMean),
				number(c.Ratio), number(c.Low), number(c.High), number(c.Change), strconv.FormatBool(c.Same),
			})); err != nil {
				return err
			}
		}
	}
	w.Flush()
	return w.Error()
}
