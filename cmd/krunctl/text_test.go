package main

import (
	"math"
	"strings"
	"testing"
	"unicode"

	"krund/internal/exchange"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

func FuzzParseIterations(f *testing.F) {
	for _, s := range []string{"", "0-99", "500-", "7", "9-1", "-", "1-9223372036854775807"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		from, too, err := exchange.ParseIterations(s)
		must.Be(t, err != nil || from >= 0 && (too > from || from == math.MaxInt), s, from, "to", too)
	})
}

// TestHostileOutput: nothing that a benchmark says reaches the terminal as it
// is; the JSON has it all.
func TestHostileOutput(t *testing.T) {
	const hostile = "\x1b]0;owned\x07\x1b[2J\nsecond\u202eline"
	b := newExperiment(t)
	slot, err := b.sched.Begin()
	b.must(err)
	rec := b.record(slot, results.Error, "exit status 1: "+hostile)
	rec.Process.Stdout = results.Output{Text: hostile, Bytes: int64(len(hostile))}
	rec.Process.Argv = append(rec.Process.Argv, hostile)
	rec.Host, rec.BootID = hostile, hostile
	rec.Machine.KernelLog.Lines = []string{hostile}
	rec.Machine.Controls = []results.Control{{Name: hostile, Detail: hostile}}
	rec.Machine.Fingerprint = map[string]string{hostile: hostile}
	rec.Machine.Temperatures.After = []results.Temperature{{Sensor: hostile}}
	rec.Columns[0].Name, rec.Columns[1].Name = hostile, hostile
	rec.Instrument, rec.Reboot = hostile, hostile
	rec.Events = []results.Event{{Kind: hostile, Name: hostile}}
	rec.Switches = &results.Switches{Reason: hostile, Tasks: []results.SwitchTask{{Name: hostile}}}
	rec.Watcher = &results.Watcher{Problem: hostile, Stop: &results.WatcherStop{Criterion: hostile}}
	rec.Machine.Load = &results.Load{Interrupts: []results.Interrupt{{Kind: hostile, Name: hostile}}}
	b.append(rec)
	b.must(b.sched.Finish(slot, 'E'))
	for _, args := range [][]string{{"status", "--by", "key"}, {"show"}, {"show", "--series"}, {"check"},
		{"explain"}} {
		args = append(args, b.dir())
		if args[0] == "show" {
			args = append(args, "0")
		}
		r := krunctl(t, args...)
		for line := range strings.Lines(r.stdout + r.stderr) {
			if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool {
				return r != ' ' &&
					!unicode.IsPrint(r)
			}) {
				t.Errorf("%v prints %q", args, line)
			}
		}
	}
	r := krunctl(t, "show", "--format", "json", b.dir(), "0")
	must.Contain(t, r.stdout, `\u001b]0;owned\u0007`, "the JSON has not the text", r.text())
}
