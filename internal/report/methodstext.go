package report

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/sequential"
	"krund/internal/analysis/similarity"
	"krund/internal/analysis/stability"
	"krund/internal/analysis/warmup"
	"krund/internal/analysis/warmupend"
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

func stabilityRow(k *stability.KeyResult, c *stability.CriterionResult) []string {
	var steps []float64
	reached := 0
	for _, w := range c.Warmups[:c.Used] {
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
		string(c.Criterion), warm, used, anySeconds(c.Seconds), percentOf(c.Saved), ratio, test,
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
		// not a second
		if n, err := strconv.Atoi(k.Step); err == nil && doc.Parameters.Step == stability.Auto {
			notes = append(notes, fmt.Sprintf("%s: too short for steps of a second: a step is %s", k.Key,
				display.Count(n, "iteration")))
		}
		notes = append(notes, leftOutNotes(k.Key, k.LeftOut)...)
	}
	return append(notes, doc.Problems...)
}

// SimilarityText prints the similarity of the executions of each key, with at most most characters
// a line; 0: any number.
func SimilarityText(w io.Writer, most int, doc *similarity.Document) {
	rows := make([][]string, len(doc.Keys))
	verdicts := map[string]int{}
	for i := range doc.Keys {
		rows[i] = similarityRow(&doc.Keys[i])
		verdicts[similarityVerdict(&doc.Keys[i])]++
	}
	var counts []string
	for _, v := range slices.Sorted(maps.Keys(verdicts)) {
		counts = append(counts, fmt.Sprintf("%d %s", verdicts[v], v))
	}
	fmt.Fprintf(w, "%s: %s: %s; %s, threshold %v\n\n", display.Terminal(doc.Source.Source),
		display.Count(len(doc.Keys), "key"), strings.Join(counts, ", "), display.Terminal(doc.Column),
		doc.Threshold)
	display.NarrowTable(w, most, rowNames, []string{
		"benchmark", "VM", "variant", ">executions", ">M1 corr", ">M2 compr", ">M3 Fourier", ">M4 cosine",
		">M5 KS", ">above", ">clusters", "verdict", "outliers",
	}, rows)
	fmt.Fprint(w, "\nM1 to M5 are averages over all pairs; 0 is alike, 1 is not. Dissimilar: 3 of 5\n"+
		"above the threshold, and several clusters (SAME); unclear: one of the two\n(docs/similarity.md).\n")
	printIndented(w, similarityNotes(doc))
}

func similarityRow(k *similarity.KeyResult) []string {
	executions := strconv.Itoa(len(k.Executions))
	if out := len(k.LeftOut); out > 0 {
		executions += fmt.Sprintf(" of %d", len(k.Executions)+out)
	}
	row := []string{k.Name.Benchmark, k.Name.VM, k.Name.VariantArm(), executions}
	if k.Averages == nil {
		return append(row, "", "", "", "", "", "", "", string(k.Verdict), "")
	}
	for _, v := range k.Averages.List() {
		row = append(row, fmt.Sprintf("%.3f", v))
	}
	return append(row, fmt.Sprintf("%d of 5", k.Above), strconv.Itoa(k.Same.Clusters), similarityVerdict(k),
		numberList(k.Outliers))
}

// similarityVerdict is what both rules say of a key, or "unclear".
func similarityVerdict(k *similarity.KeyResult) string {
	if k.Averages != nil && k.Verdict != k.Same.Verdict {
		return "unclear"
	}
	return string(k.Verdict)
}

func numberList(numbers []int) string { return strings.Trim(fmt.Sprint(numbers), "[]") }

// similarityNotes returns notes on remedies, and on circumstances that weaken the results.
func similarityNotes(doc *similarity.Document) []string {
	var notes []string
	for i := range doc.Keys {
		k := &doc.Keys[i]
		note := func(format string, args ...any) {
			notes = append(notes, k.Key+": "+fmt.Sprintf(format, args...))
		}
		switch {
		case k.Averages == nil:
			note("%s; two are needed to compare", display.Count(len(k.Executions), "usable execution"))
		case len(k.Outliers) == 1:
			note("execution %d is unlike the others; without, the heuristic says %s", k.Outliers[0], k.Rest)
		case len(k.Outliers) > 1:
			note("executions %s are unlike the others; without, the heuristic says %s",
				numberList(k.Outliers), k.Rest)
		case k.Same.Clusters > 1:
			note("%s, none with more than half of the executions: no execution is the outlier",
				display.Count(k.Same.Clusters, "cluster"))
		}
		differs := func(n int) bool { return n != k.Used }
		if k.Averages != nil && slices.ContainsFunc(k.Lengths, differs) {
			note("executions have different lengths; of each pair the first iterations count, %d of the "+
				"shortest", k.Used)
		}
		notes = append(notes, leftOutNotes(k.Key, k.LeftOut)...)
	}
	return append(notes, doc.Problems...)
}

func leftOutNotes(key string, out []warmup.LeftOut) []string {
	notes := make([]string, len(out))
	for i, o := range out {
		notes[i] = fmt.Sprintf("%s: execution %d was left out: %s", key, o.Execution, o.Problem)
	}
	return notes
}

// SimulateText prints what stopping policies would have saved in recorded experiments, a row for
// each.
func SimulateText(w io.Writer, s *sequential.Simulation) {
	r := s.Replays[0]
	fmt.Fprintf(w, "What would stopping early have saved? %s: %s of the executions.\n\n",
		strings.TrimSpace(r.Policy+" "+halfWidthText(r)), savedText(r.Executions.Share()))
	var rows [][]string
	seconds := false
	for _, r := range s.Replays {
		seconds = seconds || r.Seconds.All > 0
	}
	for _, r := range s.Replays {
		row := []string{
			r.Policy, halfWidthText(r), strconv.Itoa(int(r.Executions.All)),
			strconv.Itoa(int(r.Executions.Needed)), savedText(r.Executions.Share()),
			savedText(r.Iterations.Share()),
		}
		if seconds {
			row = append(row, display.Seconds(r.Seconds.All-r.Seconds.Needed))
		}
		rows = append(rows, append(row, keptText(r.Level), keptText(r.Within[0]), keptText(r.Class),
			keptText(r.Similar), keptText(r.Verdict)))
	}
	columns := []string{"policy", ">half width", ">executions", ">needed", ">saved", ">iterations saved"}
	if seconds {
		columns = append(columns, ">time saved")
	}
	display.Table(w, append(columns, ">level", ">within 1 %", ">class", ">alike", ">verdict"), rows)
	fmt.Fprintf(w, "\n%s, alpha %v, at least %s of each.\n"+
		"The last five columns are the conclusions of all executions that are kept: the\n"+
		"interval at the end covers the level, the level is within 1 %%, most executions\n"+
		"are of the same class, they are alike or unlike, and the verdict of each arm.\n",
		display.Count(len(s.Replays[0].Groups), "key"), s.Alpha, display.Count(s.Minimum, "execution"))
	if i := s.Identical; i != nil {
		fmt.Fprintf(w, "\nIdentical code: %d of %s had a false verdict at any look (%s to %s; wanted "+
			"at most %s).\n", i.False, display.Count(i.Tables, "table"), savedText(i.Low), savedText(i.High),
			savedText(s.Alpha))
	}
}

// halfWidthText is the wanted half width; "" for a policy that does not ask for one.
func halfWidthText(r *sequential.Replay) string {
	if !r.AsksHalfWidth() {
		return ""
	}
	return "±" + strconv.FormatFloat(100*r.HalfWidth, 'g', 3, 64) + " %"
}

func savedText(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }

func keptText(k sequential.Kept) string {
	if k.Of == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d", k.Same, k.Of)
}

// LaaberTables prints Tables 2 and 3 of Laaber et al.: how often the shortened experiment has the
// result of the full one, and the nominal time that each source saves.
func LaaberTables(w io.Writer, criteria []stability.Criterion, docs []*stability.Document) {
	all := stability.TotalsOf(criteria, docs...)
	columns := []string{""}
	rows := [][]string{{"A/A tests not different"}, {"mean change rate"}, {"changes below 1 %"},
		{"changes below 2 %"}, {"changes below 3 %"}, {"warm-ups not stable in time"},
		{"keys with too few executions"}}
	share := func(n, of int) string { return percentOf(warmup.Real(float64(n) / float64(of))) }
	for _, t := range all {
		columns = append(columns, ">"+string(t.Criterion))
		cells := []string{share(t.Same, t.Keys), percentOf(t.Change) + " ±" + percentOf(t.ChangeSD),
			belowCell(t, 0), belowCell(t, 1), belowCell(t, 2), share(t.Unstable, t.Warmups),
			share(t.NotEnough, t.Keys)}
		for i, cell := range cells {
			rows[i] = append(rows[i], cell)
		}
	}
	fmt.Fprintf(w, "Result quality (Laaber et al., Table 2): %s, profile %s, step %s\n\n",
		display.Count(all[0].Keys, "key"), docs[0].Parameters.Profile, docs[0].Parameters.Step)
	display.Table(w, columns, rows)
	fmt.Fprint(w, "\nTime saved (Table 3), nominal: a step is a second\n\n")
	columns[0] = "source"
	rows = nil
	for _, d := range docs {
		rows = append(rows, savingRow(d.Source.Source, stability.TotalsOf(criteria, d)))
	}
	display.Table(w, columns, append(rows, savingRow("total", all)))
}

// savingRow is a row of Table 3.
func savingRow(name string, totals []stability.Total) []string {
	row := []string{display.Terminal(name)}
	for _, t := range totals {
		const hour = 3600
		row = append(row, fmt.Sprintf("%.2fh (%s)", (t.Nominal.Full-t.Nominal.Total)/hour,
			percentOf(warmup.Real(t.Nominal.Part()))))
	}
	return row
}

// WarmupEnds prints where policies end warm-up, a table for each truth.
func WarmupEnds(w io.Writer, s *warmupend.Document) {
	for i, t := range s.Truths {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s\n\n", display.Terminal(t.Truth))
		var rows [][]string
		for _, r := range t.Rows {
			share := func(n int) string {
				return strconv.FormatFloat(100*float64(n)/float64(max(r.Executions, 1)), 'f', 1, 64) + " %"
			}
			rows = append(rows, []string{display.Terminal(r.Policy), strconv.Itoa(r.Executions),
				share(r.Within), share(r.Early), share(r.Late), share(r.None), share(r.Off)})
		}
		display.Table(w, []string{"policy", ">executions", ">within 5 steps", ">too early", ">too late",
			">no end", ">off by > 5 %"}, rows)
		if t.Short > 0 {
			fmt.Fprintf(w, "%s too short for the longest warm-up and a measurement.\n",
				display.Count(t.Short, "execution"))
		}
	}
	fmt.Fprintf(w, "\nA step is %s. within, too early, too late: where the policy ends warm-up. off: the\n"+
		"middle of the 95 %% interval of the ratio of the result to the steady one is more\n"+
		"than 5 %% from 1, and the interval does not contain 1.\n", display.Terminal(s.Step))
}
