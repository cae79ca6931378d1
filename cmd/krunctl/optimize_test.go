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

// TestOptimizeWrite: krund accepts the configuration with what --write wrote at its end, and plans
// what was recommended.
func TestOptimizeWrite(t *testing.T) {
	dir := t.TempDir()
	krundDirectory(t, dir)
	keys := filepath.Join(dir, "keys.toml")
	r := krunctl(t, "enough", "optimize", "--metric", "rmad", "--at-least", "3", "--format", "json",
		"--write", keys,
		filepath.Join(dir, "test.krun")).works(t)
	var doc optimize.Findings
	must.Do(t, json.Unmarshal([]byte(r.stdout), &doc))
	sections := must.Get(os.ReadFile(keys))(t)
	text := "[experiment]\nexecutions = 4\niterations = 400\n[vms.C]\nrunner = \"c\"\n" +
		"variants = [\"default-c\"]\n[variants.default-c]\nentry = \"bench.so\"\n" +
		"[benchmarks]\nfasta = { parameter = 1 }\n" + string(sections)
	cfg := must.Get(
		config.Parse(filepath.Join(dir, "short.toml"), []byte(text), "lab1", doctor.Settings()))(t)
	for _, k := range doc.Results {
		name := must.Get(key.Parse(k.Name))(t)
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
	var doc optimize.Findings
	must.Do(t, json.Unmarshal([]byte(want.stdout), &doc))
	must.Be(t, doc.Changes == nil && doc.Shared == nil, "changes", doc.Changes, "shared", doc.Shared)
	k := doc.Results[1]
	must.Be(t, !k.Stable && len(k.Warnings) != 0, k)
}

// TestOptimizeKeyOfUOpTime: --key is the name of a benchmark. Its result does not depend on others.
func TestOptimizeKeyOfUOpTime(t *testing.T) {
	in := writeText(t, filepath.Join(t.TempDir(), "v.csv"), uoptimeText(1, 1))
	const name = "BenchmarkNoisy/size=10"
	results := func(args ...string) (minimal []optimize.Result) {
		r := krunctl(t, append([]string{"enough", "optimize", "--metric", "cv", "--format", "json", in},
			args...)...)
		var doc optimize.Findings
		must.Do(t, json.Unmarshal([]byte(r.stdout), &doc), r.text())
		return doc.Results
	}
	all, one := results(), results("--key", name)
	if len(one) != 1 || one[0].Name != name || !reflect.DeepEqual(one[0].Minimal.Repetitions,
		all[1].Minimal.Repetitions) {
		t.Errorf("%+v, want %+v", one, all[1])
	}
}
