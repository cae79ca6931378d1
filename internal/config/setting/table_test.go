package setting

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestTableOnATerminal: the text below a row keeps to the columns of a terminal, in a pipe it is
// one line.
func TestTableOnATerminal(t *testing.T) {
	why := strings.Repeat("a varying clock frequency changes every result ", 4)
	table := Table{[]Finding{{Name: "frequency", Policy: Warn, Status: StatusCannot, Why: why}}}
	for width, lines := range map[int]int{0: 1, 80: 3} {
		var b strings.Builder
		if err := table.Print(&b, width); err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(b.String()) {
			if strings.HasPrefix(line, strings.Repeat(" ", len("frequency  "))) {
				n++
			}
			if line = strings.TrimSuffix(line, "\n"); width > 0 && utf8.RuneCountInString(line) > width {
				t.Errorf("%q is wider than %d columns", line, width)
			}
		}
		if n != lines {
			t.Errorf("width %d: %d lines below the row, want %d:\n%s", width, n, lines, b.String())
		}
	}
}

// TestCellsOnATerminal: what was found and wanted is wrapped within its columns.
func TestCellsOnATerminal(t *testing.T) {
	table := Table{[]Finding{{Name: "caches", Policy: Off, Status: StatusOff,
		Found: "as the last program left them", Wanted: "empty caches, compact memory"},
		{Name: "frequency", Policy: Warn, Status: StatusOK, Found: "performance", Wanted: "performance"}}}
	for width, want := range map[int]string{
		0: "caches     off     off     as the last program left them  empty caches, compact memory\n" +
			"frequency  warn    ok      performance                    performance\n",
		80: "caches     off     off     as the last program left   empty caches, compact\n" +
			"                           them                       memory\n" +
			"frequency  warn    ok      performance                performance\n",
	} {
		var b strings.Builder
		if err := table.Print(&b, width); err != nil {
			t.Fatal(err)
		}
		_, rows, _ := strings.Cut(b.String(), "\n")
		if rows, _, _ = strings.Cut(rows, "\n\n"); rows+"\n" != want {
			t.Errorf("width %d:\n%s\nwant\n%s", width, rows, want)
		}
	}
}

func TestTableFails(t *testing.T) {
	fit := Table{[]Finding{
		{Policy: Require, Status: StatusWillSet}, {Policy: Warn, Status: StatusDiffers},
		{Policy: Apply, Status: StatusCannot}, {Policy: Off, Status: StatusOff},
	}}
	if fit.Fails() || len(fit.Problems()) != 0 {
		t.Error("a fit machine fails")
	}
	for _, s := range []Status{StatusCannot, StatusNeedsReboot, StatusDiffers} {
		unfit := Table{[]Finding{{Name: "x", Policy: Require, Status: s}}}
		if !unfit.Fails() || len(unfit.Problems()) != 1 || unfit.Problems()[0].Fix == "" {
			t.Errorf("a required setting that is %s does not fail, or has no fix", s)
		}
	}
}
