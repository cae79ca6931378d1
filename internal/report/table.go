package report

import (
	"fmt"
	"io"
	"strings"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/classify"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// Format is a format of tables.
type Format string

// The formats.
const (
	Text     Format = "text"
	Markdown Format = "markdown"
	HTML     Format = "html"
	LaTeX    Format = "latex"
	CSV      Format = "csv"
	JSON     Format = "json"
)

// Formats lists all formats.
var Formats = []Format{Text, Markdown, HTML, LaTeX, CSV, JSON}

// Table is the common input of the formats for readers.
type Table struct {
	First   string   // sentences before the caption, with a space at the end; "": none
	Answers []string // what the table says, in sentences without periods
	Caption string
	Narrow  int    // columns of a terminal that the text fits; 0: any
	Label   string // of LaTeX
	Columns []Head
	Rows    [][]Cell
	Notes   []string // notes below: what weakens the results, and what signs mean
	Shown   int      // notes of the text, which counts the others; 0: all
}

// Head is that of a column. ">" before it makes the column flush right, as numbers are.
type Head string

// Name is the head without its mark.
func (c Head) Name() string { return strings.TrimPrefix(string(c), ">") }

// Right reports whether the column is flush right.
func (c Head) Right() bool { return strings.HasPrefix(string(c), ">") }

// Cell is text, or a list of classes, or a thumbnail.
type Cell struct {
	Text      string
	Code      bool                                                // Text is a command
	Class     func(symbol func(classify.PairClass) string) string // nil: Text
	Histogram *Thumbnail
}

// plainText returns the cell as text.
func (c Cell) plainText() string {
	switch {
	case c.Class != nil:
		return c.Class(plain)
	case c.Histogram != nil:
		return c.Histogram.Text()
	}
	return display.PlainLine(c.Text)
}

// ResultTable is the study's Table 2 of a document, with the medians and means of the executions'
// levels, which keys without a steady state have, too. facts may be nil.
func ResultTable(doc *warmup.Document, facts *Facts) Table {
	unit := display.UnitOf(doc.Unit)
	t := Table{
		Caption: fmt.Sprintf("%s: %s of %d keys, mode %s, delta %s", doc.Source.Name, doc.Parameters.Column,
			len(doc.Pairs), doc.Parameters.Mode, doc.Parameters.Delta),
		Label: "tab:warmup",
		Columns: []Head{
			"Benchmark", "VM", "Variant", ">Executions", "Class", ">Steady iter (#)", "", ">Steady time",
			Head(">S" + performanceHead(doc.Parameters)[1:]), "", ">Median", ">Mean",
		},
	}
	for _, r := range Rows(doc) {
		t.Rows = append(t.Rows, []Cell{
			{Text: r.Benchmark}, {Text: r.VM}, {Text: r.VariantArm()}, {Text: r.ExecutionsText()},
			{Class: r.ClassText},
			{Text: r.StartText()}, {Histogram: r.IterationHistogram},
			{Text: r.StartTimeText()},
			{Text: performanceText(r.SteadyPerformance, unit)},
			{Histogram: r.PerformanceHistogram}, {Text: r.MedianText(unit)}, {Text: r.MeanText(unit)},
		})
	}
	for _, w := range facts.Warnings() {
		t.Notes = append(t.Notes, w.Text)
	}
	t.Notes = append(t.Notes, warningNotes(doc)...)
	return t
}

// ShareTable is the study's Table 1 of a document.
func ShareTable(doc *warmup.Document) Table {
	t := Table{
		Caption: "Classes of " + doc.Source.Name, Label: "tab:classes",
		Columns: []Head{"", "Class", ">Keys", ">", ">Executions", ">"},
	}
	pairs, executions := classified(doc)
	for _, s := range ClassRows(doc) {
		row := []Cell{
			{Class: func(symbol func(classify.PairClass) string) string { return symbol(s.Class) }},
			{Text: string(s.Class)}, {Text: fmt.Sprint(s.Pairs)}, {Text: percent(s.Pairs, pairs)}, {}, {},
		}
		if s.Executions != nil {
			row[4], row[5] = Cell{Text: fmt.Sprint(*s.Executions)}, Cell{Text: percent(*s.Executions,
				executions)}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// Write writes the table in a format for readers: Text, Markdown, HTML, LaTeX.
func (t *Table) Write(w io.Writer, f Format) error {
	var text string
	switch f {
	case Text:
		text = t.text()
	case Markdown:
		text = t.markdown()
	case HTML:
		text = t.html()
	case LaTeX:
		text = t.latex()
	default:
		return fmt.Errorf("a table cannot be written as %s", f)
	}
	_, err := io.WriteString(w, text)
	return err
}

// widest is the number of characters of a cell in a table of text; longer ones lose their middle.
const widest = 60

func (t *Table) text() string {
	most := widest
	if t.Narrow > 0 {
		most = t.Narrow / 2
	}
	var columns []string
	rows := make([][]string, len(t.Rows))
	for i, c := range t.Columns {
		empty := t.Narrow > 0 && len(columns) > 0 // such a column would be a table of its own below
		for _, row := range t.Rows {
			empty = empty && (i >= len(row) || row[i].plainText() == "")
		}
		if empty {
			continue
		}
		columns = append(columns, string(c))
		for k, row := range t.Rows {
			if i < len(row) {
				text := row[i].plainText()
				if i < len(t.Columns)-1 || t.Narrow == 0 { // the last may be a sentence
					text = display.Middle(text, most)
				}
				rows[k] = append(rows[k], text)
			}
		}
	}
	var b strings.Builder
	line := func(text, indent string) {
		fmt.Fprintln(&b, display.Wrap(display.PlainLine(text), t.Narrow, indent))
	}
	if t.First != "" {
		line(t.First, "")
		fmt.Fprintln(&b)
	}
	for _, text := range t.Answers {
		line(text, "  ")
	}
	if t.Answers != nil && t.Caption != "" {
		fmt.Fprintln(&b)
	}
	if t.Caption != "" {
		line(t.Caption, "")
	}
	if len(rows) > 0 {
		if b.Len() > 0 {
			fmt.Fprintln(&b)
		}
		display.NarrowTable(&b, t.Narrow, 1, columns, rows)
	}
	for i, note := range t.Notes {
		if i == 0 {
			b.WriteString("\n")
		}
		if t.Shown > 0 && i == t.Shown && i < len(t.Notes)-1 {
			line(fmt.Sprintf("  * and %d notes more: --format markdown", len(t.Notes)-i), "    ")
			break
		}
		line("  * "+note, "    ")
	}
	return b.String()
}

// captions are the sentences above the table.
func (t *Table) captions() string {
	text := t.First
	for _, answer := range t.Answers {
		text += answer + ". "
	}
	return text + t.Caption
}

func (t *Table) markdown() string {
	var b strings.Builder
	if text := t.captions(); text != "" {
		fmt.Fprintf(&b, "%s\n\n", escapeMarkdown(text))
	}
	under := ""
	for _, c := range t.Columns {
		b.WriteString("| " + c.Name() + " ")
		under += "|---" + strings.Repeat(":", arith.One(c.Right()))
	}
	b.WriteString("|\n" + under + "|\n")
	for _, row := range t.Rows {
		for _, c := range row {
			text := escapeMarkdown(c.plainText())
			switch {
			case c.Class != nil:
				text = escapeMarkdown(c.Class(unicodeSymbol))
			case c.Code:
				text = "`" + strings.NewReplacer("|", `\|`, "`", "'").Replace(c.plainText()) + "`"
			}
			b.WriteString("| " + text + " ")
		}
		b.WriteString("|\n")
	}
	for i, note := range t.Notes {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "- %s\n", escapeMarkdown(note))
	}
	return b.String()
}

// html is the table as a part of a page.
func (t *Table) html() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<table>\n<caption>%s</caption>\n<thead><tr>", escapeXML(t.captions()))
	for _, c := range t.Columns {
		fmt.Fprintf(&b, `<th scope="col">%s</th>`, escapeXML(c.Name()))
	}
	b.WriteString("</tr></thead>\n<tbody>\n")
	for _, row := range t.Rows {
		b.WriteString("<tr>")
		for i, c := range row {
			open, text := "<td>", escapeXML(c.Text)
			switch {
			case c.Class != nil:
				text = escapeXML(c.Class(unicodeSymbol))
			case c.Histogram != nil:
				text = string(htmlThumbnail(c.Histogram, "Number", Number))
			}
			if t.Columns[i].Right() {
				open = `<td style="text-align:right">`
			}
			b.WriteString(open + text + "</td>")
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody>\n</table>\n")
	if len(t.Notes) > 0 {
		b.WriteString("<ul>\n")
		for _, note := range t.Notes {
			fmt.Fprintf(&b, "<li>%s</li>\n", escapeXML(note))
		}
		b.WriteString("</ul>\n")
	}
	return b.String()
}
