package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"krund/internal/trial"
	"krund/rig/must"
)

// TestTimeExamples: the examples of the help text are understood.
func TestTimeExamples(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Write(t, "bench.py", "def run_iter(n): pass\n")
	_, text, _ := strings.Cut(string(must.Get(helpTexts.ReadFile("help/time.txt"))(t)), "EXAMPLES\n")
	n := 0
	for line := range strings.Lines(strings.ReplaceAll(text, " \\\n    ", " ")) {
		line, ok := strings.CutPrefix(line, "  krunctl ")
		if !ok {
			continue
		}
		n++
		args := must.Get(trial.Words(line))(t)
		var o timeOptions
		f := pflag.NewFlagSet("time", pflag.ContinueOnError)
		o.flags(f)
		must.Do(t, f.Parse(joinValues(args)[1:]), line)
		p, err := o.plan(f.Args())
		must.Be(t, err == nil && len(p.Subjects) != 0, line, err)
	}
	must.Be(t, n >= 5, n, "examples")
}

// TestTimeRefuses: what cannot work is refused before anything is measured, and nothing is changed.
func TestTimeRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Write(t, "plain.py", "print(1)\n")
	must.Write(t, "old.json", "kept")
	must.Do(t, syscall.Mkfifo("fifo", 0o644))
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"plain.py"}, "plain.py has no function run_iter"},
		{[]string{"--input", "fifo", "true"}, "fifo is no regular file"},
		{[]string{"--input", ".", "true"}, "is no regular file"},
		{[]string{"--export-json", "nowhere/x.json", "true"}, "nowhere/x.json: no such file or directory"},
		{[]string{"--export-json", "old.json", "--export-csv", ".", "true"}, "it is a directory"},
	} {
		krunctl(t, append([]string{"time"}, test.args...)...).says(t, 2, "", test.want, test.args)
	}
	kept := must.Get(os.ReadFile("old.json"))(t)
	files := must.Get(os.ReadDir("."))(t)
	must.Be(t, string(kept) == "kept" && len(files) == 3, string(kept), files)
}

func TestJoinValues(t *testing.T) {
	for _, test := range []struct{ args, want []string }{
		{[]string{"time", "-P", "n", "1", "4", "x"}, []string{"time", "-P=n 1 4", "x"}},
		{[]string{"time", "x", "--parameter-list", "n", "a,b"},
			[]string{"time", "x", "--parameter-list=n a,b"}},
		{[]string{"time", "-P", "n", "1"}, []string{"time", "-P", "n", "1"}},
		{[]string{"time", "--", "-P", "n", "1", "4"}, []string{"time", "--", "-P", "n", "1", "4"}},
		{[]string{"check", "--plan", "-P", "n", "1", "4"}, []string{"check", "--plan", "-P", "n", "1", "4"}},
		{nil, nil},
	} {
		must.EqualList(t, joinValues(test.args), test.want, test.args)
	}
}

// TestTimeQuotes: one command without its quotes would be two commands, or options of krunctl.
func TestTimeQuotes(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("PATH", dir)
	for name, text := range map[string]string{"sleep": "#!/bin/sh\n", "sort": "#!/bin/sh\n",
		"bench.py": "def run_iter(n): pass\n", "script.py": "pass\n", "words": ""} {
		must.Do(t, os.WriteFile(name, []byte(text), 0o755))
	}
	must.Do(t, os.Chmod("words", 0o644))
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
		{[]string{"--go", "BenchmarkX", "./pkg"}, "--build and --go are about git revisions"},
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
		must.Be(t, (err != nil) == (test.want != "") && (err == nil ||
			strings.Contains(err.Error(), test.want)), test.args, err, "want", test.want)
	}
}
