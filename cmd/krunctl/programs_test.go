package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"krund/internal/durable"
	"krund/internal/execution/identity"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// programsDirectory makes an experiment of the benchmarks b and c with 10 executions each. The
// program of b takes 0.1 s an iteration until it is edited after execution old, then 0.2 s.
func programsDirectory(t *testing.T, old int, change func(r *results.Record, edited bool)) string {
	t.Helper()
	random := rand.New(rand.NewPCG(3, 4))
	var records []results.Record
	for slot := range 20 {
		edited := slot/2 >= old
		level := 1e8
		if edited && slot%2 == 0 {
			level = 2e8
		}
		exec, first := int64(1), int64(level)
		r := completed(key.Key{Benchmark: []string{"b", "c"}[slot%2], VM: "C", Variant: "v"}, slot, slot/2+1,
			noisy(random, level, 0.001))
		r.Started = time.Unix(int64(1e9+slot), 0).UTC()
		r.Startup = results.Startup{ExecNS: &exec, InitNS: &first, FirstNS: &first}
		if change(&r, edited); r.Machine.Fingerprint == nil && r.Edition == 0 {
			r.Started = time.Time{}
		}
		records = append(records, r)
	}
	return storedIn(t, filepath.Join(t.TempDir(), "x.krun"), "", records)
}

// hashed gives a record the fingerprint of an earlier version, which went on with edited programs.
func hashed(r *results.Record, edited bool) {
	r.Machine.Fingerprint = map[string]string{"program.vm.C": "1111", "program.benchmark.c.v": "2222",
		"program.benchmark.b.v": "3333aaaa3333aaaa"}
	if edited {
		r.Machine.Fingerprint["program.benchmark.b.v"] = "4444bbbb4444bbbb"
	}
}

// accepted gives a record the edition that `krund run --accept-changed` has begun.
func accepted(r *results.Record, edited bool) {
	if r.Edition = 1; edited {
		r.Edition = 2
	}
}

// acceptedDirectory is programsDirectory with the file of editions, and records that have no hash.
func acceptedDirectory(t *testing.T) string {
	t.Helper()
	dir := programsDirectory(t, 5, accepted)
	programs := func(hash string) map[string]identity.Program {
		one := func(hash, file string) identity.Program {
			return identity.Program{SHA256: hash, Files: map[string]string{file: hash}}
		}
		return map[string]identity.Program{"program.vm.C": one("1111", "/lab/vm"),
			"program.benchmark.c.v": one("2222",
				"/lab/c.so"), "program.benchmark.b.v": one(hash, "/lab/b.so")}
	}
	must.Do(t, identity.StoreEditions(durable.OS(), filepath.Join(dir, "editions.json"), []identity.Edition{
		{Number: 1, Programs: programs("3333aaaa3333aaaa")},
		{Number: 2, Programs: programs("4444bbbb4444bbbb")}}))
	return dir
}

// TestPrograms: executions of two programs make no common number in any command, and the output
// begins with that.
func TestPrograms(t *testing.T) {
	after := programsDirectory(t, 0, hashed) // all executions with the program that is the latest one
	for _, of := range []struct{ name, dir, file string }{
		{"an experiment with two editions", acceptedDirectory(t), "/lab/b.so"},
		{"an experiment of an earlier version", programsDirectory(t, 5, hashed), "benchmark.b.v"},
	} {
		t.Run(of.name, func(t *testing.T) {
			said := "1 of 2 keys was measured with different programs: " + of.file + " changed after " +
				"execution 5 of " +
				"b:C:v (SHA-256 3333aaaa3333..., then 4444bbbb4444...). Only the executions with the " +
				"latest programs " +
				"of a key count; 5 others are kept apart"
			pages := filepath.Join(t.TempDir(), "pages")
			for _, c := range []struct {
				args []string
				code int
				out  string // a pattern
			}{
				{[]string{"analyze", "--rule", "resamples=2000", of.dir}, exitOK,
					`b +C +v +5 of 10 .* 200\.0 ms`},
				{[]string{"analyze", "--rule", "resamples=2000", of.dir}, exitOK,
					`\(5 with other programs, 0 not completed, `},
				{[]string{"analyze", "--rule", "resamples=2000", "--format", "json", of.dir}, exitOK,
					`"programs": ?"1 of 2 keys`},
				{[]string{"analyze", "--table", of.dir}, exitOK, `b +C +v +5 of 10 .* 200\.0 ms`},
				{[]string{"compare", of.dir, after}, exitOK,
					`(?s)0\s+better,\s+0\s+worse,\s+2\s+the\s+same.*b:C:v +same`},
				{[]string{"compare", after, of.dir}, exitOK,
					`(?s)0\s+better,\s+0\s+worse,\s+2\s+the\s+same.*b:C:v +same`},
				{[]string{"compare", "-f", "json", of.dir, after}, exitOK, `"programs": ?"1 of 2 keys`},
				{[]string{"compare", "-f", "markdown", of.dir, after}, exitOK, `is the same as .* in both keys`},
				{[]string{"compare", "-f", "latex", of.dir, after}, exitOK, `caption\{before: 1 of 2 keys`},
				{[]string{"compare", "-f", "html", of.dir, after}, exitOK,
					`class="alert">before: 1 of 2 keys`},
				{[]string{"report", of.dir, "-o", pages}, exitOK, ""},
				{[]string{"check", of.dir}, exitError, ""}, // it has no schedule
				{[]string{"check", "--format", "json", of.dir}, exitError, `"programs": ?"1 of 2 keys`},
				{[]string{"show", "--startup", "--by", "key", of.dir}, exitOK, `b:C:v +5/5 +200`},
				{[]string{"show", of.dir}, exitOK, `b:C:v +5/0 +.*200`},
				{[]string{"enough", "stability", "--format", "json", of.dir}, exitLeftOut,
					`"left_out": \[\s+{\s+"execution": 1,`},
				{[]string{"analyze", "--similarity", "--format", "json", of.dir}, exitOK,
					`"executions": \[\s+6,`},
				{[]string{"enough", "optimize", "--format", "json", of.dir}, exitOK, `"programs": ?"1 of 2 keys`},
				{[]string{"history", "--format", "json", of.dir, after}, exitOK, ""},
				{[]string{"convert", "--to", "krun", "-o", filepath.Join(t.TempDir(), "x.json"),
					of.dir}, exitOK, ""},
			} {
				r := krunctl(t, c.args...)
				first, _, _ := strings.Cut(r.stderr+r.stdout, "\n\n")
				first = strings.Join(strings.Fields(first), " ") // however it is broken into lines
				if c.args[0] == "show" {
					first = r.stderr // that it has no schedule is the first line
				}
				if !strings.Contains(first, said) && !slices.Equal(c.args[:2], []string{"check",
					"--format"}) {
					t.Errorf("%s does not say it first: %s", c.args[0], r.text())
				}
				must.Be(t, r.code == c.code && regexp.MustCompile(c.out).MatchString(r.stdout), c.args,
					r.text(), "want", c.out)
			}
			index, err := os.ReadFile(filepath.Join(pages, "index.html"))
			if err != nil || !strings.Contains(string(index), `<p class="alert">1 of 2 keys was measured`) {
				t.Errorf("the report does not say it: %v", err)
			}
			r := krunctl(t, "convert", "--to", "csv", of.dir)
			n := strings.Count(r.stdout, "b,C,v,")
			must.Be(t, n == 5*50 && strings.Count(r.stdout, "c,C,v,") == 10*50, "export has", n,
				"rows of b", r.text())
		})
	}
}

// TestSamePrograms: without a change there is no remark, and nothing else differs.
func TestSamePrograms(t *testing.T) {
	without := func(*results.Record, bool) {}
	plain := programsDirectory(t, 0, without)
	same := programsDirectory(t, 0, hashed)
	editions := programsDirectory(t, 0, accepted)
	for _, command := range [][]string{{"analyze", "--rule", "resamples=2000"}, {"analyze", "--table"},
		{"show"},
		{"show", "--startup"},
		{"check"}, {"convert", "--to", "csv"}, {"compare", plain}} {
		var texts []string
		for _, dir := range []string{plain, same, editions} {
			text := strings.ReplaceAll(krunctl(t, slices.Concat(command, []string{dir})...).text(), dir,
				"DIR")
			text = strings.ReplaceAll(text, plain, "DIR")
			must.Be(t, !strings.Contains(text, "programs"), text)
			texts = append(texts, regexp.MustCompile(`[\d.]+ KiB`).ReplaceAllString(text, "SIZE"))
		}
		must.Be(t, texts[0] == texts[1] && texts[0] == texts[2], fmt.Sprint(command), texts)
	}
}
