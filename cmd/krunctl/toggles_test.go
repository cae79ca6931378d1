package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// nightsConfig compares nothing: it names the revision.
const nightsConfig = `[experiment]
executions = 3
[arms.base]
revision = "%s"
[arms.again]
null = true
[vms.C]
runner = "c"
variants = ["v"]
[variants.v]
entry = "bench.so"
[benchmarks]
%s`

// TestTogglesInRecords: three machines measure every night; their records have what was found of
// each. A setting of one of them is changed in secret, which makes half of the keys 3 to 6% slower:
// krunctl history says that it was the machine, and names the setting. When a new revision makes
// them slower on all three, it was the program. docs/history.md has how often.
func TestTogglesInRecords(t *testing.T) {
	toggles := [][3]string{
		{"state.thp.enabled", "madvise", "always"}, {"state.cpufreq.max", "3600000", "3400000"},
		{"kernel.config.CONFIG_HZ", "1000", "250"},
	}
	trials := must.Often(1, 20)
	counts := map[string]int{}
	for trial := range trials {
		r := rand.New(rand.NewPCG(uint64(trial), 71))
		fact := toggles[trial%len(toggles)]
		toggled := fmt.Sprint("bench-", trial%3)
		for _, what := range []string{"machine", "program"} {
			dirs := threeMachines(t, r, func(machine string) bool {
				return what == "program" || machine == toggled
			}, func(machine string, changed bool) map[string]string {
				value := fact[1]
				if changed && what == "machine" && machine == toggled {
					value = fact[2]
				}
				return map[string]string{"cpu.model": "CPU of " + machine, fact[0]: value}
			}, map[string]string{"machine": "one", "program": "two"}[what])
			got := krunctl(t, append([]string{"history"}, dirs...)...)
			must.Need(t, got.code == exitOK, got.stderr)
			text := strings.Join(strings.Fields(got.stdout), " ")
			for _, verdict := range []string{"machine", "program", "undecided"} {
				for machine := range 3 {
					if strings.Contains(text, fmt.Sprintf("%s on bench-%d", verdict, machine)) {
						counts[what+": "+verdict]++
					}
				}
			}
			if strings.Contains(text, fmt.Sprintf("%s %s → %s", fact[0], fact[1], fact[2])) {
				counts[what+": named"]++
			}
		}
	}
	t.Logf("of %d: %v", trials, counts)
	must.Be(t, counts["machine: machine"] >= trials-trials/20 && counts["machine: named"] >= trials-trials/20,
		counts)
	must.Be(t, counts["program: program"] >= 3*(trials-trials/20) && counts["program: named"] == 0, counts)
	must.Be(t, counts["machine: program"]+counts["program: machine"] <= trials/20, counts)
}

// threeMachines stores an experiment for each night: the last ones measure the revision after, and
// are slower on some machines.
func threeMachines(t *testing.T, r *rand.Rand, slower func(machine string) bool,
	facts func(machine string, changed bool) map[string]string, after string) (dirs []string) {
	t.Helper()
	const keys, nights, from, executions, usual = 6, 36, 26, 3, 1e6
	dir, names := t.TempDir(), ""
	sizes := make([]float64, keys)
	for k := range sizes {
		sizes[k] = float64(1-k%2) * (0.03 + 0.03*r.Float64())
		names += fmt.Sprintf("k%d = { parameter = 1 }\n", k)
	}
	for night := range nights {
		revision, at := "one", filepath.Join(dir, fmt.Sprintf("night%02d", night))
		if night >= from {
			revision = after
		}
		for machine := range 3 {
			name := fmt.Sprint("bench-", machine)
			var records []results.Record
			for k := range keys {
				level := usual * math.Exp(0.1*float64(k+machine)+0.004*r.NormFloat64())
				if night >= from && slower(name) {
					level *= 1 + sizes[k]
				}
				for n := range executions {
					of := key.Key{Benchmark: fmt.Sprint("k", k), VM: "C", Variant: "v", Arm: "base"}
					one := completed(of, k*executions+n, n+1,
						noisy(r, level*math.Exp(0.008*r.NormFloat64()), 0.002)[:30])
					one.Host, one.BootID = name, "b"
					one.Machine.Fingerprint = facts(name, night >= from)
					records = append(records, one)
				}
			}
			text := fmt.Sprintf(nightsConfig, revision, names)
			storedIn(t, filepath.Join(at, name, "x.krun"), text, records)
		}
		dirs = append(dirs, at)
	}
	return dirs
}
