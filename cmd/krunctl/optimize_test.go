package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
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
