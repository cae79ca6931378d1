package report

import (
	"fmt"
	"io"
	"strconv"

	"krund/internal/analysis/stability"
	"krund/internal/analysis/warmup"
	"krund/internal/analysis/warmupend"
	"krund/internal/display"
)

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
