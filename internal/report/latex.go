package report

import (
	"fmt"
	"slices"
	"strings"

	"krund/internal/analysis/arith"
)

// latexHead lists the packages to load, and defines the bar that holds the median, which is red in
// the study's tables. A spike is drawn from its own numbers, so that its command can be replaced.
const latexHead = `% \usepackage{booktabs,longtable,sparklines}
\providecommand{\medianspike}{}
\def\medianspike #1 #2 {{\definecolor{sparkspikecolor}{rgb}{0.84,0.37,0}\sparkspike #1 #2 }}
`

// latex is the table as a fragment of a document that loads booktabs, longtable and sparklines,
// which warmup_stats' tables also need.
func (t *Table) latex() string {
	var b strings.Builder
	b.WriteString(latexHead)
	align := ""
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = latexText(c.Name())
		align += "lr"[arith.One(c.Right()):][:1]
	}
	fmt.Fprintf(&b, "\\begin{longtable}{%s}\n\\caption{%s\\label{%s}}\\\\\n\\toprule\n%s "+
		"\\\\\n\\midrule\n\\endhead\n\\bottomrule\n\\endfoot\n",
		align, latexText(t.captions()), t.Label, strings.Join(names, " & "))
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = c.latex()
		}
		b.WriteString(strings.Join(cells, " & ") + " \\\\\n")
	}
	b.WriteString("\\end{longtable}\n")
	for i, note := range t.Notes {
		if i == 0 {
			b.WriteString("\\begin{itemize}\n")
		}
		fmt.Fprintf(&b, "\\item %s\n", latexText(note))
		if i == len(t.Notes)-1 {
			b.WriteString("\\end{itemize}\n")
		}
	}
	return b.String()
}

func (c Cell) latex() string {
	switch {
	case c.Class != nil:
		return c.Class(latexSymbol)
	case c.Histogram != nil:
		return c.Histogram.latex()
	}
	return latexText(c.Text)
}

// latexText escapes text and converts the signs that tables use.
func latexText(s string) string {
	return strings.NewReplacer("±", `$\pm$`, "×", `$\times$`, "→", `$\rightarrow$`, "≠", `$\neq$`, "°",
		`$^\circ$`, "µ", `$\mu$`).Replace(escapeLaTeX(s))
}

// latex draws the thumbnail with the package sparklines.
func (h *Thumbnail) latex() string {
	most := slices.Max(h.Counts[:])
	var b strings.Builder
	b.WriteString(`\begin{sparkline}{7}`)
	for i, n := range h.Counts {
		command := `\sparkspike`
		if i == h.median() {
			command = `\medianspike`
		}
		if n > 0 {
			fmt.Fprintf(&b, ` %s %.2f %.2f`, command, (float64(i)+0.5)/bins, float64(n)/float64(most))
		}
	}
	b.WriteString(` \end{sparkline}`)
	return b.String()
}
