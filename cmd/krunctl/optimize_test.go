package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"krund/internal/analysis/optimize"
	"krund/internal/boot/doctor"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/rig/must"
)

// uoptimeText returns a result file of µOpTime with three benchmarks: one flat with little noise,
// one noisy, and one that is slower by a factor from run to run.
func uoptimeText(seed uint64, factor float64) string {
	r := rand.New(rand.NewPCG(seed, 3))
	var b strings.Builder
	b.WriteString("b_name,ir_pos,sr_pos,it_pos,bed_pos,ns_per_op\n")
	for sr := 1; sr <= 3; sr++ {
		for it := 1; it <= 4; it++ {
			for bed := 1; bed <= 2; bed++ {
				for _, x := range []struct {
					name  string
					level float64
				}{
					{"BenchmarkLevel", 1200 * (1 + 0.004*r.NormFloat64())},
					{"BenchmarkNoisy/size=10", 50 * factor * (1 + 0.1*r.NormFloat64())},
					{"BenchmarkRuns", 8 * factor * (1 + 0.2*float64(sr)) * (1 + 0.001*r.NormFloat64())},
				} {
					fmt.Fprintf(&b, "%s,1,%d,%d,%d,%.4f\n", x.name, sr, it, bed, x.level)
				}
			}
		}
	}
	return b.String()
}

func writeText(t *testing.T, name, text string) string {
	t.Helper()
	must.Do(t, os.WriteFile(name, []byte(text), 0o644))
	return name
}

func goText(lines int, ns float64) string {
	var b strings.Builder
	for range 2 {
		b.WriteString("goos: linux\npkg: x\n")
		for i := range lines {
			fmt.Fprintf(&b, "BenchmarkFib-8 1000 %.1f ns/op\n", ns+float64(i%2))
		}
		b.WriteString("PASS\n")
	}
	return b.String()
}

func TestOptimizeGoldens(t *testing.T) {
	outputs := map[string]ran{}
	t.Run("run", func(t *testing.T) { optimizeAll(t, outputs) }) // in a directory of its own
	for name, r := range outputs {
		t.Run(name, func(t *testing.T) {
			must.Need(t, r.code == exitOK && r.stderr == "", "exit", r.code, r.stderr)
			golden(t, name, r.stdout)
		})
	}
}

func optimizeAll(t *testing.T, outputs map[string]ran) {
	t.Helper()
	dir := t.TempDir()
	krundDirectory(t, dir)
	krunFile(t, dir)
	t.Chdir(dir) // names of files are part of the tables
	directory, krun := "test.krun", "test_results.json"
	analyzed(t, "--mode", "paper", directory).works(t)
	one := writeText(t, "v1.csv", uoptimeText(1, 1))
	two := writeText(t, "v2.csv", uoptimeText(2, 1.3))
	three := writeText(t, "v3.csv", uoptimeText(3, 1.1))
	a, b := writeText(t, "a.txt", goText(3, 100)), writeText(t, "b.txt", goText(3, 101))
	for _, c := range []struct {
		name string
		args []string
	}{
		{"optimize-krund", []string{"--skip", "steady", "--overhead", "3m", directory}},
		{"optimize-at-least", []string{"--metric", "rmad", "--at-least", "3", directory}},
		{"optimize-off", []string{"--far", "--metric", "rmad", directory}},
		{"optimize-krun", []string{"--metric", "rciw1", "--skip", "50", krun}},
		{"optimize-uoptime", []string{"--metric", "rmad", one}},
		{"optimize-go", []string{"--metric", "cv", "--suite-runs", a, b}},
		{"optimize-changes", []string{"--changes", "--metric", "rmad", one, two, three}},
		{"optimize-csv", []string{"--format", "csv", "--metric", "cv", one, a}},
		{"optimize-json", []string{"--format", "json", "--metric", "rmad", "--skip", "40", directory}},
	} {
		outputs[c.name] = krunctl(t, append([]string{"enough", "optimize", "--resamples", "300"},
			c.args...)...)
	}
}

// TestOptimizeWrite: krund accepts the configuration with what --write wrote at its end, and plans
// what was recommended.
func TestOptimizeWrite(t *testing.T) {
	dir := t.TempDir()
	krundDirectory(t, dir)
	keys := filepath.Join(dir, "keys.toml")
	r := krunctl(t, "enough", "optimize", "--metric", "rmad", "--at-least", "3", "--format", "json",
		"--write", keys,
		filepath.Join(dir, "test.krun")).works(t)
	var doc optimize.Document
	must.Do(t, json.Unmarshal([]byte(r.stdout), &doc))
	sections := must.Get(os.ReadFile(keys))(t)
	text := "[experiment]\nexecutions = 4\niterations = 400\n[vms.C]\nrunner = \"c\"\n" +
		"variants = [\"default-c\"]\n[variants.default-c]\nentry = \"bench.so\"\n" +
		"[benchmarks]\nfasta = { parameter = 1 }\n" + string(sections)
	cfg := must.Get(
		config.Parse(filepath.Join(dir, "short.toml"), []byte(text), "lab1", doctor.Settings()))(t)
	for _, k := range doc.Keys {
		name := must.Get(key.Parse(k.Key))(t)
		want := k.Minimal.Repetitions
		must.Need(t, k.Stable && want["iterations"] != k.Full.Repetitions["iterations"], name,
			"nothing is saved", k)
		must.Be(t, cfg.Executions(name) == want["executions"] && cfg.Iterations(name) == want["iterations"],
			name, cfg.Executions(name), "executions of", cfg.Iterations(name), "iterations, want", want)
	}
}

// TestOptimizeOutputs compares the outputs with each other, and reads a
// compressed file.
func TestOptimizeOutputs(t *testing.T) {
	dir := t.TempDir()
	text := uoptimeText(1, 1)
	plain := writeText(t, filepath.Join(dir, "v.csv"), text)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	zipped := writeText(t, filepath.Join(dir, "v.csv.gz"), packed.String())
	args := []string{"enough", "optimize", "--metric", "rciw2", "--resamples", "300"}
	want := krunctl(t, append(args, "--format", "json", plain)...)
	got := krunctl(t, append(args, "--format", "json", zipped)...)
	must.Be(t, got.code == exitOK && strings.ReplaceAll(got.stdout, ".gz", "") == want.stdout, "other output",
		got.text())
	var doc optimize.Document
	must.Do(t, json.Unmarshal([]byte(want.stdout), &doc))
	must.Be(t, doc.Changes == nil && doc.Shared == nil, "changes", doc.Changes, "shared", doc.Shared)
	k := doc.Keys[1]
	must.Be(t, !k.Stable && len(k.Warnings) != 0, k)
}

func TestOptimizeRefuses(t *testing.T) {
	dir := t.TempDir()
	in := writeText(t, filepath.Join(dir, "v.csv"), uoptimeText(1, 1))
	directory := krundDirectory(t, dir)
	bad := writeText(t, filepath.Join(dir, "bad.csv"),
		"b_name,ir_pos,sr_pos,it_pos,bed_pos,ns_per_op\nB,1,1,1,1,x\n")
	gz := writeText(t, filepath.Join(dir, "x.gz"), "\x1f\x8bxx")
	crashed := writeText(t, filepath.Join(dir, "crash.json"), `{"wallclock_times": {"a:b:c": [[], []]}}`)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{}, exitUsage, "experiments or files"},
		{[]string{"--metric", "mad", in}, exitUsage, "cv, rmad"},
		{[]string{"--threshold", "0", in}, exitUsage, "--threshold"},
		{[]string{"--threshold", "-1", in}, exitUsage, "threshold -1"},
		{[]string{"--confidence", "1.5", in}, exitUsage, "confidence level 1.5"},
		{[]string{"--resamples", "-1", in}, exitUsage, "number of resamples -1"},
		{[]string{"--steps", "1", in}, exitUsage, "number of steps 1"},
		{[]string{"--skip", "10%", in}, exitUsage, "--skip"},
		{[]string{"--skip", "5", in}, exitUsage, "no iterations in order"},
		{[]string{"--format", "xml", in}, exitUsage, "must be text, json or csv"},
		{[]string{"--changes", in}, exitUsage, "two versions"},
		{[]string{"--changes", "--format", "csv", in, in}, exitUsage, "--format json"},
		{[]string{"--changes", "--suite-runs", in, in}, exitUsage, "parts of one experiment"},
		{[]string{"--changes", in, directory}, exitError, "same levels"},
		{[]string{"--suite-runs", "--skip", "steady", directory}, exitUsage, "use a number"},
		{[]string{"--key", "BenchmarkNone", in}, exitUsage, `has no benchmark "BenchmarkNone"`},
		{[]string{"--write", "x", in, in}, exitUsage, "--write takes one experiment"},
		{[]string{"--write", in, directory}, exitUsage, "exists; name another file"},
		{[]string{"--write", filepath.Join(dir, "x"), in}, exitUsage, "no benchmark:vm:variant"},
		{[]string{"--at-least", "0", in}, exitUsage, "--at-least"},
		{[]string{"--change", "0", in}, exitUsage, "--change must be positive"},
		{[]string{"--overhead", "-1s", in}, exitUsage, "--overhead"},
		{[]string{"--column", "nonsense", directory}, exitError, "no column \"nonsense\""},
		{[]string{"--skip", "400", directory}, exitError, "the first 400 are skipped"},
		{[]string{crashed}, exitError, "no execution can be used"},
		{[]string{bad}, exitError, "line 2: ns_per_op"},
		{[]string{gz}, exitError, "unpack"},
		{[]string{filepath.Join(dir, "none.csv")}, exitError, "none.csv"},
		{[]string{filepath.Join(dir, "none.toml")}, exitError, "none.krun"},
	} {
		r := krunctl(t, append([]string{"enough", "optimize"}, c.args...)...)
		must.Be(t, r.code == c.code && strings.Contains(r.stderr, c.want) && r.stdout == "", c.args, "exit",
			r.code, r.stderr, c.code, c.want)
	}
}

// TestOptimizeKeyOfUOpTime: --key is the name of a benchmark. Its result does not depend on others.
func TestOptimizeKeyOfUOpTime(t *testing.T) {
	in := writeText(t, filepath.Join(t.TempDir(), "v.csv"), uoptimeText(1, 1))
	const name = "BenchmarkNoisy/size=10"
	results := func(args ...string) (minimal []optimize.KeyDocument) {
		r := krunctl(t, append([]string{"enough", "optimize", "--metric", "cv", "--format", "json", in},
			args...)...)
		var doc optimize.Document
		must.Do(t, json.Unmarshal([]byte(r.stdout), &doc), r.text())
		return doc.Keys
	}
	all, one := results(), results("--key", name)
	if len(one) != 1 || one[0].Key != name || !reflect.DeepEqual(one[0].Minimal.Repetitions,
		all[1].Minimal.Repetitions) {
		t.Errorf("%+v, want %+v", one, all[1])
	}
}
