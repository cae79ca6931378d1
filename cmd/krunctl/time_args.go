package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"krund/internal/display"
	"krund/internal/trial"
)

// valuesOf are the options that hyperfine's users write with several values.
var valuesOf = map[string]int{"-P": 3, "--parameter-scan": 3, "-L": 2, "--parameter-list": 2}

// joinValues turns "-P n 1 4" of `krunctl time` into "-P=n 1 4": a flag of package pflag has one
// value.
func joinValues(args []string) []string {
	if len(args) == 0 || args[0] != "time" {
		return args
	}
	var joined []string
	for i := 0; i < len(args); i++ {
		n, ok := valuesOf[args[i]]
		switch {
		case args[i] == "--":
			return append(joined, args[i:]...)
		case ok && i+n < len(args):
			joined = append(joined, args[i]+"="+strings.Join(args[i+1:i+1+n], " "))
			i += n
		default:
			joined = append(joined, args[i])
		}
	}
	return joined
}

// quoted is the command line that times one command with these words.
func quoted(words []string) string {
	return display.ShellJoin([]string{"krunctl", "time", strings.Join(words, " ")})
}

// timeFlagError adds to the error of an unknown flag how a command with options is written:
// `krunctl time ls -l` has none in quotes.
func timeFlagError(c *cobra.Command, err error) error {
	words, unknown := c.Flags().Args(), (*pflag.NotExistError)(nil)
	if errors.As(err, &unknown) && len(words) > 0 && allWords(words) {
		flag := "--" + unknown.GetSpecifiedName()
		if s := unknown.GetSpecifiedShortnames(); s != "" {
			flag = "-" + s
		}
		err = fmt.Errorf("%w; if it belongs to %s, quote the command: %s", err, words[0],
			quoted(append(slices.Clone(words), flag)))
	}
	return c.Parent().FlagErrorFunc()(c, err)
}

// shells are those whose commands are programs of PATH and builtins.
var shells = []string{"sh", "dash", "bash", "ksh", "zsh"}

// builtins are the commands of these shells that are not programs everywhere.
var builtins = strings.Fields(": . alias bg break builtin cd command continue declare echo enable " +
	"eval exec exit export false fc fg getopts hash help jobs kill let local printf pwd " +
	"read readonly return set shift source test time times trap true type typeset ulimit umask unalias " +
	"unset wait [")

// checkQuotes refuses one command without its quotes, such as `sleep 0.01`, which would be two:
// only words, of which a later one is no command. What --setup or --prepare make is unknown yet.
func (o *timeOptions) checkQuotes(args []string, p trial.Plan) error {
	shell := filepath.Base(strings.Fields(o.shell + " -")[0])
	if len(args) < 2 || !allWords(args) || o.setup != "" || len(o.prepare) > 0 ||
		p.Calibrate != nil && !slices.Contains(shells, shell) {
		return nil
	}
	for _, word := range args[1:] {
		file, _ := filepath.Abs(word) // no error: newWorkspace needs the directory, too
		isFile := slices.ContainsFunc(p.Subjects, func(s trial.Subject) bool { return s.File == file })
		_, err := exec.LookPath(word)
		if err == nil || isFile || p.Calibrate != nil && slices.Contains(builtins, word) {
			continue
		}
		return fmt.Errorf("%q is neither a command nor a benchmark file (with run_iter), and each argument "+
			"is one; write a command with its arguments in quotes: %s", word, quoted(args))
	}
	return nil
}

// allWords reports whether the arguments are single words without a meaning for a shell.
func allWords(args []string) bool {
	return !slices.ContainsFunc(args, func(s string) bool {
		return s == "" || strings.ContainsAny(s, " \t\n|&;<>()$`\\\"'*?[]{}=~#!")
	})
}
