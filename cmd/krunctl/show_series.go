package main

import (
	"fmt"
	"strconv"

	"krund/internal/display"
	"krund/internal/results"
)

// printSeries writes a row for each iteration, numbered from 0 as in exports.
func (a *app) printSeries(r results.Skimmed) {
	columns := []string{">iteration", ">start", ">wall"}
	for _, c := range r.Columns {
		columns = append(columns, ">"+columnName(c))
	}
	row := make([]string, len(columns))
	rows := func(yield func([]string) bool) {
		cells := []func() string{cellsOf(r.Start, stampText), cellsOf(r.Wall, stampText)}
		for i, c := range r.Columns {
			text := valueText
			if c.Kind == results.KindCounter {
				text = countText
			}
			cells = append(cells, cellsOf(r.Series[i], text))
		}
		for i := range r.Wall.Len() {
			row[0] = strconv.Itoa(i)
			for j, next := range cells {
				row[1+j] = orDash(next())
			}
			if !yield(row) {
				return
			}
		}
	}
	a.print("start and wall in ns\n")
	display.LongTable(a.stdout, columns, rows)
}

// cellsOf returns a function that gives the texts of a series' values one by one, and "" after the last.
func cellsOf(p *results.Packed, text func(uint64) string) func() string {
	next := p.Cursor()
	return func() string {
		if v, ok := next(); ok {
			return text(v)
		}
		return ""
	}
}

func stampText(v uint64) string { return strconv.FormatInt(int64(v), 10) } //nolint:gosec // it was one

// columnName is the name of a column, with its core.
func columnName(c results.Column) string {
	if c.Core == nil {
		return c.Name
	}
	return fmt.Sprintf("%s_core%d", c.Name, *c.Core)
}

// cell is value i of a column, exactly; "" when it is missing.
func cell(c results.Column, i int) string {
	switch {
	case i < len(c.Counts):
		return countText(c.Counts[i])
	case i < len(c.Values):
		return valueText(uint64(c.Values[i])) //nolint:gosec // and back
	}
	return ""
}

func countText(v uint64) string {
	if v == results.MissingCount {
		return ""
	}
	return strconv.FormatUint(v, 10)
}

// valueText takes the value of a user column, packed.
func valueText(v uint64) string {
	if int64(v) == results.Missing { //nolint:gosec // it was one
		return ""
	}
	return stampText(v)
}
