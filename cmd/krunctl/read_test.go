package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestShowJSONIsTheDocument: byte for byte what krund has written.
func TestShowJSONIsTheDocument(t *testing.T) {
	b := mixed(t)
	packed, err := os.ReadFile(b.recordPath(3, 2))
	b.must(err)
	z, err := gzip.NewReader(bytes.NewReader(packed))
	b.must(err)
	want, err := io.ReadAll(z)
	b.must(err)
	for _, args := range [][]string{{b.dir(), "3"}, {b.toml, "3-2"}, {b.recordPath(3, 2)}} {
		r := krunctl(t, append([]string{"show", "--format", "json"}, args...)...)
		must.Be(t, r.code == exitOK && r.stdout == string(want), args, r.text(), "want", want)
	}
}

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
		run("nonsense").says(t, exitUsage, "", "the key: pattern", command)
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

// recordReaders are all commands that look at every record of an experiment. TMP is a directory of
// the test's own.
var recordReaders = []string{
	"show", "show --format json", "show --startup", "show --startup --format json", "convert --to csv",
	"convert --to jsonl --rows executions", "convert --to csv --rows wide --key nbody:C:*", "analyze",
	"analyze --format json", "analyze --table", "analyze --table -o TMP/table", "report -o TMP/report",
	"report -o TMP/x.svg", "compare", "compare -f csv", "enough stability", "analyze --similarity",
	"enough optimize", "explain", "convert --to go", "convert --to krun -o TMP/x.bz2", "show --counters",
}

// readRecords runs one of them over the experiment in dir.
func readRecords(t *testing.T, tmp, dir, command string) ran {
	t.Helper()
	args := strings.Fields(strings.ReplaceAll(command, "TMP", tmp))
	if args[0] == "compare" {
		args = append(args, dir)
	}
	return krunctl(t, append(args, dir)...)
}

// TestDamagedRecordsAreOneRule: each command that reads all records does its work without those
// that are damaged, says on standard error which they are, and ends with exit status 3; without
// damage with 0. Those that look for problems, and those that cannot do their work, end with 1.
func TestDamagedRecordsAreOneRule(t *testing.T) {
	must.Long(t)
	for name, damage := range map[string]func(b *builder){
		"sound":   func(*builder) {},
		"damaged": func(b *builder) { b.flip(b.recordPath(0, 1), 60) },
		"cut off": func(b *builder) { b.must(os.Truncate(b.recordPath(0, 1), 100)) },
		"empty":   func(b *builder) { b.must(os.Truncate(b.recordPath(0, 1), 0)) },
		"newer":   func(b *builder) { b.must(os.WriteFile(b.recordPath(0, 1), newer(b), 0o644)) },
		"of another slot": func(b *builder) {
			packed, err := os.ReadFile(b.recordPath(1, 1))
			b.must(err)
			b.must(os.WriteFile(b.recordPath(0, 1), packed, 0o644))
		},
		"contradicting itself": func(b *builder) {
			packed, err := os.ReadFile(b.recordPath(0, 1))
			b.must(err)
			b.must(os.WriteFile(b.recordPath(0, 1), repack(t, packed, `"wall_ns":[`, `"wall_ns":[7,`), 0o644))
		},
	} {
		t.Run(name, func(t *testing.T) {
			if !must.Slow && (name == "cut off" || name == "empty" || name == "newer") {
				t.Skip("for the commands it is as another damage; with the build tag slow")
			}
			b := newExperimentOf(t, strings.ReplaceAll(experimentText, "executions = 2", "executions = 3"))
			for range b.cfg.Slots() {
				b.run(results.Completed)
			}
			damage(b)
			tmp := t.TempDir()
			for _, args := range recordReaders {
				r := readRecords(t, tmp, b.dir(), args)
				if strings.Contains(args, "--counters") { // they have none to judge, which is 1 in any case
					must.Be(t, r.code == exitError &&
						strings.Contains(r.stderr, "0000000-001") == (name != "sound"), args, r.text())
					continue
				}
				if name == "sound" {
					if strings.Contains(args, "stability") { // these executions are too short for it
						r.code -= exitLeftOut
					}
					must.Be(t, r.code == exitOK && !strings.Contains(r.stderr, "left out"), args, r.text())
					continue
				}
				must.Be(t, r.code == exitLeftOut && strings.Count(r.stderr, "0000000-001") == 1 &&
					strings.Contains(r.stderr, "left out 1 record in all") &&
					strings.Contains(r.stderr, "krunctl check"), args, "want exit", exitLeftOut,
					"and the record's name once", r.text())
				must.Be(t, r.stdout != "" || strings.Contains(args, " -o "), args, "printed nothing")
			}
			for _, args := range [][]string{{"check", b.dir()}, {"show", b.dir(), "0"}} {
				r := krunctl(t, args...)
				want := exitError
				if name == "sound" || args[0] == "show" && (name == "contradicting itself" ||
					name == "of another slot") {
					want = exitOK // show prints what can be read, and says of what it is
				}
				must.Equal(t, r.code, want, args, "want exit", r.text())
			}
			for _, out := range []string{"table", "report/index.html", "x.svg", "x.bz2"} {
				must.Get(os.Stat(filepath.Join(tmp, out)))(t, out, "was not written")
			}
		})
	}
}

// TestManyDamagedRecords: a limited number is named, and all are counted.
func TestManyDamagedRecords(t *testing.T) {
	b := newExperimentOf(t, strings.ReplaceAll(experimentText, "executions = 2", "executions = 20"))
	for i := range b.cfg.Slots() {
		b.run(results.Completed)
		if i < 50 {
			b.must(os.Truncate(b.recordPath(i, 1), 50))
		}
	}
	for _, args := range [][]string{{"show"}, {"analyze", "--table"}} {
		r := krunctl(t, append(args, b.dir())...)
		must.Be(t, r.code == exitLeftOut && strings.Count(r.stderr, "\n") <= 5 &&
			strings.Contains(r.stderr, "left out 50 records in all"), args, r.text())
	}
}
