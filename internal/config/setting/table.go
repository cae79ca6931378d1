package setting

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"krund/internal/display"
)

// A Table is a list of findings about a machine, printed as text for people or as JSON for
// programs.
type Table struct {
	Findings []Finding `json:"findings"`
}

// Fails reports whether a required setting or reading is not as wanted.
func (t Table) Fails() bool { return slices.ContainsFunc(t.Findings, Finding.Fails) }

// Problems returns one Problem for each finding that forbids measuring.
func (t Table) Problems() []Problem { return Problems(t.Findings) }

// widest bounds the columns of found and wanted values, in characters; longer ones push what
// follows to the right.
const widest = 36

// Print writes a row for each finding: name, policy, status, found, wanted. Below it come the
// detail and, unless all is well, why it matters and how to fix it. All is broken to fit a terminal
// of width columns; 0 breaks nothing. The last line is a summary.
func (t Table) Print(w io.Writer, width int) error {
	rows := [][]string{{"control", "policy", "status", "found", "wanted"}}
	for _, f := range t.Findings {
		rows = append(rows, []string{f.Name, string(f.Policy),
			strings.ReplaceAll(string(f.Status), "_", " "), or(f.Found, "-"), or(f.Wanted, "-")})
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], min(utf8.RuneCountInString(cell), widest))
		}
	}
	if width > 0 {
		fit(widths, width)
	}
	var b strings.Builder
	for i, row := range rows {
		writeRow(&b, row, widths, width > 0)
		if i > 0 {
			t.Findings[i-1].writeRemarks(&b, widths[0], width)
		}
	}
	fmt.Fprintf(&b, "\n%s\n", t.summary())
	_, err := io.WriteString(w, b.String())
	return err
}

func or(text, instead string) string {
	if text == "" {
		return instead
	}
	return text
}

// fit makes the last two columns narrower until a row has at most most characters, but not narrower
// than a word.
func fit(widths []int, most int) {
	const least = 12
	last := len(widths) - 1
	left := most
	for _, w := range widths[:last-1] {
		left -= w + gap
	}
	left -= gap
	half := left / 2
	found := min(widths[last-1], max(half, left-widths[last]))
	widths[last-1] = max(least, found)
	widths[last] = max(least, min(widths[last], left-found))
}

const gap = 2 // between columns

// writeRow writes the cells of a row, and if they are to be wrapped, the rest of long ones below.
func writeRow(b *strings.Builder, row []string, widths []int, wrap bool) {
	rest := slices.Clone(row)
	for more := true; more; {
		more = false
		var line strings.Builder
		for i := range rest {
			cell := rest[i]
			rest[i] = ""
			if wrap {
				cell, rest[i], _ = strings.Cut(display.Wrap(cell, widths[i], ""), "\n")
			}
			line.WriteString(cell)
			line.WriteString(strings.Repeat(" ", gap+max(0, widths[i]-utf8.RuneCountInString(cell))))
			more = more || rest[i] != ""
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// writeRemarks writes the lines below a row, indented by the width of the first column.
func (f Finding) writeRemarks(b *strings.Builder, indent, width int) {
	left := indent + len("  note ")
	remark := func(label, text string) {
		if text != "" {
			fmt.Fprintf(b, "%*s  %-4s %s\n", indent, "", label,
				strings.ReplaceAll(display.Wrap(text, width-left, ""), "\n", "\n"+strings.Repeat(" ", left)))
		}
	}
	remark("note", f.Detail)
	if f.Status == StatusOK || f.Status == StatusSet || f.Status == StatusOff {
		return
	}
	remark("why", f.Why)
	remark("fix", f.Fix)
}

// summary counts the findings by status.
func (t Table) summary() string {
	counts := map[Status]int{}
	for _, f := range t.Findings {
		counts[f.Status]++
	}
	var parts []string
	for _, s := range []Status{StatusOK, StatusSet, StatusWillSet, StatusDiffers, StatusNeedsReboot,
		StatusCannot, StatusOff} {
		if counts[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[s], strings.ReplaceAll(string(s), "_", " ")))
		}
	}
	verdict := "fit to measure"
	if n := len(t.Problems()); n > 0 {
		verdict = fmt.Sprintf("NOT fit to measure: %d required", n)
	}
	return strings.Join(append(parts, verdict), ", ")
}
