package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"krund/internal/analysis/arith"
	"krund/internal/display"
)

// latexHead lists the packages to load, and defines the bar that holds the median, which is red in
// the study's tables. A spike is drawn from its own numbers, so that its command can be replaced.
const latexHead = `% \usepackage{amssymb,booktabs,longtable,sparklines}
\providecommand{\medianspike}{}
\def\medianspike #1 #2 {{\definecolor{sparkspikecolor}{rgb}{0.84,0.37,0}\sparkspike #1 #2 }}
`

// latex is the table as a fragment of a document that loads amssymb, and booktabs, longtable and
// sparklines, which warmup_stats' tables also need.
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
			cells[i] = latexCell(c)
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

func latexCell(c Cell) string {
	switch c := c.(type) {
	case Signs:
		return c(latexSymbol)
	case *Thumbnail:
		return c.latex()
	}
	return latexText(plainText(c))
}

// latexText escapes text and converts the signs that tables use.
func latexText(s string) string {
	return strings.NewReplacer(latexSigns...).Replace(escapeLaTeX(s))
}

// latex draws the thumbnail with the package sparklines.
func (h *Thumbnail) latex() string {
	if h == nil {
		return ""
	}
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

// escapeXML escapes text for XML, and for a terminal that shows it.
func escapeXML(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(display.PlainLine(s))) // a buffer has no errors
	return b.String()
}

var latexSpecial = strings.NewReplacer(
	`\`, `\textbackslash{}`, `{`, `\{`, `}`, `\}`, `$`, `\$`, `&`, `\&`, `#`, `\#`, `%`, `\%`, `_`, `\_`,
	`^`, `\textasciicircum{}`, `~`, `\textasciitilde{}`, `<`, `\textless{}`, `>`, `\textgreater{}`, `|`,
	`\textbar{}`,
	`[`, `{[}`, // after \\ it would begin an option
)

// latexQuotes opens a quotation at the beginning and after what may precede one, and closes others.
func latexQuotes(s string) string {
	var b strings.Builder
	before := ' '
	for _, r := range s {
		switch {
		case r != '"':
			b.WriteRune(r)
		case strings.ContainsRune(" ([{=:", before):
			b.WriteString("``")
		default:
			b.WriteString("''")
		}
		before = r
	}
	return b.String()
}

// escapeLaTeX escapes text for LaTeX with any engine and font encoding: letters missing from its
// own fonts (OT1) become "?".
func escapeLaTeX(s string) string {
	return latexSpecial.Replace(latexQuotes(strings.Map(func(r rune) rune {
		switch {
		case r < unicode.MaxASCII, slices.Contains(latexSigns, string(r)):
			return r
		case r >= 'À' && r <= 'ÿ' && !strings.ContainsRune("ÐÞðþ", r):
			return r
		}
		return '?'
	}, display.PlainLine(s))))
}

// latexSigns are characters outside of ASCII, each with its command.
var latexSigns = []string{"±", `$\pm$`, "×", `$\times$`, "→", `$\rightarrow$`, "≠", `$\neq$`, "°",
	`$^\circ$`, "µ", `$\mu$`, "−", `$-$`, "…", `\dots{}`, "▲", `$\blacktriangle$`, "▼", `$\blacktriangledown$`,
	"■", `$\blacksquare$`, "◆", `$\blacklozenge$`, "○", `$\circ$`}

var markdownSpecial = strings.NewReplacer(
	`\`, `\\`, `|`, `\|`, `*`, `\*`, `_`, `\_`, "`", "\\`", `<`, `&lt;`, `>`, `&gt;`, `[`, `\[`, `]`, `\]`,
	`~`, `\~`, `#`, `\#`, `&`, `&amp;`, `!`, `\!`,
)

func escapeMarkdown(s string) string { return markdownSpecial.Replace(display.PlainLine(s)) }
