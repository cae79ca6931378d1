package report

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"krund/internal/analysis/similarity"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// SimilarityScoreText prints the agreement of raters, and how well the methods agree with them.
// threshold is that of the heuristic.
func SimilarityScoreText(w io.Writer, s *similarity.Score, threshold float64) {
	number := strconv.Itoa
	fmt.Fprintf(w, "%s rated by %s\n\n", display.Count(s.Subjects, "key"),
		display.Count(len(s.Raters), "person"))
	if s.Problem != "" {
		fmt.Fprintf(w, "Agreement: %s\n", display.Terminal(s.Problem))
	} else {
		fmt.Fprintf(w, "Agreement: %s of the ratings of a key, Fleiss' kappa %.2f (%s)\n",
			percentOf(s.Observed), float64(s.Kappa), s.Strength)
	}
	var rows [][]string
	for _, p := range s.Pairs {
		rows = append(rows, []string{display.Terminal(p.A), display.Terminal(p.B), number(p.Both),
			percentOf(warmup.Real(float64(p.Agreed) / float64(p.Both)))})
	}
	if len(rows) > 0 {
		fmt.Fprintln(w)
		display.Table(w, []string{"rater", "rater", ">both rated", ">agreed"}, rows)
	}
	fmt.Fprintf(w, "\nAll raters agree on %s: %d similar, %d dissimilar.",
		display.Count(s.Similar+s.Dissimilar, "key"), s.Similar, s.Dissimilar)
	if s.Missing > 0 {
		fmt.Fprintf(w, " %d of them could not be judged here.", s.Missing)
	}
	fmt.Fprint(w, "\n\n")
	columns := []string{"", ">sensitivity", ">specificity", ">accuracy", ">called dissimilar",
		">dissimilar, found", ">missed", ">similar, flagged", ">accepted"}
	cells := func(name string, r similarity.Rates) []string {
		return []string{name, percentOf(r.Sensitivity), percentOf(r.Specificity), percentOf(r.Accuracy),
			percentOf(r.Flagged), number(r.TruePositive), number(r.FalseNegative), number(r.FalsePositive),
			number(r.TrueNegative)}
	}
	rows = nil
	for _, m := range s.Methods {
		name := m.Method
		if name == "heuristic" {
			name += fmt.Sprintf(", threshold %v", threshold)
		}
		rows = append(rows, cells(name, m.Rates))
	}
	display.Table(w, columns, rows)
	fmt.Fprint(w, "\nOther thresholds of the heuristic; * has the largest sensitivity plus specificity\n\n")
	rows, best := nil, s.Best()
	for _, t := range s.Thresholds {
		mark := ""
		if t.Threshold == best {
			mark = " *"
		}
		rows = append(rows, cells(strconv.FormatFloat(t.Threshold, 'f', 2, 64)+mark, t.Rates))
	}
	columns[0] = "threshold"
	display.Table(w, columns, rows)
}

// SimilarityGroupsText prints the average measures of groups.
func SimilarityGroupsText(w io.Writer, groups []similarity.GroupAverages) {
	var rows [][]string
	for _, g := range groups {
		row := []string{display.Terminal(g.Group), strconv.Itoa(g.Keys)}
		for _, v := range append(measuresOf(&g), g.Mean()) {
			row = append(row, strconv.FormatFloat(v, 'f', 3, 64))
		}
		rows = append(rows, row)
	}
	display.Table(w, []string{"group", ">keys", ">M1 corr", ">M2 compr", ">M3 Fourier", ">M4 cosine",
		">M5 KS", ">mean"}, rows)
}

func measuresOf(g *similarity.GroupAverages) []float64 {
	m := g.Measures()
	return m[:]
}

// SimilarityHeatMap writes an SVG with a row for each group and a cell for each measure, as Figures
// 2 and 3 of Bauer et al.: from white, 0, to red, 1, with the value.
func SimilarityHeatMap(w io.Writer, groups []similarity.GroupAverages) error {
	const cell, row, top, label = 64, 20, 34, 420
	const most = 70 // characters of a label
	width, height := label+5*cell+10, top+row*len(groups)+10
	if _, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" `+
		`viewBox="0 0 %d %d" role="img" font-family="system-ui,sans-serif" font-size="11">`+
		`<title>Average dissimilarity of executions</title><rect width="%d" height="%d" fill="#fff"/>`,
		width, height, width, height, width, height); err != nil {
		return err
	}
	text := func(x, y int, anchor, s string) {
		fmt.Fprintf(w, `<text x="%d" y="%d" text-anchor="%s">%s</text>`, x, y, anchor, escapeXML(s))
	}
	for m, name := range []string{"M1 corr", "M2 compr", "M3 Fourier", "M4 cosine", "M5 KS"} {
		text(label+m*cell+cell/2, top-8, "middle", name)
	}
	for i, g := range groups {
		y := top + i*row
		text(label-8, y+14, "end", display.PlainLine(display.Clip(g.Group, most)))
		for m, v := range measuresOf(&g) {
			pale := int(math.Round(255 * (1 - 0.75*min(max(v, 0), 1))))
			fmt.Fprintf(w, `<rect x="%d" y="%d" width="%d" height="%d" fill="rgb(255,%d,%d)" stroke="#fff"/>`,
				label+m*cell, y, cell, row, pale, pale)
			text(label+m*cell+cell/2, y+14, "middle", strconv.FormatFloat(v, 'f', 2, 64))
		}
	}
	_, err := fmt.Fprintln(w, "</svg>")
	return err
}
