package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/warmup"
	"krund/internal/trial"
)

// TestTimeExamples: the examples of the help text are understood.
func TestTimeExamples(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("bench.py", []byte("def run_iter(n): pass\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(timeHelp, "EXAMPLES\n")
	n := 0
	for line := range strings.Lines(text) {
		line, ok := strings.CutPrefix(line, "  krunctl ")
		if !ok {
			continue
		}
		n++
		args, err := trial.Words(line)
		if err != nil {
			t.Fatal(err)
		}
		var o timeOptions
		f := pflag.NewFlagSet("time", pflag.ContinueOnError)
		o.flags(f)
		if err := f.Parse(joinValues(args)[1:]); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if p, err := o.plan(f.Args()); err != nil || len(p.Subjects) == 0 {
			t.Errorf("%s: %v", line, err)
		}
	}
	if n < 5 {
		t.Errorf("%d examples", n)
	}
}

// TestTimeSave: a name that krund refuses is refused before anything is written: a second attempt
// found the files of the first.
func TestTimeSave(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"we ird", "..", "quote\"", strings.Repeat("x", 300)} {
		p := trial.Plan{Subjects: []trial.Subject{{Name: "b", File: filepath.Join(dir, "b.py")}}}
		w, err := newWorkspace(p, dir+"/"+name+".toml")
		if err == nil {
			w.remove()
			t.Errorf("--save %q is accepted", name)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestJoinValues(t *testing.T) {
	for _, test := range []struct{ args, want []string }{
		{[]string{"time", "-P", "n", "1", "4", "x"}, []string{"time", "-P=n 1 4", "x"}},
		{[]string{"time", "x", "--parameter-list", "n", "a,b"},
			[]string{"time", "x", "--parameter-list=n a,b"}},
		{[]string{"time", "-P", "n", "1"}, []string{"time", "-P", "n", "1"}},
		{[]string{"time", "--", "-P", "n", "1", "4"}, []string{"time", "--", "-P", "n", "1", "4"}},
		{[]string{"plan", "-P", "n", "1", "4"}, []string{"plan", "-P", "n", "1", "4"}},
		{nil, nil},
	} {
		if got := joinValues(test.args); !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, want %q", test.args, got, test.want)
		}
	}
}

func TestPlot(t *testing.T) {
	levels := []rune("_-=#")
	long := make([]float64, 600)
	for i := range long {
		long[i] = 1
	}
	long[0] = 100 // a tenth of the first column
	for _, test := range []struct {
		values []float64
		want   string
	}{
		{[]float64{0, 1, 2, 3}, "_-=#"},
		{[]float64{5, 5, 5}, "___"},
		{[]float64{7}, "_"},
		{long, "#" + strings.Repeat("_", plotWidth-1)},
	} {
		if got := plot(test.values, levels); got != test.want {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
}

func TestSentences(t *testing.T) {
	flat, warm := classify.PairClass(classify.Flat), classify.PairClass(classify.Warmup)
	answer := trial.Answer{Fastest: "b", Subjects: []trial.Result{
		{Name: "a", Command: true, Class: flat, Outliers: 2},
		{Name: "b", Command: true, Class: flat, Outliers: 1},
		{Name: "c", Class: warm, Steady: 117}, {Name: "d", Class: classify.PairClass(classify.Slowdown)}},
		Compared: []trial.Versus{
			{Name: "a", Ratio: 1.31, Low: 1.29, High: 1.33, Told: true},
			{Name: "c", Ratio: 1.01, Low: 0.9, High: 1.12},
			{Name: "d", Ratio: 2, Low: warmup.Real(math.NaN()), High: warmup.Real(math.NaN())}}}
	want := []string{
		"b is 1.310 ± 0.020 times faster than a; both steady; 3 outliers",
		"b and c cannot be told apart: the ratio is 1.01 ± 0.11; b is steady, c is " +
			"steady from iteration 117; 1 outlier",
		"d takes 2.00 times as long as b, in a single execution; b is steady, d slows down; 1 outlier",
	}
	if got := sentences(answer); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestTimeMarkdown(t *testing.T) {
	text := markdown(trial.Answer{Fastest: "b", Subjects: []trial.Result{
		{Name: "a", Text: "a | x", Command: true, Mean: 0.0131, SD: 0.0002, Min: 0.013, Max: 0.014,
			Times: make([]float64, 3)},
		{Name: "b", Text: "b", Command: true, Mean: 0.01, Times: make([]float64, 3)}, {Name: "c", Text: "c"}},
		Compared: []trial.Versus{{Name: "a", Ratio: 1.31, Low: 1.11, High: 1.51}}})
	for _, want := range []string{"| `a \\| x` | 13.100 ± 0.200 | 13.000 | 14.000 | 1.31 ± 0.20 | 3 runs |",
		"| 1.00 | 3 runs |", "| `c` | failed |", "Mean [ms]"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
