package report

import (
	"fmt"
	"io"
	"strings"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
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

// Table is what every table is written from.
type Table struct {
	Answers []string // what the table says, in sentences without periods
	Caption string
	Narrow  int    // columns of a terminal that the text fits; 0: any
	Label   string // of LaTeX
	Columns []Head
	Rows    [][]Cell
	Missing string   // what the text has in the place of a nil
	Notes   []string // notes below: what weakens the results, and what signs mean
	Shown   int      // notes of the text, which counts the others; 0: all
}

// Head is that of a column. ">" before it makes the column flush right, as numbers are.
type Head string

// Name is the head without its mark.
func (c Head) Name() string { return strings.TrimPrefix(string(c), ">") }

// Right reports whether the column is flush right.
func (c Head) Right() bool { return strings.HasPrefix(string(c), ">") }

// Cell is a value of a table: a text, a number, a [Quantity], a [Code], a [Signs], a *[Thumbnail];
// nil if there is none. Each format writes it in its own way.
type Cell any

// Quantity is a measured value. For people it has the digits and the prefix of its unit, for
// programs all digits.
type Quantity struct {
	Value float64
	Unit  string // dataset.Seconds, dataset.Nanoseconds, "cycles", ...
}

// Code is a command.
type Code string

// Signs is a text that contains the signs of classes.
type Signs func(symbol func(classify.PairClass) string) string

// Time is a cell of nanoseconds; nil is none.
func Time[T int64 | float64](ns *T) Cell {
	if ns == nil {
		return nil
	}
	return Quantity{float64(*ns), dataset.Nanoseconds}
}

// Add adds a row.
func (t *Table) Add(cells ...Cell) { t.Rows = append(t.Rows, cells) }

// plainText returns a cell as text.
func plainText(c Cell) string {
	switch c := c.(type) {
	case nil:
		return ""
	case Signs:
		return c(plain)
	case *Thumbnail:
		return c.Text()
	case Quantity:
		if c.Unit == dataset.Nanoseconds {
			return display.Nanoseconds(c.Value)
		}
		return display.UnitOf(c.Unit).Value(c.Value)
	}
	return display.PlainLine(fmt.Sprint(c))
}

// ResultTable is the study's Table 2 of a document, with the medians and means of the executions'
// levels, which keys without a steady state have, too. facts may be nil.
func ResultTable(doc *warmup.Document, facts *Facts) Table {
	unit := display.UnitOf(doc.Unit)
	t := Table{
		Caption: fmt.Sprintf("%s: %s of %s, mode %s, delta %s", doc.Source.Name, doc.Parameters.Column,
			display.Count(len(doc.Pairs), "key"), doc.Parameters.Mode, doc.Parameters.Delta),
		Label: "tab:warmup",
		Columns: []Head{
			"Benchmark", "VM", "Variant", ">Executions", "Class", ">Steady iter (#)", "", ">Steady time",
			Head(">S" + performanceHead(doc.Parameters)[1:]), "", ">Median", ">Mean",
		},
	}
	for _, r := range Rows(doc) {
		t.Add(r.Benchmark, r.VM, r.VariantArm(), r.ExecutionsText(), Signs(r.ClassText), r.StartText(),
			r.IterationHistogram, r.StartTimeText(), performanceText(r.SteadyPerformance, unit),
			r.PerformanceHistogram, r.MedianText(unit), r.MeanText(unit))
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
		sign := Signs(func(symbol func(classify.PairClass) string) string { return symbol(s.Class) })
		row := []Cell{sign, string(s.Class), s.Pairs, percent(s.Pairs, pairs), nil, nil}
		if s.Executions != nil {
			row[4], row[5] = *s.Executions, percent(*s.Executions, executions)
		}
		t.Add(row...)
	}
	return t
}

// Write writes the table. CSV has its columns and rows alone.
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
	case CSV:
		return display.NewCSV(w).WriteAll(t.Values())
	default:
		return fmt.Errorf("a table cannot be written as %s", f)
	}
	_, err := io.WriteString(w, text)
	return err
}

// texts returns the columns and rows of the text. On a terminal, a cell that is longer than half of
// a line loses its middle, unless it is in the last column, which may be a sentence; and an empty
// column, which would be a table of its own below, is left out.
func (t *Table) texts() (columns []string, rows [][]string) {
	rows = make([][]string, len(t.Rows))
	for i, c := range t.Columns {
		cells, empty := make([]string, len(t.Rows)), t.Narrow > 0 && i > 0
		for k, row := range t.Rows {
			switch {
			case i >= len(row):
			case row[i] == nil:
				cells[k] = t.Missing
			default:
				cells[k] = plainText(row[i])
			}
			if t.Narrow > 0 && i < len(t.Columns)-1 {
				cells[k] = display.Middle(cells[k], t.Narrow/2)
			}
			empty = empty && cells[k] == ""
		}
		if empty {
			continue
		}
		columns = append(columns, string(c))
		for k := range rows {
			rows[k] = append(rows[k], cells[k])
		}
	}
	return columns, rows
}

func (t *Table) text() string {
	columns, rows := t.texts()
	var b strings.Builder
	line := func(text, indent string) {
		fmt.Fprintln(&b, display.Wrap(display.PlainLine(text), t.Narrow, indent))
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
			left := display.Count(len(t.Notes)-i, "note")
			line("  * and "+left+" more, with --format markdown", "    ")
			break
		}
		line("  * "+note, "    ")
	}
	return b.String()
}

// captions are the sentences above the table.
func (t *Table) captions() string {
	text := ""
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
	head, under := "", ""
	for _, c := range t.Columns {
		head += "| " + c.Name() + " "
		under += "|---" + strings.Repeat(":", arith.One(c.Right()))
	}
	head += "|\n" + under + "|\n"
	if len(t.Rows) > 0 {
		b.WriteString(head)
	}
	for _, row := range t.Rows {
		for _, c := range row {
			text := escapeMarkdown(plainText(c))
			switch c := c.(type) {
			case Signs:
				text = escapeMarkdown(c(unicodeSymbol))
			case Code:
				text = "`" + strings.NewReplacer("|", `\|`, "`", "'").Replace(plainText(c)) + "`"
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
			open, text := "<td>", escapeXML(plainText(c))
			switch c := c.(type) {
			case Signs:
				text = escapeXML(c(unicodeSymbol))
			case *Thumbnail:
				text = string(htmlThumbnail(c, "Number", Number))
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
