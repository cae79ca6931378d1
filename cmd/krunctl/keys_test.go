package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/durable"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestUnknownKey: a mistyped key is an error, not an empty table.
func TestUnknownKey(t *testing.T) {
	for _, args := range [][]string{{"show"}, {"convert", "--to", "csv"}, {"convert", "--to", "csv",
		"--rows", "wide"},
		{"show", "--startup"}, {"show", "--counters"}, {"report", "-o", filepath.Join(t.TempDir(),
			"x.svg")}} {
		b := complete(t)
		r := krunctl(t, append(args, "--key", "nbdoy:*:*", b.toml)...)
		if text := r.text(); r.code != exitError || !strings.Contains(text, "matches no key") ||
			!strings.Contains(text, "nbody:C:") {
			t.Errorf("%v: %s", args, text)
		}
	}
}

// twoKeys is the experiment of krundDirectory with the same executions of another benchmark.
func twoKeys(t *testing.T, dir string) string {
	t.Helper()
	in := krundDirectory(t, dir)
	records := filepath.Join(in, "results")
	appender := results.NewAppender(durable.OS(), records)
	for r, err := range results.NewReader(durable.OS(), records).All() {
		must.Do(t, err)
		r.Key.Benchmark = "nbody"
		r.Slot += 10
		must.Do(t, appender.Append(r))
	}
	return in
}

// TestKeyFlag: the commands of analysis take --key in the same way.
func TestKeyFlag(t *testing.T) {
	dir := t.TempDir()
	in := twoKeys(t, dir)
	const one = "fasta:C:default-c"
	// table, compare and report take it from there
	if r := krunctl(t, "analyze", "--rule", "resamples=500", in); r.code != exitOK {
		t.Fatal(r.text())
	}
	for _, c := range []struct {
		name string
		args []string
	}{
		{"analyze", []string{"analyze", "--format", "json", "--rule", "resamples=500", in}},
		{"table", []string{"analyze", "--format", "csv", in}}, {"compare", []string{"compare", "-f", "json",
			in, in}},
		{"stability", []string{"enough", "stability", "--format", "json", "--resamples", "20",
			"--ratio-resamples", "20", in}},
		{"similarity", []string{"analyze", "--similarity", "--format", "json", in}}, {"explain",
			[]string{"explain", "--format", "json", in}},
		{"optimize", []string{"enough", "optimize", "--format", "json", "--resamples", "50", "--steps",
			"5", in}},
		{"convert", []string{"convert", "--to", "go", in}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := krunctl(t, append(c.args, "--key", one)...)
			if r.code == exitUsage || !strings.Contains(r.stdout, "fasta") || strings.Contains(r.stdout,
				"nbody") {
				t.Errorf("%s: %s", one, r.text())
			}
			krunctl(t, append(c.args, "--key", "nosuch:C:default-c")...).says(t, exitError,
				"", "matches no key", "a key that is not there")
			krunctl(t, append(c.args, "--key", "nonsense")...).says(t, exitUsage, "", "--key", "nonsense")
		})
	}
	out := filepath.Join(dir, "out")
	krunctl(t, "report", in, "--key", one, "-o", out).says(t, exitOK, "", "")
	if pages, err := filepath.Glob(filepath.Join(out, "keys", "*.html")); err != nil || len(pages) != 1 {
		t.Errorf("pages %v, %v", pages, err)
	}
}

// TestAnalyzeKey: the analysis of some keys has the same results as that of all keys, and does not
// replace it.
func TestAnalyzeKey(t *testing.T) {
	in := twoKeys(t, t.TempDir())
	type document struct {
		Pairs []json.RawMessage `json:"pairs"`
	}
	var all, one document
	whole := krunctl(t, "analyze", "--format", "json", "--rule", "resamples=500", in)
	if err := json.Unmarshal([]byte(whole.stdout), &all); err != nil || len(all.Pairs) < 2 {
		t.Fatal(err, len(all.Pairs), whole.stdout[:200])
	}
	before := contents(t, in)
	var name struct{ Key string }
	must.Do(t, json.Unmarshal(all.Pairs[1], &name))
	r := krunctl(t, "analyze", "--format", "json", "--rule", "resamples=500", "--key", name.Key, in)
	if err := json.Unmarshal([]byte(r.stdout), &one); err != nil || len(one.Pairs) != 1 ||
		!bytes.Equal(one.Pairs[0], all.Pairs[1]) {
		t.Errorf("%s: %v\n%s\nwant %s", name.Key, err, r.text(), all.Pairs[1])
	}
	must.Be(t, equal(before, contents(t, in)), "the analysis of all keys was replaced")
	out := filepath.Join(t.TempDir(), "one.json")
	krunctl(t, "analyze", "--format", "json", "--rule", "resamples=500", "-o", out, "--key", name.Key,
		in).says(t,
		exitOK, "", "")
	must.Get(os.Stat(out))(t)
}

func TestCompleteKeys(t *testing.T) {
	b := mixed(t)
	r := krunctl(t, "__complete", "analyze", b.dir(), "--key", "")
	if r.code != exitOK || !strings.Contains(r.stdout, "fasta:C:default-c\n") || !strings.Contains(r.stdout,
		":4\n") {
		t.Error(r.text())
	}
	demo := filepath.Join("..", "..", "configs", "demo.toml") // has not begun
	r = krunctl(t, "__complete", "analyze", demo, "--key", "")
	must.Contain(t, r.stdout, "spectralnorm:C:default-c\n", r.text())
}
