package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"krund/internal/analysis/compare"
	"krund/internal/display"
)

// Grouped compares the keys of one or more experiments that differ in one part, with what weakens
// that. facts are those of each side; nil for files of other tools. The errors are those of
// [compare.Choice.Groups] and [compare.Of].
func Grouped(c compare.Choice, o compare.Options, sides []compare.Side, facts []*Facts) (*compare.Result,
	error) {
	g, err := c.Groups(sides...)
	if err != nil {
		return nil, err
	}
	r, err := compare.OfGroups(g, o)
	if err != nil {
		return nil, err
	}
	before, after := g.Sides()
	Weaken(r, before, after, facts[0], facts[0])
	for _, other := range facts[1:] {
		for _, w := range CompareWarnings(facts[0], other) {
			if !slices.Contains(r.Warnings, w) {
				r.Warnings = append(r.Warnings, w)
			}
		}
	}
	return r, nil
}

// Compare fills in Comparisons and Groups.
func (in *Material) Compare() error {
	compared := func(c compare.Choice) (*compare.Result, error) {
		side := compare.Side{Doc: in.Document, Data: in.Data}
		r, err := Grouped(c, compare.Options{}, []compare.Side{side}, []*Facts{in.Facts})
		if _, ok := errors.AsType[*compare.NoGroupsError](err); ok {
			return nil, nil
		}
		return r, err
	}
	for _, by := range []compare.Factor{compare.ByVM, compare.ByVariant, compare.ByArm} {
		r, err := compared(compare.Choice{By: by})
		switch {
		case err != nil:
			return err
		case r == nil:
			continue
		case by != compare.ByArm || !r.Groups.Two():
			in.Groups = append(in.Groups, r)
		}
		for _, arm := range r.Groups.Levels {
			if by == compare.ByArm {
				one, err := compared(compare.Choice{By: by, Base: r.Groups.Base, Only: []string{arm}})
				if err != nil {
					return err
				}
				in.Comparisons = append(in.Comparisons, one)
			}
		}
	}
	return nil
}

// groupTable has a row for what the levels have in common, and a column for each level.
func groupTable(r *compare.Result) Table {
	g := r.Groups
	t := Table{
		Answers: append(programs(r), compareAnswers(r)...), Label: "tab:groups", Narrow: compareWidth,
		Caption: groupCaption(r),
		Columns: []Head{Head(rowNoun(g)), Head(">" + g.Base)},
	}
	for _, level := range g.Levels {
		t.Columns = append(t.Columns, Head(">"+level))
	}
	for _, row := range groupRows(r) {
		cells := []Cell{row.Name, row.Base}
		for _, c := range row.Cells {
			cells = append(cells, strings.TrimSpace(c.Sign+" "+c.Text))
		}
		t.Add(cells...)
	}
	t.Notes, t.Shown = compareNotes(r)
	if g.Chosen != "" {
		t.Notes, t.Shown = slices.Insert(t.Notes, 0, g.Chosen), t.Shown+1
	}
	return t
}

// groupCaption explains the cells.
func groupCaption(r *compare.Result) string {
	return fmt.Sprintf("ratio to %s with its interval, all of which hold together with %s; ▲ higher, "+
		"▼ lower, ■ the same, ◆ other classes, ○ cannot tell", r.Groups.Base, percentText(r.Confidence))
}

// rowNoun is the head of the first column. Rows are benchmarks, unless variants tell them apart.
func rowNoun(g *compare.Groups) string {
	if (g.By == compare.ByVM || g.By == compare.ByVariant) &&
		!slices.ContainsFunc(g.Rows, func(row string) bool { return strings.ContainsAny(row, ":@") }) {
		return "Benchmark"
	}
	return "Key"
}

// groupRow is a row of the table of groups.
type groupRow struct {
	Name, Base string
	Cells      []groupCell
}

// groupCell is a level in a row; without a change, it does not exist.
type groupCell struct {
	Sign, Slug, Verdict, Text, Reason string
}

// groupRows are the rows of the table of groups.
func groupRows(r *compare.Result) []groupRow {
	g := r.Groups
	rows := make([]groupRow, len(g.Rows))
	for i, name := range g.Rows {
		rows[i] = groupRow{Name: name, Cells: make([]groupCell, len(g.Levels))}
	}
	for i := range r.Changes {
		c := &r.Changes[i]
		row := &rows[slices.Index(g.Rows, c.Row)]
		cell := groupCell{Verdict: string(c.Verdict), Slug: verdictSlug(c.Verdict), Reason: c.Reason,
			Sign: verdictSigns[c.Verdict]}
		switch e := c.Steady; {
		case c.OnlyIn != "":
			cell.Sign, cell.Text = "", "none"
		case e == nil:
		case e.Ratio == nil:
			cell.Text = steadyText(c)
		default:
			low, high := e.Ratio.Of(c.Verdict)
			from, to := endsText(float64(low), float64(high), 1, shortRatio)
			cell.Text = fmt.Sprintf("%s (%s, %s)", shortRatio(float64(e.Ratio.Estimate)), from, to)
		}
		if e := c.Steady; e != nil {
			row.Base = display.UnitOf(r.Unit).Value(float64(e.Before))
		}
		row.Cells[slices.Index(g.Levels, c.Level)] = cell
	}
	return rows
}
