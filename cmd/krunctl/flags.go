package main

import (
	"cmp"
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

// notTogether returns an error if two of these flags were given.
func notTogether(c *cobra.Command, names ...string) error {
	given := slices.DeleteFunc(names, func(name string) bool { return !c.Flags().Changed(name) })
	if len(given) < 2 {
		return nil
	}
	return usageError(fmt.Errorf("--%s cannot be combined with --%s; see `%s --help`", given[0], given[1],
		c.CommandPath()))
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

// rename is a former name of a command, or a command with flags that had other names.
type rename struct {
	old, now string
	flags    map[string]string // former flag -> now; "" is none, and one that ends in = takes a value
}

// detected are flags for what is found out now.
var detected = map[string]string{"--jmh": "", "--pyperf": "", "--hyperfine": "", "--go": ""}

// renames are all former names. They work until the next version.
var renames = []rename{
	{old: "doctor", now: "check"},
	{old: "noise", now: "check --noise", flags: map[string]string{"--compare": "--prove",
		"--directory": "--output"}},
	{old: "plan", now: "check --plan"},
	{old: "check-data", now: "check --data"},
	{old: "rerun", now: "run --again --later"},
	{old: "decide", now: "status --decision"},
	{old: "status", now: "status", flags: map[string]string{"--keys": "--by=key"}},
	{old: "summary", now: "show"},
	{old: "startup", now: "show --startup"},
	{old: "amperf", now: "show --counters"},
	{old: "analyze", now: "analyze", flags: map[string]string{"--outliers": "--rule=outliers=",
		"--window": "--rule=window=", "--penalty": "--rule=penalty=", "--cost": "--rule=cost=",
		"--resamples": "--rule=resamples=", "--raw-deltas": "--rule=raw-deltas"}},
	{old: "table", now: "analyze --table"},
	{old: "similarity", now: "analyze --similarity"},
	{old: "plot", now: "report", flags: map[string]string{"--columns": "--column"}},
	{old: "verdict", now: "compare"},
	{old: "reboots", now: "compare --by=restart"},
	{old: "import", now: "convert --to=krun", flags: detected},
	{old: "convert", now: "convert", flags: detected},
	{old: "export", now: "convert", flags: map[string]string{"--csv": "--to=csv", "--jsonl": "--to=jsonl",
		"--trace": "--to=trace", "--long": "--rows=iterations", "--wide": "--rows=wide",
		"--executions": "--rows=executions", "--events": "--rows=events"}},
	{old: "import-config", now: "convert --to=toml"},
	{old: "stability", now: "enough stability"},
	{old: "optimize", now: "enough optimize", flags: map[string]string{"--near": ""}},
	{old: "optimise", now: "enough optimize", flags: map[string]string{"--near": ""}},
	{old: "simulate", now: "enough simulate"},
	{old: "restore", now: "repair --machine"},
	{old: "submit", now: "hub submit"},
	{old: "wait", now: "hub wait"},
	{old: "request", now: "hub request"},
	{old: "join", now: "hub join"},
	{old: "ship", now: "hub ship"},
}

// gone are the flags that commands no longer have, by the command's words and the flag, and what to
// do instead. "" stands for all commands.
var gone = map[string]map[string]string{
	"": {"unit": "each value has the prefix that fits; --format csv and json have plain seconds"},
	"show": {"sort": "rows have the order of the schedule; --format json and jq sort them",
		"tolerance": "the limit is ratio_tolerance of [verdict] in the configuration",
		"threshold": "the limit is busy_threshold of [verdict] in the configuration",
		"seed":      "it is 0", "confidence": "intervals are of 99 %"},
	"check": {"from": "krunctl enough simulate --policy config replays [stop] over an experiment",
		"detect": "krunctl enough --change 2% EXPERIMENT tells how many executions show it",
		"limit":  "the plan has 20 slots, --all all of them"},
	"analyze": {"fresh": "remove the stored analysis.json to analyze everything again",
		"matrix": "--format json has the dissimilarities of each pair", "seed": "it is --rule seed=N",
		"how-long": "it is krunctl enough how-long"},
	"report":          {"per-page": "a page has what fits on it; --execution selects executions"},
	"explain":         {"alpha": "it is 0.05", "seed": "it is 1"},
	"bisect":          {"build-timeout": "a build may take 3 hours; --build 'timeout 10m ...' ends it"},
	"enough simulate": {"keys": "--format json has a group for each key"},
}

// withoutGone returns the error of a flag that a command has had, with what to do instead; else
// err.
func withoutGone(c *cobra.Command, err error) error {
	missing, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	name := missing.GetSpecifiedName()
	_, words, _ := strings.Cut(c.CommandPath(), " ")
	if instead := cmp.Or(gone[words][name], gone[""][name]); instead != "" {
		return fmt.Errorf("--%s is no longer there: %s", name, instead)
	}
	return err
}

// formerFormats are the former flags of a format, of all commands that have --format.
var formerFormats = map[string]string{"--json": "--format=json", "--csv": "--format=csv"}

// modern replaces former names in the arguments. said is a line about it, "" if there were none.
func modern(root *cobra.Command, args []string) (now []string, said string) {
	if len(args) == 0 {
		return args, ""
	}
	if args[0] == "help" {
		now, said = modern(root, args[1:])
		now = slices.DeleteFunc(now, func(word string) bool { return strings.HasPrefix(word, "-") })
		return append([]string{"help"}, now...), said
	}
	var r rename
	if i := slices.IndexFunc(renames, func(r rename) bool { return r.old == args[0] }); i >= 0 {
		r = renames[i]
	} else {
		r = rename{old: args[0], now: args[0]}
	}
	now = append(strings.Fields(r.now), args[1:]...)
	c, _, err := root.Find(now)
	if err != nil || c == root {
		return args, ""
	}
	has := func(flag string) bool { return c.Flags().Lookup(flag) != nil }
	var changes []string
	if r.old != r.now {
		changes = append(changes, fmt.Sprintf("`krunctl %s` is now `krunctl %s`", r.old, r.now))
	}
	for i := 0; i < len(now) && now[i] != "--"; i++ {
		flag, value, hasValue := strings.Cut(now[i], "=")
		instead, former := r.flags[flag]
		if format, ok := formerFormats[now[i]]; ok && !former && has("format") && !has(flag[2:]) {
			instead, former = format, true
		}
		switch {
		case !former:
			continue
		case instead == "":
			changes = append(changes, flag+" is not needed")
			now = slices.Delete(now, i, i+1)
			i--
			continue
		case hasValue:
			instead = strings.TrimSuffix(instead, "=") + "=" + value
		case strings.HasSuffix(instead, "=") && i+1 < len(now):
			instead += now[i+1]
			now = slices.Delete(now, i+1, i+2)
		}
		changes = append(changes, flag+" is now "+instead)
		now[i] = instead
	}
	if len(changes) > 0 {
		said = "krunctl: " + strings.Join(changes, ", ") + "; the former name works until the next version"
	}
	return now, said
}
