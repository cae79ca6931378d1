package main

import (
	"math"
	"strings"
	"testing"
	"time"

	"krund/internal/results"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "nbody:C": "nbody:C", "grün 日本": "grün 日本", "\x1b[2J": `\x1b[2J`, "a\tb\nc\r": `a\tb\nc\x0d`, "\x00": `\x00`,
		"\u202eabc": `\u202eabc`, "\u009b": `\u009b`, "\xff\xfe": `\xff\xfe`, "\u00a0": `\u00a0`, "�": "�",
	} {
		if got := visible(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\x1b[31m\xff\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		once := visible(s)
		if strings.ContainsFunc(once, hidden) {
			t.Errorf("%q gives %q", s, once)
		}
		if twice := visible(once); twice != once {
			t.Errorf("%q becomes %q", once, twice)
		}
	})
}

func TestDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0.0s", 90 * time.Millisecond: "0.1s", 59400 * time.Millisecond: "59s", 90 * time.Second: "1m 30s", 3599 * time.Second: "59m 59s",
		3*time.Hour + 29*time.Minute + 40*time.Second: "3h 30m", 50 * time.Hour: "2d 2h 0m",
	} {
		if got := long(d); got != want {
			t.Errorf("long(%v) = %s, want %s", d, got, want)
		}
	}
	for ns, want := range map[float64]string{
		0: "0.000ns", 7: "7.000ns", 999: "999.0ns", 1234: "1.234us", 12345: "12.35us", 123456789: "123.5ms", 1e9: "1.000s", 3.6e12: "3600s", -1500: "-1.500us",
	} {
		if got := short(ns); got != want {
			t.Errorf("short(%v) = %s, want %s", ns, got, want)
		}
	}
}

func TestSecondsTextIsExact(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0.000000000", 1: "0.000000001", 1_234_567_890: "1.234567890", -1: "-0.000000001",
		math.MaxInt64: "9223372036.854775807", math.MinInt64: "-9223372036.854775808",
	} {
		if got := secondsText(ns); got != want {
			t.Errorf("%d: %s, want %s", ns, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 30 << 20: "30.0 MiB", 5 << 40: "5.0 TiB"} {
		if got := size(bytes); got != want {
			t.Errorf("%d: %s, want %s", bytes, got, want)
		}
	}
}

func FuzzParseRecord(f *testing.F) {
	for _, s := range []string{"17", "17-2", "0000017-001.json.gz", "-1", "1-", "1-0", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		slot, attempt, err := parseRecord(s)
		if err == nil && (slot < 0 || attempt < 0) {
			t.Errorf("%q: %d-%d", s, slot, attempt)
		}
	})
}

func FuzzParseIterations(f *testing.F) {
	for _, s := range []string{"", "0-99", "500-", "7", "9-1", "-", "1-9223372036854775807"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if from, too, err := parseIterations(s); err == nil && (from < 0 || too <= from && from != math.MaxInt) {
			t.Errorf("%q: %d to %d", s, from, too)
		}
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
	b.append(rec)
	b.must(b.sched.Finish(slot, 'E'))
	for _, args := range [][]string{{"status", "--keys"}, {"summary"}, {"show", "--series"}, {"check-data"}} {
		args = append(args, b.dir())
		if args[0] == "show" {
			args = append(args, "0")
		}
		r := krunctl(t, args...)
		for line := range strings.Lines(r.stdout + r.stderr) {
			if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), hidden) {
				t.Errorf("%v prints %q", args, line)
			}
		}
	}
	if r := krunctl(t, "show", "--json", b.dir(), "0"); !strings.Contains(r.stdout, `\u001b]0;owned\u0007`) {
		t.Errorf("the JSON has not the text: %s", r.text())
	}
}
