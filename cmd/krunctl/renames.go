package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

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
