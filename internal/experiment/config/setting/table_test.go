package setting

import (
	"strings"
	"testing"
	"unicode/utf8"

	"krund/rig/must"
)

// TestTableOnATerminal: the text below a row keeps to the columns of a terminal, in a pipe it is
// one line.
func TestTableOnATerminal(t *testing.T) {
	why := strings.Repeat("a varying clock frequency changes every result ", 4)
	table := Table{[]Finding{{Name: "frequency", Policy: Warn, Status: StatusCannot, Why: why}}}
	for width, lines := range map[int]int{0: 1, 80: 3} {
		var b strings.Builder
		must.Do(t, table.Print(&b, width))
		n := 0
		for line := range strings.Lines(b.String()) {
			if strings.HasPrefix(line, strings.Repeat(" ", len("frequency  "))) {
				n++
			}
			if line = strings.TrimSuffix(line, "\n"); width > 0 && utf8.RuneCountInString(line) > width {
				t.Errorf("%q is wider than %d columns", line, width)
			}
		}
		must.Equal(t, n, lines, "width", width, "lines below the row", b.String())
	}
}

// TestCellsOnATerminal: what was found and wanted is wrapped within its columns.
func TestCellsOnATerminal(t *testing.T) {
	table := Table{[]Finding{{Name: "caches", Policy: Apply, Status: StatusWillSet,
		Found: "as the last program left them", Wanted: "empty caches, compact memory"},
		{Name: "frequency", Policy: Warn, Status: StatusOK, Found: "performance", Wanted: "performance"}}}
	for width, want := range map[int]string{
		0: "caches     apply   will set  as the last program left them  empty caches, compact memory\n" +
			"frequency  warn    ok        performance                    performance\n",
		80: "caches     apply   will set  as the last program left  empty caches, compact\n" +
			"                             them                      memory\n" +
			"frequency  warn    ok        performance               performance\n",
	} {
		var b strings.Builder
		must.Do(t, table.Print(&b, width))
		_, rows, _ := strings.Cut(b.String(), "wanted\n")
		if rows, _, _ = strings.Cut(rows, "\n\n"); rows+"\n" != want {
			t.Errorf("width %d:\n%s\nwant\n%s", width, rows, want)
		}
	}
}

// TestProblemsFirst: the verdict and the problems with all that is known come first, then what is
// only not as wanted; what is ignored is only named.
func TestProblemsFirst(t *testing.T) {
	why, fix := "it matters", "do it"
	table := Table{[]Finding{
		{Name: "off1", Policy: Off, Status: StatusOff, Found: "x", Wanted: "y", Detail: "unseen"},
		{Name: "fine", Policy: Require, Status: StatusOK, Found: "1", Wanted: "1", Why: why,
			Detail: "by itself"},
		{Name: "set", Policy: Apply, Status: StatusWillSet, Found: "0", Wanted: "1", Why: why, Fix: fix},
		{Name: "warned", Policy: Warn, Status: StatusDiffers, Found: "0", Wanted: "1", Why: why, Fix: fix},
		{Name: "vague", Policy: Apply, Status: StatusCannot, Found: "0", Wanted: "1", Why: why},
		{Name: "broken", Policy: Require, Status: StatusCannot, Found: "0", Wanted: "1", Why: why, Fix: fix},
		{Name: "off2", Policy: Off, Status: StatusOff},
	}}
	const want = `NOT fit to measure: broken

control  policy   status    found  wanted
broken   require  cannot    0      1
         why  it matters
         fix  do it
warned   warn     differs   0      1
         fix  do it
vague    apply    cannot    0      1
         why  it matters
set      apply    will set  0      1
fine     require  ok        1      1
         note by itself

ignored (off): off1, off2

1 ok, 1 will set, 1 differs, 2 cannot, 2 off, NOT fit to measure: 1 required
`
	var b strings.Builder
	err := table.Print(&b, 0)
	must.Be(t, err == nil && b.String() == want, err, b.String(), "want", want)
	for n, want := range map[int]string{ // of the findings
		5: "fit to measure; not as wanted, but not required: warned, vague\n",
		3: "fit to measure\n",
	} {
		b.Reset()
		err := (Table{table.Findings[:n]}).Print(&b, 0)
		must.Be(t, err == nil && strings.HasPrefix(b.String(), want), err, b.String(), "want", want)
	}
}

func TestTableFails(t *testing.T) {
	fit := Table{[]Finding{
		{Policy: Require, Status: StatusWillSet}, {Policy: Warn, Status: StatusDiffers},
		{Policy: Apply, Status: StatusCannot}, {Policy: Off, Status: StatusOff},
	}}
	must.Be(t, !fit.Fails() && len(Problems(fit.Findings)) == 0, "a fit machine fails")
	for _, s := range []Status{StatusCannot, StatusNeedsReboot, StatusDiffers} {
		unfit := Table{[]Finding{{Name: "x", Policy: Require, Status: s}}}
		if !unfit.Fails() || len(Problems(unfit.Findings)) != 1 || Problems(unfit.Findings)[0].Fix == "" {
			t.Errorf("a required setting that is %s does not fail, or has no fix", s)
		}
	}
}
