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

// widest bounds the columns of found and wanted values, in characters; longer ones push what
// follows to the right.
const widest = 36

// Print writes the verdict, and a row for each finding: name, policy, status, found, wanted. The
// problems come first, with the detail, why it matters and how to fix it; then what is not as
// wanted, with the detail and the fix; then what is well. Settings that are ignored are only named.
// All is broken to fit a terminal of width columns; 0 breaks nothing. The last line is a summary.
func (t Table) Print(w io.Writer, width int) error {
	shown := slices.Clone(t.Findings)
	slices.SortStableFunc(shown, func(a, b Finding) int { return a.rank() - b.rank() })
	ignored := slices.IndexFunc(append(shown, Finding{Status: StatusOff}),
		func(f Finding) bool { return f.Status == StatusOff })
	shown, off := shown[:ignored], shown[ignored:]
	rows := [][]string{{"control", "policy", "status", "found", "wanted"}}
	for _, f := range shown {
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
	fmt.Fprintf(&b, "%s\n\n", display.Wrap(t.answer(), width, "  "))
	for i, row := range rows {
		writeRow(&b, row, widths, width > 0)
		if i > 0 {
			shown[i-1].writeRemarks(&b, widths[0], width)
		}
	}
	if len(off) > 0 {
		fmt.Fprintf(&b, "\n%s\n", display.Wrap("ignored (off): "+names(off), width, "  "))
	}
	fmt.Fprintf(&b, "\n%s\n", display.Wrap(t.summary(), width, "  "))
	_, err := io.WriteString(w, b.String())
	return err
}

// rank is the place of a finding in the table: problems, what is not as wanted, what will be set,
// what is well, and what is ignored.
func (f Finding) rank() int {
	switch {
	case f.Fails():
		return 0
	case !f.Status.Fit():
		return 1
	case f.Status == StatusWillSet:
		return 2
	case f.Status == StatusOff:
		return 4
	}
	return 3
}

func names(list []Finding) string {
	all := make([]string, len(list))
	for i, f := range list {
		all[i] = f.Name
	}
	return strings.Join(all, ", ")
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
	if f.Status.Fit() {
		return
	}
	if f.Fails() || f.Fix == "" {
		remark("why", f.Why)
	}
	remark("fix", f.Fix)
}

// failing returns the findings that forbid measuring.
func (t Table) failing() []Finding {
	return slices.DeleteFunc(slices.Clone(t.Findings), func(f Finding) bool { return !f.Fails() })
}

// answer is the verdict, with what it is about.
func (t Table) answer() string {
	if list := t.failing(); len(list) > 0 {
		return "NOT fit to measure: " + names(list)
	}
	other := slices.DeleteFunc(slices.Clone(t.Findings), func(f Finding) bool { return f.Status.Fit() })
	if len(other) > 0 {
		return "fit to measure; not as wanted, but not required: " + names(other)
	}
	return "fit to measure"
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
	if n := len(t.failing()); n > 0 {
		verdict = fmt.Sprintf("NOT fit to measure: %d required", n)
	}
	return strings.Join(append(parts, verdict), ", ")
}
