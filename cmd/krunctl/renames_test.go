package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"krund/rig/must"
)

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
