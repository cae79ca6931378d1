package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

// helpColumns is the widest line of a help text.
const helpColumns = 110

// TestHelp checks the form of the help texts, which are the manual: their parts in order, every
// option, and nothing too wide for a terminal.
func TestHelp(t *testing.T) {
	all := krunctl(t, "--help").stdout
	for _, c := range commands(&app{}) {
		name := strings.TrimPrefix(c.CommandPath(), "krunctl ")
		t.Run(name, func(t *testing.T) {
			r := krunctl(t, append(strings.Fields(name), "--help")...)
			must.Be(t, r.code == exitOK && r.stderr == "" && strings.HasPrefix(r.stdout, c.Long), r.text())
			must.Be(t, c.Parent().HasParent() || strings.Contains(all, "\n  "+c.Name()+" ") &&
				strings.Contains(all, c.Short), "krunctl --help does not list it")
			rest, found := r.stdout, false
			for _, part := range []string{"\n\nEXAMPLES\n  ", "\n\nEXIT STATUS\n  0  ",
				"\nUsage:\n  " + c.CommandPath()} {
				_, rest, found = strings.Cut(rest, part)
				must.Be(t, found, "no", part, "or out of order, in", r.stdout)
			}
			c.Flags().VisitAll(func(f *pflag.Flag) {
				must.Be(t, f.Hidden || f.Usage != "" && strings.Contains(rest, "--"+f.Name), f.Name, rest)
			})
			for line := range strings.Lines(c.Long) {
				must.Be(t, utf8.RuneCountInString(line) <= helpColumns+1, line)
			}
		})
	}
}

// TestGroups: every command is in a group of the list, and the groups are in the order of an
// experiment's life.
func TestGroups(t *testing.T) {
	help := krunctl(t, "--help").stdout
	rest := help
	for _, g := range groups(&app{}) {
		_, after, found := strings.Cut(rest, "\n"+g.title+":\n")
		must.Need(t, found, g.title, "or out of order", help)
		rest = after
		for _, c := range g.commands {
			_, after, found := strings.Cut(rest, "  "+c.Name()+" ")
			must.Need(t, found, g.title, "no", c.Name(), "or out of order, in", help)
			rest = after
		}
	}
	lines := strings.Split(strings.TrimSuffix(help, "\n"), "\n")
	must.Be(t, len(lines) <= 40 && strings.HasPrefix(help, startHelp), len(lines), "lines of", help)
	for _, line := range lines {
		must.Be(t, utf8.RuneCountInString(line) <= 80, line)
	}
	r := krunctl(t, "completion", "--help")
	must.Be(t, strings.Contains(r.stdout, "EXIT STATUS\n") && strings.Contains(r.stdout, "\n  bash "),
		r.text())
}

// examples returns the command lines in a help text, without what a shell does
// to their output.
func examples(help string) [][]string {
	_, rest, _ := strings.Cut(help, "EXAMPLES\n")
	var all [][]string
	for line := range strings.Lines(rest) {
		line, isExample := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "  krunctl ")
		if !isExample {
			continue
		}
		for _, end := range []string{" | ", " > ", "    ", "   ", "  "} {
			line, _, _ = strings.Cut(line, end)
		}
		all = append(all, strings.Fields(strings.ReplaceAll(line, "'", "")))
	}
	return all
}

// TestExamples runs every example of every help text over an experiment called
// warmup.
func TestExamples(t *testing.T) {
	must.Long(t)
	text := strings.ReplaceAll(experimentText, "executions = 2", "executions = 5") +
		"[stop]\nrules = [\"halfwidth\"]\n"
	needRoot := []string{"enable", "disable", "join"}
	needs := map[string]string{ // what a command lacks here, as its error says
		"submit": "KRUNHUB_URL", "wait": "KRUNHUB_URL", "request": "KRUNHUB_URL", "hub": "KRUNHUB_URL",
		"get": "KRUNHUB_URL", "ship": "has not joined a hub", "bisect": "--versions",
	}
	b := newExperimentOf(t, text)
	for range b.cfg.Slots() {
		b.run(results.Completed)
	}
	dir := filepath.Dir(b.toml)
	b.must(os.Rename(b.toml, filepath.Join(dir, "warmup.toml")))
	b.must(os.Rename(b.dir(), filepath.Join(dir, "warmup.krun")))
	t.Chdir(dir)
	for _, c := range commands(&app{}) {
		if c.Name() == "time" {
			continue // it needs krund: TestTimeExamples
		}
		for _, args := range examples(c.Long) {
			t.Run(strings.Join(args, " "), func(t *testing.T) {
				r := krunctl(t, args...)
				if slices.Contains(needRoot, c.Name()) {
					must.Be(t, (r.code == exitError || r.code == exitUsage) && r.stdout == "",
						"without root and without benchmarks", r.text())
					return
				}
				if lacks := needs[c.Name()]; lacks != "" && args[len(args)-1] != c.Name() {
					must.Be(t, r.code != exitOK && strings.Contains(r.stderr, lacks),
						"the error does not name", lacks, r.text())
					return
				}
				if krund, isCheck := strings.CutPrefix(r.stdout, "krund check "); isCheck ||
					c.Name() == "run" && !slices.Contains(args, "--again") &&
						!slices.Contains(args, "--executions") {
					must.Be(t, !isCheck || strings.Contains(krund, "\nplan  "), r.text())
					must.Contain(t, r.stdout, "krund "+strings.Join(args, " ")+"\n")
					return
				}
				if slices.Contains(args, "--noise") || slices.Contains(args, "error,timeout") ||
					slices.Contains(args, "--executions") || // an experiment that has begun
					strings.HasSuffix(args[len(args)-1], "m9q4rt") { // root, failures, a hub
					must.Be(t, r.code == exitError || r.code == exitUsage, r.text())
					return
				}
				if lacksInput(args) {
					must.Be(t, r.code != exitUsage, "a file that is not there is no wrong usage", r.text())
					return
				}
				// a machine that is not fit, records without counters
				if c.Name() == "check" || slices.Contains(args, "--counters") {
					must.Be(t, r.code <= exitError && r.stdout+r.stderr != "", r.text())
					return
				}
				// its executions of a few iterations are too short to judge
				if c.Name() == "stability" && r.code == exitLeftOut &&
					strings.Contains(r.stderr, "cannot be judged") && r.stdout != "" {
					return
				}
				must.Be(t, r.code == exitOK && (r.stdout != "" ||
					strings.Contains(strings.Join(args, " "), "-o ")), r.text())
			})
		}
	}
}

// lacksInput reports whether an example names a file that this test does not have.
func lacksInput(args []string) bool {
	for i, arg := range args {
		if i > 0 && (args[i-1] == "-o" || args[i-1] == "--output") {
			continue
		}
		if arg == "--suite" {
			return true
		}
		for _, suffix := range []string{".bz2", ".csv", ".json", ".krun", ".toml", "/"} {
			if _, err := os.Stat(arg); strings.HasSuffix(arg, suffix) && err != nil {
				return true
			}
		}
	}
	return false
}

// commands returns all subcommands.
func commands(a *app) []*cobra.Command {
	var all []*cobra.Command
	root := rootCommand(a)
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			all = append(append(all, c), c.Commands()...)
		}
	}
	return all
}
