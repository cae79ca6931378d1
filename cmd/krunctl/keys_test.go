package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

// twoKeys is the experiment of krundDirectory with the same executions of another benchmark.
func twoKeys(t *testing.T, dir string) string {
	t.Helper()
	return doubled(t, krundDirectory(t, dir), func(r *results.Record) { r.Key.Benchmark = "nbody" })
}

// TestKeyFlag: the commands of analysis take --key in the same way.
func TestKeyFlag(t *testing.T) {
	dir := t.TempDir()
	in := twoKeys(t, dir)
	const one = "fasta:C:default-c"
	// table, compare and report take it from there
	krunctl(t, "analyze", "--rule", "resamples=500", in).works(t)
	for _, command := range []string{
		"analyze --format json --rule resamples=500", "analyze --format csv", "compare -f json " + in,
		"enough stability --format json --resamples 20 --ratio-resamples 20",
		"analyze --similarity --format json", "explain --format json",
		"enough optimize --format json --resamples 50 --steps 5", "convert --to go",
	} {
		run := func(key string) ran {
			return krunctl(t, append(strings.Fields(command), in, "--key", key)...)
		}
		r := run(one)
		must.Be(t, r.code != exitUsage && strings.Contains(r.stdout, "fasta") &&
			!strings.Contains(r.stdout, "nbody"), command, r.text())
		run("nosuch:C:default-c").says(t, exitError, "", "matches no key", command)
		run("nonsense").says(t, exitUsage, "", "--key", command)
	}
	out := filepath.Join(dir, "out")
	krunctl(t, "report", in, "--key", one, "-o", out).says(t, exitOK, "", "")
	pages, err := filepath.Glob(filepath.Join(out, "keys", "*.html"))
	must.Be(t, err == nil && len(pages) == 1, "pages", pages, err)
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
	must.Be(t, maps.Equal(before, contents(t, in)), "the analysis of all keys was replaced")
	out := filepath.Join(t.TempDir(), "one.json")
	krunctl(t, "analyze", "--format", "json", "--rule", "resamples=500", "-o", out, "--key", name.Key,
		in).says(t,
		exitOK, "", "")
	must.Get(os.Stat(out))(t)
}

func TestCompleteKeys(t *testing.T) {
	b := mixed(t)
	r := krunctl(t, "__complete", "analyze", b.dir(), "--key", "")
	must.Be(t, r.code == exitOK && strings.Contains(r.stdout, "fasta:C:default-c\n") &&
		strings.Contains(r.stdout, ":4\n"), r.text())
	demo := filepath.Join("..", "..", "configs", "demo.toml") // has not begun
	r = krunctl(t, "__complete", "analyze", demo, "--key", "")
	must.Contain(t, r.stdout, "spectralnorm:C:default-c\n", r.text())
}
