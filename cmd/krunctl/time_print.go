package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"krund/internal/analysis/classify"
	"krund/internal/display"
	"krund/internal/trial"
)

// printAnswer prints an answer, and returns errFound if something failed.
func (a *app) printAnswer(answer trial.Answer, o timeOptions) error {
	if o.markdown != "" {
		err := a.toOutput(o.markdown, func(w io.Writer) error {
			_, err := io.WriteString(w, markdown(answer))
			return err
		})
		if err != nil {
			return err
		}
	}
	switch {
	case isStdout(o.markdown): // which has the table
	case o.json:
		if err := a.printJSON(answer); err != nil {
			return err
		}
	default:
		a.printSubjects(answer)
	}
	failed := func(r trial.Result) bool { return r.Failed > 0 }
	if slices.ContainsFunc(answer.Subjects, failed) {
		return errFound
	}
	return nil
}

// style is how the answer looks: plain in a pipe, with NO_COLOR, or where there are no blocks.
type style struct {
	bold, dim, yellow, reset string
	levels                   []rune // of a plot, from low to high
	width                    int    // of the terminal; 0: not a terminal
}

// plotWidth is the width of a plot in columns.
const plotWidth = 76

func (a *app) style() style {
	s := style{levels: []rune("_.-=+*#@")}
	f, ok := a.terminal.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return s
	}
	s.levels, s.width = []rune("▁▂▃▄▅▆▇█"), terminalWidth(f)
	if _, plain := os.LookupEnv("NO_COLOR"); !plain && os.Getenv("TERM") != "dumb" {
		s.bold, s.dim, s.yellow, s.reset = "\x1b[1m", "\x1b[2m", "\x1b[33m", "\x1b[0m"
	}
	return s
}

// warning returns the lines of a warning.
func (s style) warning(indent, text string) string {
	const mark = "warning:"
	wrapped := display.Wrap(indent+mark+" "+display.Terminal(text), s.width, indent+"  ")
	return strings.Replace(wrapped, mark, s.yellow+mark+s.reset, 1)
}

func (a *app) printSubjects(answer trial.Answer) {
	s := a.style()
	for _, r := range answer.Subjects {
		name := display.Terminal(r.Text)
		if r.Name != r.Text {
			name = display.Terminal(r.Name) + s.reset + "  " + name
		}
		a.print("%s%s%s\n", s.bold, name, s.reset)
		if len(r.Times) > 0 {
			a.printResult(r, s)
		}
		for _, w := range r.Warnings {
			a.print("%s\n", s.warning("  ", w))
		}
	}
	if answer.Shell != nil {
		a.print("%sThe start of the shell, %s, is subtracted.%s\n", s.dim,
			display.Nanoseconds(answer.Shell.Mean*1e9), s.reset)
	}
	for _, w := range answer.Warnings {
		a.print("%s\n", s.warning("", w))
	}
	for _, line := range sentences(answer) {
		a.print("%s%s%s\n", s.bold, display.Wrap(display.Terminal(line), s.width, "  "), s.reset)
	}
	if answer.Directory != "" {
		a.print("The experiment is in %s.\n", display.ShellPath(answer.Directory))
	}
}

func (a *app) printResult(r trial.Result, s style) {
	time := func(v float64) string { return display.Nanoseconds(v * 1e9) }
	a.print("  %s ± %s   %s%s … %s", time(r.Mean), time(r.SD), s.dim, time(r.Min), time(r.Max))
	if r.User != nil && r.System != nil {
		a.print("   user %s, system %s", time(*r.User), time(*r.System))
	}
	a.print("%s\n", s.reset)
	a.print("  %s\n  %s\n", plot(r.Times, s.levels), series(r))
}

// series describes the series of a subject: "300 runs, steady, 3 outliers".
func series(r trial.Result) string {
	what := "run"
	if !r.Command {
		what = "iteration"
	}
	text := display.Count(len(r.Times), what)
	if !r.Command {
		text = fmt.Sprintf("%d x %d %ss", r.Executions-r.Failed, len(r.Times)/max(1, r.Executions-r.Failed),
			what)
	}
	if state := stateOf(r); state != "" {
		text += ", " + state
	}
	if r.Outliers > 0 {
		text += ", " + display.Count(r.Outliers, "outlier")
	}
	return text
}

// stateOf describes the class of a series in a word or two.
func stateOf(r trial.Result) string {
	what := "run"
	if !r.Command {
		what = "iteration"
	}
	switch r.Class {
	case classify.PairClass(classify.Flat):
		return "steady"
	case classify.PairClass(classify.Warmup), classify.GoodInconsistent:
		return fmt.Sprintf("steady from %s %.0f", what, math.Max(r.Steady, 1))
	case classify.PairClass(classify.Slowdown):
		return "slows down"
	case classify.None:
		return ""
	}
	return "not steady"
}

// sentences are the answer: one for each comparison.
func sentences(answer trial.Answer) []string {
	results := map[string]trial.Result{}
	for _, r := range answer.Subjects {
		results[r.Name] = r
	}
	var lines []string
	for _, v := range answer.Compared {
		fast, slow := results[answer.Fastest], results[v.Name]
		half := (float64(v.High) - float64(v.Low)) / 2
		text := ""
		switch {
		case math.IsNaN(half):
			text = fmt.Sprintf("%s takes %.2f times as long as %s, in a single execution", slow.Name,
				v.Ratio, fast.Name)
		case v.Told:
			text = fmt.Sprintf("%s is %s times faster than %s", fast.Name, plusMinus(v.Ratio, half),
				slow.Name)
		default:
			text = fmt.Sprintf("%s and %s cannot be told apart: the ratio is %s", fast.Name, slow.Name,
				plusMinus(v.Ratio, half))
		}
		lines = append(lines, text+remarks(fast, slow))
	}
	return lines
}

// remarks describes the two series of a comparison: "; both steady; 3 outliers".
func remarks(x, y trial.Result) string {
	text := ""
	switch a, b := stateOf(x), stateOf(y); {
	case a == "" || b == "":
	case a == b:
		text = "; both " + a
	default:
		text = fmt.Sprintf("; %s is %s, %s is %s", x.Name, a, y.Name, b)
	}
	text = strings.ReplaceAll(text, "is slows", "slows")
	if n := x.Outliers + y.Outliers; n > 0 {
		text += "; " + display.Count(n, "outlier")
	}
	return text
}

// plusMinus writes a ratio with the digits that its half width allows.
func plusMinus(v, half float64) string {
	digits := 2
	if half > 0 && half < 0.1 {
		digits = min(4, int(math.Ceil(-math.Log10(half)))+1)
	}
	return fmt.Sprintf("%.*f ± %.*f", digits, v, digits, half)
}

// plot draws a series in one line: each column is the mean of its part, between the smallest and
// the largest of these.
func plot(values []float64, levels []rune) string {
	columns := min(plotWidth, len(values))
	means := make([]float64, columns)
	for i := range means {
		part := values[i*len(values)/columns : (i+1)*len(values)/columns]
		for _, v := range part {
			means[i] += v / float64(len(part))
		}
	}
	low, high := slices.Min(means), slices.Max(means)
	line := make([]rune, columns)
	for i, m := range means {
		level := 0
		if high > low {
			level = int((m - low) / (high - low) * float64(len(levels)-1))
		}
		line[i] = levels[level]
	}
	return string(line)
}

// markdown writes the table that hyperfine's users know.
func markdown(answer trial.Answer) string {
	unit, name := 1e3, "ms"
	for _, r := range answer.Subjects {
		if r.Mean >= 1 {
			unit, name = 1, "s"
		}
	}
	relative := map[string]string{answer.Fastest: "1.00"}
	for _, v := range answer.Compared {
		relative[v.Name] = plusMinus(v.Ratio, (float64(v.High)-float64(v.Low))/2)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| Command | Mean [%s] | Min [%[1]s] | Max [%[1]s] | Relative | Series |\n", name)
	b.WriteString("|:---|---:|---:|---:|---:|:---|\n")
	for _, r := range answer.Subjects {
		text := strings.NewReplacer("|", `\|`, "`", "'").Replace(display.Terminal(r.Text))
		if len(r.Times) == 0 {
			fmt.Fprintf(&b, "| `%s` | failed | | | | |\n", text)
			continue
		}
		fmt.Fprintf(&b, "| `%s` | %.3f ± %.3f | %.3f | %.3f | %s | %s |\n", text, r.Mean*unit, r.SD*unit,
			r.Min*unit, r.Max*unit, relative[r.Name], series(r))
	}
	return b.String()
}
