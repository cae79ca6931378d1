package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
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

// TestHelpFits: on a terminal of 80 columns no line of a help is wider, what people copy is whole,
// the text of an item stands below its beginning, and a line ends only where the next word does not
// fit.
func TestHelpFits(t *testing.T) {
	const width = 80
	begins := regexp.MustCompile(`^ +(- |\S+( \S+)* {2,})`)
	all := commands(&app{})
	root := all[0].Root()
	root.SetHelpFunc(shortHelp(root.HelpFunc(), width))
	for _, c := range append(all, root) {
		t.Run(c.CommandPath(), func(t *testing.T) {
			before := c.Long
			var out strings.Builder
			root.SetOut(&out)
			must.Be(t, c.Help() == nil && out.Len() > 0)
			for line := range strings.Lines(out.String()) {
				must.Be(t, utf8.RuneCountInString(line) <= width+1 || len(strings.Fields(line)) == 1, line)
			}
			if !c.HasParent() {
				return
			}
			help, _, _ := strings.Cut(out.String(), "\nUsage:\n")
			for line := range strings.Lines(before) {
				copied := strings.HasPrefix(line, "  ") && !begins.MatchString(line) &&
					!strings.HasPrefix(line, "     ")
				must.Be(t, !copied || strings.HasPrefix(line, "    ") ||
					strings.Contains(help+"\n", "\n"+line), "not whole:", line, help)
			}
			_, examples, _ := strings.Cut(before, "\nEXAMPLES\n")
			examples, _, _ = strings.Cut(examples, "\n\n")
			must.Contain(t, help, examples)
			text := strings.Replace(help, examples, "", 1)
			column, last := 0, ""
			for line := range strings.Lines(text) {
				line = strings.TrimSuffix(line, "\n")
				own := strings.TrimLeft(line, " ")
				indent := len(line) - len(own)
				first, _, _ := strings.Cut(own, " ")
				continued := last != "" && indent > 0 && !begins.MatchString(line)
				switch item := begins.FindString(line); {
				case item != "":
					column = len(item)
				case continued && begins.MatchString(last):
					must.Be(t, indent == column, "not below the text:", last, line)
				}
				prose := indent == 0 && own != "" && last != "" && !strings.HasPrefix(last, " ") &&
					last != strings.ToUpper(last)
				filled := prose || continued && column > 0 && indent == column
				must.Be(t, !filled || utf8.RuneCountInString(last+" "+first) > width, "ragged:", last, line)
				if last = line; own == "" {
					column = 0
				}
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
	rest = strings.ReplaceAll(rest, " \\\n    ", " ")
	for line := range strings.Lines(strings.ReplaceAll(rest, " |\n    ", " | ")) {
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

// TestRenames: each former name is one of no command, what it is now exists with its flags, and
// docs/commands.md lists all of them. -update writes the list.
func TestRenames(t *testing.T) {
	var list strings.Builder
	list.WriteString("| formerly | now | options |\n|---|---|---|\n")
	for _, r := range renames {
		root := rootCommand(&app{})
		now := strings.Fields(r.now)
		c, rest, err := root.Find(now)
		must.Need(t, err == nil && c != root && c.ParseFlags(rest) == nil, r.old, "is now", r.now, err)
		old, _, err := root.Find([]string{r.old})
		must.Be(t, err != nil || old == root || r.old == r.now, r.old, "is a command, too")
		var options []string
		for _, former := range slices.Sorted(maps.Keys(r.flags)) {
			instead := r.flags[former]
			flag, _, _ := strings.Cut(strings.TrimPrefix(instead, "--"), "=")
			must.Be(t, instead == "" || c.Flags().Lookup(flag) != nil, former, "is now", instead)
			must.Be(t, c.Flags().Lookup(former[2:]) == nil, former, "is an option, too")
			if instead == "" {
				instead = "found out"
			}
			options = append(options, fmt.Sprintf("`%s`: `%s`", former, instead))
		}
		fmt.Fprintf(&list, "| `%s` | `%s` | %s |\n", r.old, r.now,
			strings.ReplaceAll(strings.Join(options, ", "), "`found out`", "found out"))
	}
	const page = "../../docs/commands.md"
	text := source(t, page)
	head, _, found := strings.Cut(text, "| formerly |")
	must.Need(t, found, page, "has no list")
	if want := head + list.String(); *update {
		must.Do(t, os.WriteFile(page, []byte(want), 0o644))
	} else {
		must.Equal(t, text, want, page, "(run with -update)")
	}
}

// TestGone: a flag that is no longer there is not there, its command is, and the error says what to
// do instead.
func TestGone(t *testing.T) {
	for words, flags := range gone {
		c, _, err := rootCommand(&app{}).Find(strings.Fields(words))
		must.Need(t, err == nil, words, err)
		for flag, instead := range flags {
			must.Be(t, c.Flags().Lookup(flag) == nil, words, flag, "is there")
			if words == "" {
				words = "analyze"
			}
			krunctl(t, append(strings.Fields(words), "--"+flag)...).says(t, exitUsage, "",
				"--"+flag+" is no longer there: "+instead)
		}
	}
}

// TestCommandsPage: docs/commands.md lists all commands, and no other.
func TestCommandsPage(t *testing.T) {
	text := source(t, "../../docs/commands.md")
	n := 0
	for _, c := range rootCommand(&app{}).Commands() {
		if c.IsAvailableCommand() {
			n++
			must.Contain(t, text, "\n| `"+c.Name()+"` | ")
		}
	}
	must.Equal(t, strings.Count(text, "\n| `")-len(renames), n, "commands")
}

// TestWordsOf: the pages that tables name exist, for commands that exist.
func TestWordsOf(t *testing.T) {
	names := map[string]bool{}
	for _, c := range commands(&app{}) {
		names[c.Name()] = true
	}
	for name, page := range wordsOf {
		must.Be(t, names[name], name)
		must.Be(t, len(source(t, "../../"+page)) > 0, page)
	}
}

// TestTalkOnce: a message that comes again is counted, and printed once.
func TestTalkOnce(t *testing.T) {
	var said strings.Builder
	a := &app{stderr: &said}
	for range 8 {
		a.talk("the clock is %s", "coarse")
	}
	a.talk("another")
	must.Equal(t, a.end(nil), exitOK)
	must.Equal(t, said.String(), "the clock is coarse\nanother\nkrunctl: 8 times: the clock is coarse\n")
}

// TestModern: one line about former names, the new command line, and nothing about present ones.
func TestModern(t *testing.T) {
	for _, c := range []struct{ args, want, said string }{
		{"summary --json x.krun", "show --format=json x.krun",
			"`krunctl summary` is now `krunctl show`, --json is now --format=json"},
		{"export --csv --wide --key a:b:c x", "convert --to=csv --rows=wide --key a:b:c x",
			"--wide is now --rows=wide"},
		{"import --jmh -o y x", "convert --to=krun -o y x", "--jmh is not needed"},
		{"help plan", "help check", "`krunctl plan` is now"},
		{"time --json -- summary --json", "time --format=json -- summary --json",
			"--json is now --format=json"},
		{"analyze --window 40 --cost=ed x", "analyze --rule=window=40 --rule=cost=ed x", "--window is now " +
			"--rule=window=40, --cost is now --rule=cost=ed"},
		{"status x.krun", "status x.krun", ""},
		{"status --keys x.krun", "status --by=key x.krun", "--keys is now --by=key"},
		{"nonsense --json", "nonsense --json", ""},
		{"", "", ""},
	} {
		got, said := modern(rootCommand(&app{}), strings.Fields(c.args))
		must.Equal(t, strings.Join(got, " "), c.want, c.args)
		must.Be(t, (c.said == "") == (said == "") && strings.Contains(said, c.said) &&
			!strings.Contains(said, "\n"), c.args, said)
	}
	b := complete(t)
	old, now := krunctl(t, "summary", b.dir()), krunctl(t, "show", b.dir())
	must.Equal(t, old.stdout, now.stdout, "what a former name prints")
	must.Be(t, strings.Count(old.stderr, "\n") == 1 && old.code == exitOK, old.text())
}
