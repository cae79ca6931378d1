package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/compare"
	"krund/internal/analysis/warmup"
	"krund/rig/must"
)

// comparison is one of every verdict, with a hostile name.
func comparison() *compare.Result {
	effect := func(ratio, width, p float64) *compare.Effect {
		return &compare.Effect{
			BeforeExecutions: 10, AfterExecutions: 10, Before: 1, After: warmup.Real(ratio),
			Ratio: &compare.Interval{
				Estimate: warmup.Real(ratio), Low: warmup.Real(ratio - 2*width),
				High: warmup.Real(ratio + 2*width), AloneLow: warmup.Real(ratio - width),
				AloneHigh: warmup.Real(ratio + width), SameLow: warmup.Real(ratio - 1.5*width),
				SameHigh: warmup.Real(ratio + 1.5*width),
			},
			P: p / 4, Corrected: p, SameP: 0.5, SameCorrected: 1, Test: compare.ModeratedT, Freedom: 20.5,
			SD: 0.016, Detectable: 0.031,
		}
	}
	executions := []compare.Execution{{Number: 1, Value: 1, Rule: compare.OfSteady, Class: "warmup"},
		{Number: 2, Value: 1.01, Rule: compare.OfSecondHalf, Class: "no steady state"}}
	return &compare.Result{
		Before: compare.Party{Source: warmup.Source{Name: "old.krun"}},
		After:  compare.Party{Source: warmup.Source{Name: "new_1.krun"}}, Unit: "s",
		Rules:      warmup.Default(classify.Relative),
		Confidence: 0.95, Margin: 0.01, Power: 0.8, Correction: compare.Holm,
		Tests: 8, TestsSteady: 4, TestsClass: 4, SteadyShare: 0.75, Level: 0.990625, Paired: true,
		Prior: compare.Prior{Freedom: 2.5, Variance: 0.0003, Keys: 12}, FirstIterations: 100,
		Counts: map[compare.Verdict]int{compare.Better: 1, compare.Worse: 1, compare.CannotTell: 2,
			compare.Changed: 1},
		NullArm: &compare.NullArm{Party: compare.Party{Source: warmup.Source{Name: "old.krun"}, Arm: "base2"},
			Differs: []string{"nbody:PyPy:x"}},
		Seen: []compare.Seen{{Arm: "slow", Size: 0.01, Found: 3, Of: 5}, {Arm: "less", Size: 0.002, Of: 5}},
		Calibration: &compare.Calibration{Splits: 1000, False: 31, Rate: 0.031, Low: 0.0212, High: 0.0438,
			Keys: 4, Histogram: []int{205, 195, 200, 200}},
		Changes: []compare.Change{
			{Key: "fasta:PyPy:x", Before: "warmup", After: "flat", ExecutionsBefore: executions,
				ExecutionsAfter: executions, Steady: effect(0.9, 0.01, 0.00001),
				Class:      &compare.Class{P: 0.2, Corrected: 1, Verdict: compare.CannotTell},
				SteadyMean: effect(0.91, 0.02, 0.01), First: effect(1, 0.1, 1), FirstTotal: effect(0.95,
					0.1, 0.5),
				Null: effect(1.001, 0.01, 0.9), Verdict: compare.Better},
			{Key: "nbody:PyPy:x", Before: "flat", After: "no steady state", Steady: effect(1.2, 0.01, 0.0001),
				Class: &compare.Class{P: 0.00001, Corrected: 0.0001, Verdict: compare.Worse},
				Null:  effect(1.02, 0.01, 0.1), Verdict: compare.Worse,
				Warnings: []warmup.Warning{{Code: "few_executions", Text: "before: few executions"}}},
			{Key: "spectral:PyPy:x", Before: "flat", After: "warmup", Steady: effect(1, 0.01, 1),
				Class: &compare.Class{P: 0.00001, Corrected: 0.0001, Verdict: compare.Changed},
				Null:  effect(1.001, 0.01, 0.9), Verdict: compare.Changed,
				Reason: "other classes than before, neither better nor worse"},
			{Key: "richards:PyPy:x", Before: "flat", After: "flat", Steady: effect(1.02, 0.02, 0.3),
				Null: effect(1.001, 0.01, 0.9), Verdict: compare.CannotTell,
				Reason: "10 executions would have shown a change of 3.1 %; a new experiment with 36 " +
					"blocks would show a change of 2 %",
				Help: &compare.Help{Executions: 36, Shows: 0.02}},
			{Key: hostile + ":PyPy:x", After: "flat", OnlyIn: "after", Verdict: compare.CannotTell,
				Reason: "only after has this key"},
		},
		Warnings: []warmup.Warning{{Code: "machines",
			Text: "before was measured on \"a\" and after on \"b\""}},
	}
}

func TestCompareGoldens(t *testing.T) {
	r := comparison()
	table := CompareTable(r)
	writeTable := func(f Format) func(io.Writer, *compare.Result) error {
		return func(w io.Writer, _ *compare.Result) error { return table.Write(w, f) }
	}
	for name, write := range map[string]func(io.Writer, *compare.Result) error{
		"text": writeTable(Text), "latex": writeTable(LaTeX), "csv": CompareCSV, "json": CompareJSON,
		"markdown": CompareMarkdown,
		"junit": func(w io.Writer, r *compare.Result) error {
			return CompareJUnit(w, r, []compare.Verdict{compare.Worse})
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			must.Do(t, write(&b, r))
			if name == "csv" {
				head, _, _ := strings.Cut(b.String(), "\n")
				names := strings.Split(head, ",")
				slices.Sort(names)
				must.Equal(t, len(slices.Compact(names)), strings.Count(head, ",")+1)
			}
			if name == "junit" {
				must.Do(t, xml.Unmarshal(b.Bytes(), new(struct{})))
			}
			golden(t, "compare."+name, b.String())
		})
	}
}

// TestComparePage: the page has every key with its verdict; a name is no code; a change of class
// that is not significant is gray.
func TestComparePage(t *testing.T) {
	var b bytes.Buffer
	must.Do(t, ComparePage(&b, comparison(), "test"))
	text := b.String()
	for _, bad := range []string{"<script>alert", "\x1b", "ZgotmplZ", "https://"} {
		must.Be(t, !strings.Contains(text, bad), "the page contains", bad)
	}
	for _, want := range []string{
		"new_1.krun is 20.0 % slower than old.krun in 1 of 5 keys, is 10.0 % faster in 1, other classes in 1",
		"old.krun@base2 differs in 1 key", "+20.0 %", "−10.0 %",
		`<span class="none" title="by chance, for all that can be told: p 1.0000">╲ → ―</span>`,
		`<b title="p 0.0001">― → ∿</b>`, "a new experiment with 36 blocks",
		"of 1000 tables of the same data without a change, 31 (3.1 %; 2.12 % to 4.38 %) had",
	} {
		must.Contain(t, text, want, "the page lacks")
	}
	must.Equal(t, strings.Count(text, "<tr data-class="), 5, "rows")
}

// TestOneKey: the answer names the two sides, and why nothing is known; with other classes it has
// the ratio, and says that it is no verdict.
func TestOneKey(t *testing.T) {
	r := comparison()
	r.Changes = r.Changes[2:3]
	must.Equal(t, CompareAnswer(r), "cannot tell whether new_1.krun is better or worse than old.krun: its "+
		"executions have other classes; ratio 1.0000 (0.9800, 1.0200)")
	r.Changes[0].Verdict, r.Changes[0].Reason = compare.CannotTell, "measure more"
	must.Equal(t, CompareAnswer(r), "cannot tell whether new_1.krun differs from old.krun: measure more")
}

// TestColumnsBeside: the null arm and the first iterations have columns where a key has values.
func TestColumnsBeside(t *testing.T) {
	r := comparison()
	r.FirstIterations = 5
	table := CompareTable(r)
	must.Equal(t, fmt.Sprint(table.Columns[7:]), "[>Null arm >First 5]")
	must.Equal(t, fmt.Sprint(table.Rows[0][7:]), "[+0.1 % (−0.9, +1.1) −5.0 % (−15.0, +5.0)]")
	for i := range r.Changes {
		r.Changes[i].Null, r.Changes[i].FirstTotal = nil, nil
	}
	must.Equal(t, len(CompareTable(r).Columns), 7)
}

// TestFactors: a change that doubles or halves is a factor, as in the sentences, and the axis of
// the figure has either factors or percentages.
func TestFactors(t *testing.T) {
	for _, c := range []struct {
		ratio, low, high float64
		text             string
	}{
		{92.069, 85.769, 98.832, "×92.1 (85.8, 98.8)"}, {2, 1.5, 2.5, "×2.00 (1.50, 2.50)"},
		{0.2433, 0.2, 0.3, "×0.243 (0.200, 0.300)"}, {1.99, 1.9, 2.08, "+99.0 % (+90.0, +108.0)"},
		{3, 1, 9, "×3.00 (>1.00, 9.00)"}, {6647, 6000, 7300, "×6647 (6000, 7300)"},
		{1.5e17, 0, math.Inf(1), "×1.500e+17 (0, +Inf)"},
	} {
		must.Equal(t, changeText(c.ratio, c.low, c.high), c.text, c.ratio)
	}
	for _, c := range []struct {
		span Span
		want string
	}{
		{Span{0.2, 1.1}, "×0.2 ×0.3 ×0.4 ×0.5 ×0.6 ×0.8 ×1"},
		{Span{0.6, 1.5}, "−40 % −20 % 0 % +20 % +40 %"},
	} {
		var ticks []string
		for _, v := range ratioTicks(c.span) {
			ticks = append(ticks, c.span.ratioTick(v))
		}
		must.Equal(t, strings.Join(ticks, " "), c.want)
	}
}

// TestLaTeXSigns: the minus, the signs of verdicts and quotes are those of LaTeX.
func TestLaTeXSigns(t *testing.T) {
	must.Equal(t, latexText(`−75.7 % ▲▼■◆○ reboot = "kexec" ("same")`), `$-$75.7 \% $\blacktriangle$`+
		`$\blacktriangledown$$\blacksquare$$\blacklozenge$$\circ$ reboot = `+"``"+`kexec'' (`+"``"+`same'')`)
}

// TestComparePlots: the static picture has all keys and the calibration, in every format.
func TestComparePlots(t *testing.T) {
	drawings := ComparePlots(comparison())
	must.Need(t, len(drawings) == 2, len(drawings), "drawings")
	for _, f := range []PlotFormat{SVG, PDF, PNG} {
		var b bytes.Buffer
		err := WritePlot(&b, f, [][]Drawing{drawings})
		must.Be(t, err == nil && b.Len() >= 1000, f, b.Len(), "bytes", err)
	}
	var c labels
	drawings[0].draw(&c, 0, 0)
	var texts []string
	for _, l := range c.list {
		texts = append(texts, l.text)
	}
	for _, want := range []string{"nbody PyPy x", "+20.0 % (+18.0, +22.0), class",
		"−10.0 % (−12.0, −8.0)", "0 %",
		"+20 %"} {
		must.Be(t, slices.Contains(texts, want), want, texts)
	}
	empty := &compare.Result{}
	must.Do(t, WritePlot(new(bytes.Buffer), SVG, [][]Drawing{ComparePlots(empty)}))
}

// TestArmsOfReport: the report of an experiment with arms has a page for each comparison, and links
// to it from the front page with the result.
func TestArmsOfReport(t *testing.T) {
	d := sample()
	r := comparison()
	r.Before.Arm, r.After.Arm = "base", "new"
	out := write(t, Material{Document: analysed(t, d), Data: d, Comparisons: []*compare.Result{r}})
	index := string(out["index.html"])
	must.Contain(t, index, `<a href="compare-new.html">base → new</a>: new_1.krun@new is 20.0 % slower`,
		"the front page lacks")
	page := out["compare-new.html"]
	must.Be(t, page != nil && strings.Contains(string(page), `href="index.html"`),
		"there is no page that leads back")
}

// TestGroupsOfReport: the front page has a table with a row for each benchmark and a column for
// each VM, with signs beside the ratios.
func TestGroupsOfReport(t *testing.T) {
	d := sample()
	r := comparison()
	r.Groups = &compare.Groups{By: compare.ByVM, Base: "C", Levels: []string{"PyPy", "<i>"},
		Rows: []string{"fasta", "nbody"}}
	r.Changes = r.Changes[:3]
	for i, at := range [][2]string{{"PyPy", "fasta"}, {"PyPy", "nbody"}, {"<i>", "fasta"}} {
		r.Changes[i].Level, r.Changes[i].Row = at[0], at[1]
	}
	out := write(t, Material{Document: analysed(t, d), Data: d, Groups: []*compare.Result{r}})
	index := strings.Join(strings.Fields(string(out["index.html"])), " ")
	for _, want := range []string{"Compared by vm", `<th scope="col" class="n">&lt;i&gt;</th>`,
		"PyPy is 20.0 % slower than C in 1 of 2 benchmarks, is 10.0 % faster in 1", "▼", "▲",
		"0.900 (0.880, 0.920)", "1.200 (1.180, 1.220)", "</svg>"} {
		must.Contain(t, index, want, "the front page lacks")
	}
	must.Be(t, !strings.Contains(index, "<i>"), "a name is code")
}

// TestComparePageInBrowser: it filters by verdict.
func TestComparePageInBrowser(t *testing.T) {
	var l layout
	try(t, comparePageFile(t, t.TempDir()), `
document.getElementById("class").value="worse"; document.getElementById("class").dispatchEvent(new Event("change"));
return {reason:[...document.querySelectorAll("#table tbody tr:not([hidden]) th")].map((e)=>e.title).join()};`, &l)
	if l.Reason != "nbody:PyPy:x" {
		t.Errorf("worse are %q", l.Reason)
	}
}

// comparePageFile returns the path of the page ab.html in dir.
func comparePageFile(t *testing.T, dir string) string {
	t.Helper()
	f := must.Get(os.Create(filepath.Join(dir, "ab.html")))(t)
	must.Do(t, errors.Join(ComparePage(f, comparison(), "test"), f.Close()))
	return f.Name()
}

// TestOpenEnds: an interval that ends at no change, or rounds to it, says that it does not contain
// it.
func TestOpenEnds(t *testing.T) {
	for _, c := range []struct {
		estimate, low, high warmup.Real
		text                string
	}{
		{1.1, 1, 1.2, "1.1000 (>1.0000, 1.2000)"}, {1.1, 1.00001, 1.2, "1.1000 (>1.0000, 1.2000)"},
		{0.9, 0.8, 1, "0.9000 (0.8000, <1.0000)"}, {0.9, 0.8, 1.00001, "0.9000 (0.8000, 1.0000)"},
		{1.01, 0.99, 1.03, "1.0100 (0.9900, 1.0300)"},
	} {
		i := compare.Interval{Estimate: c.estimate, AloneLow: c.low, AloneHigh: c.high}
		must.Equal(t, aloneText(&compare.Effect{Ratio: &i}), c.text)
	}
}

// TestExtremeRatios: a ratio far from 1 keeps significant digits.
func TestExtremeRatios(t *testing.T) {
	for _, c := range []struct {
		ratio        float64
		text, change string
	}{
		{1, "1.0000", "0.0 %"}, {0.97, "0.9700", "−3.0 %"}, {0.1, "0.1000", "−90.0 %"},
		{1.234e-5, "1.234e-05", "−99.9988 %"}, {0.00073, "0.00073", "−99.927 %"},
		{123456, "123456.0", "+12345500.0 %"}, {1.5e17, "1.500e+17", "+1.500e+19 %"},
	} {
		must.Equal(t, ratioText(c.ratio), c.text, c.ratio)
		must.Equal(t, signed(c.ratio, oneDecimal), c.change, c.ratio)
	}
}
