package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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

// timeFlagError adds to the error of an unknown flag how a command with options is written:
// `krunctl time ls -l` has none in quotes.
func timeFlagError(c *cobra.Command, err error) error {
	words, unknown := c.Flags().Args(), (*pflag.NotExistError)(nil)
	if errors.As(err, &unknown) && len(words) > 0 && trial.SingleWords(words) {
		flag := "--" + unknown.GetSpecifiedName()
		if s := unknown.GetSpecifiedShortnames(); s != "" {
			flag = "-" + s
		}
		err = fmt.Errorf("%w; if it belongs to %s, quote the command: %s", err, words[0],
			trial.Quoted(append(slices.Clone(words), flag)))
	}
	return c.Parent().FlagErrorFunc()(c, err)
}
