package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
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
	answer := trial.Answer{Fastest: "b", Subjects: []trial.Result{
		{Name: "a", Text: "a | x", Command: true, Mean: 0.0131, SD: 0.0002, Min: 0.013, Max: 0.014,
			Times: make([]float64, 3)},
		{Name: "b", Text: "b", Command: true, Mean: 0.01, SD: warmup.Real(math.NaN()),
			Times: make([]float64, 1)}, {Name: "c", Text: "c", Mean: warmup.Real(math.NaN())},
		{Name: "d", Text: "d", Mean: warmup.Real(math.NaN()), TooShort: true}},
		Compared: []trial.Versus{{Name: "a", Ratio: 1.31, Low: 1.11, High: 1.51}}}
	wants := []string{"| `a \\| x` | 13.100 ± 0.200 | 13.000 | 14.000 | 1.31 ± 0.20 | 3 runs |",
		"| `b` | 10.000 | 0.000 | 0.000 | 1.00 | 1 run |", "| `c` | failed |", "| `d` | too short to tell |",
		"Mean [ms]"}
	text := markdown(answer)
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	// one unit for all, that of the shortest
	answer.Subjects[1].Mean, answer.Subjects[0].Max = 966.3e-6, 2
	text = markdown(answer)
	for _, want := range []string{"Mean [µs]", "| 13100.000 ± 200.000 | 13000.000 | 2000000.000 |",
		"| 966.300 |"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestTimeLines: the lines of a result have one unit, and no time that is not known.
func TestTimeLines(t *testing.T) {
	nan := warmup.Real(math.NaN())
	user, system := 0.0021, 0.0
	answer := trial.Answer{
		Environment: trial.Environment{Of: "clean", Set: []string{"PATH=/bin", "TOKEN=secret"}},
		Shell:       &trial.Shell{Estimate: trial.Estimate{Mean: 0.00098}, Slow: 0.0013},
		Subjects: []trial.Result{
			{Name: "a", Text: "a", Command: true, Runs: 2, Mean: 966.3e-6, SD: 2.211e-3, Min: 1e-6,
				Max: 0.0312, User: &user, System: &system, Times: []float64{1, 2}},
			{Name: "b", Text: "b", Command: true, Runs: 2, Mean: nan, SD: nan, Min: nan, Max: nan,
				TooShort: true},
			{Name: "c", Text: "c", Command: true, Runs: 1, Mean: 2, SD: nan, Min: 2, Max: 2,
				Times: []float64{2}},
		}}
	var out strings.Builder
	a := &app{stdout: &out, terminal: &out}
	a.printSubjects(answer)
	const want = `a
  966.3 µs ± 2211 µs   1.000 µs … 31200 µs   user 2100 µs, system 0 µs
  _@
  2 runs
b
  too short to tell: it takes less time than the start of its shell varies, which is usually ` +
		`980.0 µs, and in one of ten runs above 1300 µs; use -N, which starts it without a shell
c
  2.000 s
  _
  1 run
The start of the shell, 980.0 µs, is subtracted.
Clean environment, not yours: only the variables HOME, USER, LOGNAME, SHELL, LANG, PATH, TOKEN; umask ` +
		`022, no core files, no set-user-ID programs, and for root the highest priority.
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	out.Reset()
	answer.Environment.Of, answer.Subjects = "caller", answer.Subjects[1:2]
	a.printSubjects(answer)
	if text := out.String(); !strings.HasPrefix(text, "b\n  too short") || strings.Count(text, "\n") != 2 {
		t.Errorf("got\n%s", text)
	}
}

// TestTimeQuotes: one command without its quotes would be two commands, or options of krunctl.
func TestTimeQuotes(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("PATH", dir)
	for name, text := range map[string]string{"sleep": "#!/bin/sh\n", "sort": "#!/bin/sh\n",
		"bench.py": "def run_iter(n): pass\n", "script.py": "pass\n", "words": ""} {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod("words", 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want string // of the error; "": none
	}{
		{[]string{"sleep", "0.01"}, `"0.01" is neither a command nor a benchmark file (with run_iter), and ` +
			`each argument is one; write a command with its arguments in quotes: krunctl time 'sleep 0.01'`},
		{[]string{"sort", "words"}, `krunctl time 'sort words'`},
		{[]string{"sort", "./words"}, `krunctl time 'sort ./words'`},
		{[]string{"sleep", "sort", "nosuch"}, `"nosuch" is neither`},
		{[]string{"-N", "sleep", "true"}, `"true" is neither`}, // a builtin of the shell
		{[]string{"sleep", "-l"}, `if it belongs to sleep, quote the command: krunctl time 'sleep -l'`},
		{[]string{"sleep", "--all"}, `krunctl time 'sleep --all'`},
		{[]string{"sleep 1", "--all"}, `unknown flag: --all; see`},
		{[]string{"-r", "x", "sleep"}, `--runs needs a whole number, not "x"; see`},
		{[]string{"-r", "99999999999999999999", "sleep"}, `the number is too large; see`},
		{[]string{"sleep", "true"}, ""},
		{[]string{"sleep", "./sort"}, ""},
		{[]string{"bench.py", "sort"}, ""},
		{[]string{"sort", "bench.py"}, ""},
		{[]string{"sleep 1", "nosuch"}, ""}, // in quotes; it may be a function of the shell
		{[]string{"sleep", "n={1}"}, ""},
		{[]string{"--setup", "make", "sleep", "./new"}, ""},
		{[]string{"-S", "python3", "pass", "nosuch"}, ""},
	} {
		var messages strings.Builder
		a := &app{stdout: &messages, stderr: &messages}
		root := rootCommand(a)
		command := timeCommand(a)
		command.SilenceErrors, command.SilenceUsage = true, true
		var o timeOptions
		command.ResetFlags()
		o.flags(command.Flags())
		command.RunE = func(_ *cobra.Command, args []string) error {
			_, err := o.plan(args)
			return err
		}
		root.RemoveCommand(root.Commands()...)
		root.AddCommand(command)
		root.SetArgs(append([]string{"time"}, test.args...))
		err := root.Execute()
		if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.args, err, test.want)
		}
	}
}

// TestTimeEnvironment: which variables are passed on besides those of the caller.
func TestTimeEnvironment(t *testing.T) {
	t.Setenv("PATH", "/bin")
	t.Setenv("TIME_TEST", "x")
	wanted := []string{"A=b=c", "TIME_TEST", "TIME_TEST_UNSET"}
	for _, test := range []struct {
		clean bool
		want  []string
	}{
		{false, []string{"A=b=c"}},
		{true, []string{"PATH=/bin", "A=b=c", "TIME_TEST=x"}},
	} {
		o := timeOptions{clean: test.clean, env: wanted}
		set, names := o.environment()
		if !slices.Equal(set, test.want) || !slices.Contains(names, "TIME_TEST") || !slices.IsSorted(names) {
			t.Errorf("clean %t: %q, %q", test.clean, set, names)
		}
	}
}

// TestFindPrograms: a VM is the one that the caller's PATH leads to.
func TestFindPrograms(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":/usr/bin")
	own := filepath.Join(dir, "python3")
	if err := os.WriteFile(own, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	list := []trial.Subject{{Program: "python3"}, {Program: "nosuchvm"}, {}}
	findPrograms(list)
	if list[0].Program != own || list[1].Program != "nosuchvm" || list[2].Program != "" {
		t.Errorf("%+v", list)
	}
}
