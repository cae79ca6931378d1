package console

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
	"krund/internal/experiment/config"
	"krund/internal/report"
	"krund/internal/trial"
)

// plotWidth is the width of a plot in columns.
const plotWidth = 76

// Answer writes an answer for people.
func (out *Console) Answer(answer trial.Answer) {
	s := out.style
	for _, r := range answer.Subjects {
		name := display.Terminal(r.Text)
		if r.Name != r.Text {
			name = display.Terminal(r.Name) + s.reset + "  " + name
		}
		out.print("%s%s%s\n", s.bold, name, s.reset)
		switch {
		case r.TooShort:
			out.print("%s\n", s.wrap("  ", tooShort(answer)))
		case len(r.Times) > 0:
			out.printResult(r, s)
		}
		for _, w := range r.Warnings {
			out.print("%s\n", s.warning("  ", w))
		}
	}
	if answer.Shell != nil && slices.ContainsFunc(answer.Subjects, func(r trial.Timing) bool {
		return r.Command && len(r.Times) > 0
	}) {
		out.print("%sThe start of the shell, %s, is subtracted.%s\n", s.dim,
			seconds(float64(answer.Shell.Mean)).Value(float64(answer.Shell.Mean)), s.reset)
	}
	if answer.Environment.Of == config.EnvironmentClean {
		out.print("%s%s%s\n", s.dim, s.wrap("", clean(answer.Environment)), s.reset)
	}
	for _, w := range answer.Warnings {
		out.print("%s\n", s.warning("", w))
	}
	for _, line := range sentences(answer) {
		out.print("%s%s%s\n", s.bold, s.wrap("", display.Terminal(line)), s.reset)
	}
	if answer.Directory != "" {
		out.print("The experiment is in %s.\n", display.ShellPath(answer.Directory))
	}
}

// seconds is the unit for all times that are printed beside one another: it fits the first.
func seconds(first float64) display.Unit { return display.UnitOf("s").For(first) }

// tooShort is the result of a command whose time is not known.
func tooShort(answer trial.Answer) string {
	usual := float64(answer.Shell.Mean)
	return fmt.Sprintf("too short to tell: it takes less time than the start of its shell varies, which is "+
		"usually %s, and in one of ten runs above %s; use -N, which starts it without a shell",
		seconds(usual).Value(usual), seconds(usual).Value(answer.Shell.Slow))
}

// clean describes what a clean environment consists of.
func clean(e trial.Environment) string {
	names := []string{"HOME", "USER", "LOGNAME", "SHELL", "LANG"}
	for _, variable := range e.Set {
		name, _, _ := strings.Cut(variable, "=")
		names = append(names, display.Terminal(name))
	}
	return "Clean environment, not yours: only the variables " + strings.Join(names, ", ") + "; umask 022, " +
		"no core files, no set-user-ID programs, and for root the highest priority."
}

func (out *Console) printResult(r trial.Timing, s style) {
	unit := seconds(float64(r.Mean))
	time := func(v warmup.Real) string { return unit.Value(float64(v)) }
	line, used := "  "+time(r.Mean), ""
	if !math.IsNaN(float64(r.SD)) {
		line += fmt.Sprintf(" ± %s   %s%s … %s", time(r.SD), s.dim, time(r.Min), time(r.Max))
	}
	if r.User != nil && r.System != nil {
		used += fmt.Sprintf("   user %s, system %s", unit.Value(*r.User), unit.Value(*r.System))
	}
	if r.MaxRSS != nil {
		used += ", " + display.Bytes(*r.MaxRSS)
	}
	if s.width > 0 && utf8.RuneCountInString(line+used)-len(s.dim) > s.width {
		line += "\n"
	}
	out.print("%s\n  %s\n  %s\n", line+used+s.reset, plot(r.Times, s.levels), series(r))
}

// noun is what the series of a subject consists of.
func noun(r trial.Timing) string {
	if r.Command {
		return "run"
	}
	return "iteration"
}

// series describes the series of a subject: "300 runs, steady, 3 outliers".
func series(r trial.Timing) string {
	text := display.Count(len(r.Times), noun(r))
	if executions := r.Executions - r.Failed; !r.Command {
		text = fmt.Sprintf("%d x %d iterations", executions, len(r.Times)/max(1, executions))
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
func stateOf(r trial.Timing) string {
	switch r.Class {
	case classify.PairClass(classify.Flat):
		return "steady"
	case classify.PairClass(classify.Warmup), classify.GoodInconsistent:
		return fmt.Sprintf("steady from %s %.0f", noun(r), math.Max(r.Steady, 1))
	case classify.PairClass(classify.Slowdown):
		return "slows down"
	case classify.None:
		return ""
	}
	return "not steady"
}

// sentences are the answer: one for each comparison.
func sentences(answer trial.Answer) []string {
	results := map[string]trial.Timing{}
	for _, r := range answer.Subjects {
		results[r.Name] = r
	}
	if answer.Null != "" {
		return revisions(answer, results)
	}
	var lines []string
	for _, v := range answer.Compared {
		fast, slow := results[answer.Base], results[v.Name]
		if v.Ratio < 1 { // than the reference
			v.Ratio, v.Low, v.High = 1/v.Ratio, 1/v.High, 1/v.Low
			fast, slow = slow, fast
		}
		half := (float64(v.High) - float64(v.Low)) / 2
		text := ""
		switch {
		case math.IsNaN(half):
			text = fmt.Sprintf("%s takes %.2f times as long as %s, in a single execution", slow.Name,
				v.Ratio, fast.Name)
		case v.Same:
			text = fmt.Sprintf("%s and %s are the same within %s %%: the ratio is %s", fast.Name, slow.Name,
				display.Fixed(100*v.Margin, 0), plusMinus(v.Ratio, half))
		case v.Told:
			ratio := plusMinus(v.Ratio, half)
			if v.Ratio-half < 1 { // ± would contain 1, which the interval does not
				ratio = fmt.Sprintf("%.2f (%.2f to %.2f)", v.Ratio, v.Low, v.High)
			}
			text = fmt.Sprintf("%s is %s times faster than %s", fast.Name, ratio, slow.Name)
		default:
			text = fmt.Sprintf("%s and %s cannot be told apart: the ratio is %s; a change of %s %% would "+
				"have been seen", fast.Name, slow.Name, plusMinus(v.Ratio, half), twoDigits(100*half))
		}
		lines = append(lines, text)
	}
	return lines
}

// revisions are the answer about revisions: one sentence for each, then what the null arm shows.
func revisions(answer trial.Answer, results map[string]trial.Timing) (lines []string) {
	base, null := results[answer.Base].Text, ""
	for _, v := range answer.Compared {
		name, half := results[v.Name].Text, 100*(float64(v.High)-float64(v.Low))/2
		change := fmt.Sprintf("%s %% ± %s %%", twoDigits(100*math.Abs(v.Ratio-1)), twoDigits(half))
		if v.Name == answer.Null && math.IsNaN(half) {
			continue
		}
		if v.Name == answer.Null {
			null = "null arm: " + base + " and a second copy of it differ by " + change + ", as they may"
			if v.Told && !v.Same {
				null = fmt.Sprintf("null arm: %s and a second copy of it differ by %s, though they are the "+
					"same program: differences of that size are not due to the programs", base, change)
			}
			continue
		}
		text := ""
		switch {
		case math.IsNaN(half):
			text = fmt.Sprintf("cannot tell %s from %s: too few runs", name, base)
		case v.Same:
			text = fmt.Sprintf("%s is as fast as %s, within %.0f %%: they differ by %s", name, base,
				100*v.Margin, change)
		case v.Low > 1:
			text = fmt.Sprintf("%s is slower than %s by %s", name, base, change)
		case v.High < 1:
			text = fmt.Sprintf("%s is faster than %s by %s", name, base, change)
		default:
			text = fmt.Sprintf("cannot tell %s from %s", name, base)
		}
		if !math.IsNaN(half) {
			text += fmt.Sprintf("; a change of %s %% would have been seen", twoDigits(half))
		}
		lines = append(lines, text)
	}
	if null != "" {
		lines = append(lines, null)
	}
	return lines
}

// twoDigits writes a percentage with two digits, or all that are before the point.
func twoDigits(v float64) string {
	if v >= 99.5 {
		return display.Fixed(v, 0)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
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

// Markdown writes the table that hyperfine's users know.
func Markdown(w io.Writer, answer trial.Answer) error {
	least := math.Inf(1)
	for _, r := range answer.Subjects {
		if m := float64(r.Mean); m < least {
			least = m
		}
	}
	unit := seconds(least)
	number := func(v warmup.Real) string { return display.Fixed(unit.Scale(float64(v)), 3) }
	relative := map[string]string{answer.Base: "1.00"}
	for _, v := range answer.Compared {
		relative[v.Name] = plusMinus(v.Ratio, (float64(v.High)-float64(v.Low))/2)
	}
	of := " [" + unit.Name() + "]"
	t := report.Table{Columns: []report.Head{"Command", report.Head(">Mean" + of),
		report.Head(">Min" + of), report.Head(">Max" + of), ">Relative", "Series"}}
	for _, r := range answer.Subjects {
		mean := number(r.Mean)
		if !math.IsNaN(float64(r.SD)) {
			mean += " ± " + number(r.SD)
		}
		switch {
		case r.TooShort:
			t.Add(report.Code(r.Text), "too short to tell", nil, nil, nil, nil)
		case len(r.Times) == 0:
			t.Add(report.Code(r.Text), "failed", nil, nil, nil, nil)
		default:
			t.Add(report.Code(r.Text), mean, number(r.Min), number(r.Max), relative[r.Name], series(r))
		}
	}
	return t.Write(w, report.Markdown)
}
