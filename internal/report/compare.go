package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/classify"
	"krund/internal/analysis/compare"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// compareWidth is that of the table of a comparison as text.
const compareWidth = 80

// CompareTable is a comparison as a table for readers.
func CompareTable(r *compare.Result) Table {
	if g := r.Groups; g != nil && !g.Two() {
		return groupTable(r)
	}
	t := Table{
		Answers: append(programs(r), compareAnswers(r)...),
		Caption: compareCaption(r),
		Label:   "tab:compare",
		Narrow:  compareWidth,
	}
	t.changes(r, r.Changes)
	t.Notes, t.Shown = compareNotes(r)
	return t
}

// changes adds a row for each change. The effects beside the steady state have columns if a key has
// them; their intervals are those of the key alone.
func (t *Table) changes(r *compare.Result, list []compare.Change) {
	t.Columns = []Head{"Key", "Verdict", ">Change", ">p", ">Before", ">Detectable", "Class"}
	null := slices.ContainsFunc(list, func(c compare.Change) bool { return c.Null != nil })
	first := slices.ContainsFunc(list, func(c compare.Change) bool { return c.FirstTotal != nil })
	if null {
		t.Columns = append(t.Columns, ">Null arm")
	}
	if first {
		t.Columns = append(t.Columns, Head(fmt.Sprintf(">First %d", r.FirstIterations)))
	}
	for i := range list {
		c := &list[i]
		v := newCompareView(r, c)
		row := []Cell{c.Key, c.Verdict, v.Change, v.P, v.Before, v.Detectable, classChange(c)}
		if null {
			row = append(row, v.Null)
		}
		if first {
			row = append(row, v.First)
		}
		t.Add(row...)
	}
}

func compareCaption(r *compare.Result) string {
	text := fmt.Sprintf("%s → %s: %d better, %d worse, %d the same, %d cannot be told", partyText(r.Before),
		partyText(r.After), r.Counts[compare.Better], r.Counts[compare.Worse], r.Counts[compare.Same],
		r.Counts[compare.CannotTell])
	if n := r.Counts[compare.Changed]; n > 0 {
		text += fmt.Sprintf(", %d changed otherwise", n)
	}
	if null := nullText(r.NullArm); null != "" {
		text += "; null arm: " + null
	}
	return text
}

// programs are the warnings that an output begins with.
func programs(r *compare.Result) (texts []string) {
	for _, w := range r.Warnings {
		if w.Code == warmup.WarnPrograms {
			texts = append(texts, w.Text)
		}
	}
	return texts
}

func partyText(p compare.Party) string {
	if p.Arm == "" {
		return p.Name
	}
	return p.Name + "@" + p.Arm
}

// classChange is the class of a key; what changed by chance alone is in brackets.
func classChange(c *compare.Change) Signs {
	return func(symbol func(classify.PairClass) string) string {
		if c.Before == c.After {
			return symbol(c.Before)
		}
		text := symbol(c.Before) + " to " + symbol(c.After)
		if !byClass(c) {
			return "(" + text + ")"
		}
		return text
	}
}

// steadyText is the effect that decides, with the interval of its verdict.
func steadyText(c *compare.Change) string {
	return effectText(c.Steady, func(i *compare.Interval) (low, high warmup.Real) { return i.Of(c.Verdict) })
}

// aloneText is an effect with the interval of the key alone.
func aloneText(e *compare.Effect) string {
	return effectText(e, func(i *compare.Interval) (low, high warmup.Real) { return i.AloneLow, i.AloneHigh })
}

func effectText(e *compare.Effect, ends func(*compare.Interval) (low, high warmup.Real)) string {
	if e == nil {
		return ""
	}
	i, number, none, sign := e.Ratio, ratioText, 1.0, ""
	if i == nil {
		i, number, none, sign = e.Difference, Number, 0, "difference "
	}
	low, high := ends(i)
	from, to := endsText(float64(low), float64(high), none, number)
	return fmt.Sprintf("%s%s (%s, %s)", sign, number(float64(i.Estimate)), from, to)
}

// endsText writes the ends of an interval. One that ends at no change, or rounds to it, does not
// contain it, and says so; that of equal values is no change alone.
func endsText(low, high, none float64, number func(float64) string) (from, to string) {
	from, to, end := number(low), number(high), number(none)
	switch {
	case low == none && high == none:
	case low >= none && from == end:
		from = ">" + end
	case high <= none && to == end:
		to = "<" + end
	}
	return from, to
}

// ratioText writes a ratio with four decimals, or four digits if it is far from 1.
func ratioText(v float64) string {
	if v < 0.1 || v >= 1e4 {
		return Number(v)
	}
	return display.Fixed(v, 4)
}

func pText(p float64) string {
	if p < 0.0001 {
		return "<0.0001"
	}
	return strconv.FormatFloat(p, 'f', 4, 64)
}

// corrections explains how the p-values were corrected.
var corrections = map[compare.Correction]string{
	compare.Holm: "the probability of any false verdict or interval in the table is at most " +
		"%s (Holm's step-down, intervals with a fixed share)",
	compare.BH:   "of the changes reported, a share of at most %s is false on average (Benjamini-Hochberg)",
	compare.None: "the probability of a false verdict is %s for each key, and larger for the table",
}

// compareNotes are what a reader has to know, first the method and what concerns all keys; shown is
// how many the text has at least.
func compareNotes(r *compare.Result) (notes []string, shown int) {
	const few = 5
	notes = methodNotes(r)
	for _, w := range r.Warnings {
		if w.Code != warmup.WarnPrograms { // Table.Answers
			notes = append(notes, w.Text)
		}
	}
	for _, s := range r.Restarts {
		notes = append(notes, restartsText(s))
	}
	shown = max(few, len(notes)+1) // the note of most keys is among them
	return append(append(notes, keyNotes(r)...), rulesText(r)), shown
}

// methodNotes are the sentences about what was compared, and how.
func methodNotes(r *compare.Result) []string {
	by := "executions, unpaired"
	if r.Paired {
		by = "executions, paired by block"
	}
	var notes []string
	if g := r.Groups; g != nil {
		notes = append(notes, fmt.Sprintf("before: %s; after: %s", g.Base, strings.Join(g.Levels, ", ")))
	}
	notes = append(notes,
		fmt.Sprintf("%s of the steady state and %d of the classes: "+corrections[r.Correction]+
			"; intervals have a confidence of %s, beside \"same\" that of its test; "+
			otherIntervals("analyze", "enough")+"; changes below %s are the same",
			display.Count(r.TestsSteady, "test"), r.TestsClass, Number(1-r.Confidence), Number(r.Level),
			compare.Percent(r.Margin)),
		fmt.Sprintf("compared are %s, each by the mean of the shortest half of its iterations (analyze "+
			"prints means, which spikes move); a change is that of their geometric means; "+
			"detectable: the smallest change that they would show with a probability of %s", by,
			compare.Percent(r.Power)))
	if c := r.Calibration; c != nil {
		notes = append(notes, calibrationText(c))
	}
	if i := r.Injected; i != nil {
		notes = append(notes, injectedText(i))
	}
	for _, s := range r.Seen {
		verb := "would not have been seen"
		if s.Found > 0 {
			verb = "would have been seen"
		}
		notes = append(notes, fmt.Sprintf("a slowdown of %s %s in this experiment: the arm %s, which was "+
			"held for that long, is worse in %d of %s", compare.Percent(s.Size), verb, s.Arm, s.Found,
			display.Count(s.Of, "key")))
	}
	for _, text := range []string{adviceText(r), layoutText(r), machinesText(r)} {
		if text != "" {
			notes = append(notes, text)
		}
	}
	return notes
}

// adviceText says what to do with the numbers that would decide a key; "" without any.
func adviceText(r *compare.Result) string {
	if !slices.ContainsFunc(r.Changes, func(c compare.Change) bool { return c.Help != nil }) {
		return ""
	}
	return "the numbers advised hold if the change is as measured, for nine of ten keys; compare the new " +
		"experiment alone, because adding executions until there is a verdict makes false ones, or measure " +
		"arms in blocks with the rule verdict of [stop], which may look at every block"
}

// largestOf returns the key in which a share is largest, and a text that its own one completes:
// with the median of all keys, if there are several. nil: no key has one.
func largestOf(r *compare.Result, share func(*compare.Change) (v float64, ok bool)) (largest *compare.Change,
	text string) {
	var all []float64
	for i := range r.Changes {
		if v, ok := share(&r.Changes[i]); ok {
			if len(all) == 0 || v > slices.Max(all) {
				largest = &r.Changes[i]
			}
			all = append(all, v)
		}
	}
	if len(all) < 2 {
		return largest, ""
	}
	return largest, fmt.Sprintf("%s in the median of %d keys, at most ",
		compare.Percent(arith.SpreadOf(all).Median), len(all))
}

// layoutText is the share of the layout in the noise; "" without one.
func layoutText(r *compare.Result) string {
	largest, text := largestOf(r, func(c *compare.Change) (float64, bool) {
		if c.Layout == nil {
			return 0, false
		}
		return c.Layout.Share, true
	})
	if largest == nil {
		return ""
	}
	l := largest.Layout
	return fmt.Sprintf("share of the layout in memory in the variance between executions, which cancels "+
		"within blocks: %s%s (%s to %s) in %s", text, compare.Percent(l.Share), compare.Percent(l.Low),
		compare.Percent(l.High), largest.Key)
}

// machinesText is how much the machines of a shared experiment differ; "" for one machine.
func machinesText(r *compare.Result) string {
	largest, text := largestOf(r, func(c *compare.Change) (float64, bool) {
		if c.Machines == nil || math.IsNaN(float64(c.Machines.Share)) {
			return 0, false
		}
		return float64(c.Machines.Spread), true
	})
	if largest == nil {
		return ""
	}
	m := largest.Machines
	return fmt.Sprintf("difference between the slowest and the fastest of %d machines, which cancels, "+
		"because the comparison is within machines: %s%s in %s, %s of the variance between executions, p %s",
		m.Machines, text, compare.Percent(float64(m.Spread)), largest.Key, compare.Percent(float64(m.Share)),
		pText(m.Corrected))
}

// injectedText is the answer of a positive control.
func injectedText(i *compare.Injected) string {
	if i.Tables == 0 {
		return fmt.Sprintf("no key can be compared, so a slowdown of %s would not have been found",
			compare.Percent(i.Size))
	}
	return fmt.Sprintf("a slowdown of %s in one key would have been found in %s (%s to %s) of %d tables of "+
		"the same data", compare.Percent(i.Size), compare.Percent(i.Rate), compare.Percent(i.Low),
		compare.Percent(i.High), i.Tables)
}

func calibrationText(c *compare.Calibration) string {
	return fmt.Sprintf("calibration: of %d tables of the same data without a change, %d (%s; %s to %s) had "+
		"a false verdict", c.Splits, c.False, compare.Percent(c.Rate), compare.Percent(c.Low),
		compare.Percent(c.High))
}

func rulesText(r *compare.Result) string {
	p := r.Rules
	return fmt.Sprintf("rules: column %s, mode %s, delta %s, steady %s, window %s, penalty %s, cost %s",
		p.Column, p.Mode, p.Delta, p.Steady, p.Window, p.Penalty, p.Cost)
}

// keyNotes are the reasons and warnings of keys, those of most keys first. Those that differ only
// in numbers, or in the side, are combined and use the text of the first.
func keyNotes(r *compare.Result) []string {
	var list remarks
	for _, c := range r.Changes {
		if c.Reason != "" {
			list.add(withoutNumbers(c.Reason), c.Reason, c.Key)
		}
		for _, w := range c.Warnings {
			text := w.Text
			if _, rest, ok := strings.Cut(text, ": "); ok && slices.ContainsFunc(c.Warnings,
				func(other warmup.Warning) bool { return other.Code == w.Code && other.Text != text }) {
				text = "before and after: " + rest
			}
			list.add(w.Code, text, c.Key)
		}
	}
	slices.SortStableFunc(list, func(a, b remark) int { return len(b.Keys) - len(a.Keys) })
	var notes []string
	for _, g := range list {
		notes = append(notes, g.line(1))
	}
	return notes
}

// withoutNumbers is the text without its digits.
func withoutNumbers(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r == '.' {
			return -1
		}
		return r
	}, text)
}

// CompareCSV writes a comparison as CSV for programs.
func CompareCSV(w io.Writer, r *compare.Result) error {
	columns := `key verdict reason only_in classification_before classification_after class_p=class.p
		class_p_corrected=class.p_corrected class=class.verdict paired level=of_all first_from`
	for _, q := range []string{"steady", "steady_mean", "steady_iteration", "first", "first_total", "null"} {
		columns += strings.ReplaceAll(` Q_before_executions=Q.before_executions
			Q_after_executions=Q.after_executions Q_before=Q.before Q_after=Q.after Q_ratio=Q.ratio.estimate
			Q_low=Q.ratio.low Q_high=Q.ratio.high Q_alone_low=Q.ratio.alone_low
			Q_alone_high=Q.ratio.alone_high Q_same_low=Q.ratio.same_low Q_same_high=Q.ratio.same_high
			Q_difference=Q.difference.estimate Q_p=Q.p Q_p_corrected=Q.p_corrected Q_p_margin=Q.p_margin
			Q_p_margin_corrected=Q.p_margin_corrected Q_test=Q.test Q_freedom=Q.freedom Q_sd=Q.sd
			Q_detectable=Q.detectable`, "Q", q)
	}
	columns += ` more_executions=help.more_executions would_show=help.would_show
		would_show_same=help.would_show_same warnings
		warnings_of_all base factor_level=level row`
	type row struct {
		*compare.Change
		Paired bool             `json:"paired"`
		Level  float64          `json:"of_all"`
		All    []warmup.Warning `json:"warnings_of_all"`
	}
	rows := make([]row, len(r.Changes))
	for i := range r.Changes {
		rows[i] = row{&r.Changes[i], r.Paired, r.Level, r.Warnings}
	}
	return tableOf(columns, rows).Write(w, CSV)
}

// compareFormat is the version of CompareJSON.
const compareFormat = 2

// restartsJSON is a comparison of kinds of restart.
type restartsJSON struct {
	Format  int                 `json:"format"`
	Before  string              `json:"before"` // kind of restart
	After   string              `json:"after"`
	Compare *compare.Result     `json:"compare"`
	Spread  []compare.KeySpread `json:"spread"`
}

// CompareJSON writes a complete comparison as JSON; values that could not be computed are null.
func CompareJSON(w io.Writer, r *compare.Result) error {
	if g := r.Groups; g != nil && g.By == compare.ByRestart {
		return display.WriteJSON(w, restartsJSON{1, g.Base, strings.Join(g.Levels, ", "), r, r.Restarts})
	}
	return display.WriteJSON(w, struct {
		Format int `json:"format"`
		*compare.Result
		Answers   []string          `json:"answers"`
		Summaries []compare.Summary `json:"summaries"`
	}{compareFormat, r, compareAnswers(r), r.Summaries()})
}

// restartsText is how much the executions of a key vary between restarts of the hardware.
func restartsText(s compare.KeySpread) string {
	if s.RestartSpread == nil {
		return s.Key + ": the variation between restarts of the hardware is unknown; it needs at least two " +
			"of them with several executions of the key"
	}
	percent := func(v float64) string { return fmt.Sprintf("%.2f%%", 100*v) }
	return fmt.Sprintf("%s varies by %s between %d restarts of the hardware, by %s after the same one "+
		"(standard deviations); share %.0f%% (%.0f%% to %.0f%%), p = %.2g", s.Key, percent(s.Between),
		s.Boots, percent(s.Within), 100*s.Share, 100*s.Range[0], 100*s.Range[1], s.P)
}
