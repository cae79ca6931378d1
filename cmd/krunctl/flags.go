package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"krund/internal/display"
	"krund/internal/experiment/key"
	"krund/internal/reading/experiment"
)

// valueNames are the values of flags by their type (pflag.Value).
var valueNames = map[string]string{"int": "a whole number", "int64": "a whole number",
	"uint64": "a whole number from 0", "float64": "a number", "bool": "true or false",
	"duration": "a duration, such as 30s", "intSlice": "whole numbers, separated by commas",
	"float64Slice": "numbers, separated by commas"}

// flagError is the error for a mistake in the flags of a command. A value that is not of the flag's
// type is named in plain words.
func flagError(c *cobra.Command, err error) error {
	err = withoutGone(c, err)
	var wrong *pflag.InvalidValueError
	if errors.As(err, &wrong) {
		name := valueNames[wrong.GetFlag().Value.Type()]
		_, chosen := wrong.GetFlag().Value.(choice)
		switch {
		case chosen:
			err = fmt.Errorf("--%s %w", wrong.GetFlag().Name, errors.Unwrap(wrong))
		case errors.Is(err, strconv.ErrRange):
			err = fmt.Errorf("--%s %s: the number is too large", wrong.GetFlag().Name, wrong.GetValue())
		case name != "":
			err = fmt.Errorf("--%s needs %s, not %q", wrong.GetFlag().Name, name, wrong.GetValue())
		}
	}
	return usageError(fmt.Errorf("%w; see `%s --help`", err, c.CommandPath()))
}

// hostFlag adds --host; the default is the name of this machine. when is added to the text.
func (a *app) hostFlag(f *pflag.FlagSet, host *string, when string) {
	f.StringVar(host, "host", a.host,
		"machine whose [machines] sections apply"+when+" (default: this machine)")
	f.Lookup("host").DefValue = ""
}

// namesFlags adds --vm and --variant.
func namesFlags(f *pflag.FlagSet, vm, variant *string) {
	f.StringVar(vm, "vm", "", "name of the VM if the file has none")
	f.StringVar(variant, "variant", "", "name of the variant (language) if the file has none")
}

// hide leaves flags out of the help: those of former names, of other programs, and of krund's own
// calls.
func hide(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		f.Lookup(name).Hidden = true
	}
}

// choice is a flag that has one of a few values.
type choice struct {
	value *string
	of    []string
}

func (c choice) Set(text string) error {
	if !slices.Contains(c.of, text) {
		return fmt.Errorf("must be %s, not %q", display.Or(c.of), text)
	}
	*c.value = text
	return nil
}

func (c choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}

// Type is what the help shows as the value: a long list would make the column of all flags wide.
func (c choice) Type() string {
	if c.long() {
		return "choice"
	}
	return strings.Join(c.of, "|")
}

func (c choice) long() bool { return len(strings.Join(c.of, "|")) > 24 }

// choiceFlag adds a flag that has one of a few values, of which the first is the default.
func choiceFlag(f *pflag.FlagSet, value *string, name, short, usage string, of ...string) {
	*value = of[0]
	c := choice{value, of}
	if c.long() {
		usage += ": " + display.Or(of)
	}
	f.VarP(c, name, short, usage)
}

// formatFlag adds --format.
func formatFlag(f *pflag.FlagSet, format *string, of ...string) {
	choiceFlag(f, format, "format", "f", "what to print", of...)
}

// outputFlag adds -o.
func outputFlag(f *pflag.FlagSet, output *string, usage string) {
	f.StringVarP(output, "output", "o", "", usage)
}

// only returns an error if a flag was given that is not for what a command was asked. allowed are
// the names of flags, with blanks between them.
func only(c *cobra.Command, what, allowed string) error {
	var wrong error
	c.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(strings.Fields(allowed), f.Name) && wrong == nil {
			wrong = usageError(fmt.Errorf("--%s is not for %s; see `%s --help`", f.Name, what,
				c.CommandPath()))
		}
	})
	return wrong
}

// rules is a flag for settings that only specialists need: NAME=VALUE sets a hidden flag.
type rules struct {
	of    *pflag.FlagSet
	names []string
}

func (r rules) Set(text string) error {
	name, value, found := strings.Cut(text, "=")
	if !found || !slices.Contains(r.names, name) {
		return fmt.Errorf("%q: write NAME=VALUE, with one of the names %s", text, strings.Join(r.names, ", "))
	}
	return r.of.Set(name, value)
}

func (r rules) String() string { return "" }

// Type is what the help shows as the value.
func (r rules) Type() string { return "NAME=VALUE" }

// ruleFlag adds --rule for the flags of these names, which the help leaves out.
func ruleFlag(f *pflag.FlagSet, names ...string) {
	hide(f, names...)
	f.Var(rules{f, names}, "rule", "repeatable: "+strings.Join(names, ", "))
}

// jobs is the value of --jobs: a number of processors to use.
type jobs struct{}

func (jobs) String() string { return "" }
func (jobs) Type() string   { return "int" }

// Set bounds the threads that compute.
func (jobs) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return errors.New("at least 1 processor is needed")
	}
	runtime.GOMAXPROCS(n)
	return nil
}

// keyFlag adds --key with its completion.
func (a *app) keyFlag(c *cobra.Command, key *string) {
	c.Flags().StringVar(key, "key", "", "only keys that match benchmark:vm:variant[@arm], each part may be *")
	complete := func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return a.completeKeys(args)
	}
	if err := c.RegisterFlagCompletionFunc("key", complete); err != nil {
		panic(err) // there is no such flag
	}
}

// keysOf returns the keys of an experiment, also of one that has not begun; none of a file of
// results, because reading it would take too long.
func (a *app) keysOf(arg string) []key.Key {
	if f, err := experiment.Open(a.fsys, arg); err == nil {
		return f.Keys(a.host)
	}
	if cfg, err := experiment.ParseConfig(a.fsys, arg, a.host); err == nil {
		return cfg.Keys()
	}
	return nil
}

// completeKeys returns the keys of the experiments that are on the command line already.
func (a *app) completeKeys(args []string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, arg := range args {
		for _, k := range a.keysOf(arg) {
			if !slices.Contains(names, k.String()) {
				names = append(names, k.String())
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
