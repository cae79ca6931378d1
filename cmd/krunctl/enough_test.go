package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"krund/internal/analysis/enough"
	"krund/internal/boot/doctor"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

const pilotText = `[experiment]
executions = 5
iterations = 100
[vms.C]
runner = "c"
variants = ["v"]
[variants.v]
entry = "bench.so"
[benchmarks]
noisy = { parameter = 1 }
quiet = { parameter = 1 }
`

// pilotDirectory is an experiment with two keys, of which the executions vary by 3 and 0.1 %. An
// execution has 20 slow iterations, and then 80 of 100 ms; it starts in 2 s, and a boot takes 60 s.
func pilotDirectory(t *testing.T, dir, name string, seed uint64, keys ...string) string {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 2))
	var records []results.Record
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for slot := range 5 * len(keys) {
		k := keys[slot%len(keys)]
		level := 1e8 * math.Exp(map[string]float64{"noisy": 0.03, "quiet": 0.001}[k]*r.NormFloat64())
		wall, inside := make([]int64, 100), int64(0)
		for i := range wall {
			wall[i] = int64(level * (1 + 0.002*r.NormFloat64()))
			if i < 20 {
				wall[i] *= 2
			}
			inside += wall[i]
		}
		took := inside + 2e9
		rec := completed(key.Key{Benchmark: k, VM: "C", Variant: "v"}, slot, slot/len(keys)+1, wall)
		rec.Host, rec.Reboot, rec.BootID = "lab", results.RebootHardware, fmt.Sprint(seed, slot)
		rec.Started, rec.Process.WallNS = at, took
		records = append(records, rec)
		at = at.Add(time.Duration(took) + time.Minute)
	}
	return storedIn(t, filepath.Join(dir, name+".krun"), pilotText, records)
}

// answers are those of krunctl enough, by key.
func answers(t *testing.T, args ...string) map[string]enough.Key {
	t.Helper()
	r := krunctl(t, append([]string{"enough", "--format", "json"}, args...)...).works(t)
	var doc enough.Document
	must.Do(t, json.Unmarshal([]byte(r.stdout), &doc))
	all := map[string]enough.Key{}
	for _, k := range doc.Keys {
		all[k.Key] = k
	}
	return all
}

// TestEnough: the numbers, costs and sentences of a pilot, the second stage that it asks for, and
// what both stages show together.
func TestEnough(t *testing.T) {
	dir := t.TempDir()
	first := pilotDirectory(t, dir, "pilot", 1, "noisy", "quiet")
	r := krunctl(t, "enough", first)
	must.Need(t, r.code == exitOK && r.stderr == "", r.text())
	golden(t, "enough", strings.ReplaceAll(r.stdout, dir, "DIR"))

	pilots := answers(t, first)
	noisy, quiet := pilots["noisy:C:v"], pilots["quiet:C:v"]
	near := func(got, want float64) {
		t.Helper()
		must.Be(t, math.Abs(got/want-1) < 0.1, got, want)
	}
	near(float64(noisy.Costs.Boot), 60)
	near(float64(noisy.Costs.Start), 2+20*0.2)
	near(float64(noisy.Costs.Iteration), 0.1)
	near(float64(noisy.ForLevel.TwoTake), float64(noisy.ForLevel.TwoStages)*(60+6+8))
	must.Equal(t, noisy.WarmUp.Latest, 20)
	must.Be(t, noisy.ForLevel.TwoStages > 20 && noisy.ForLevel.Sure > noisy.ForLevel.TwoStages &&
		noisy.ForLevel.About < noisy.ForLevel.TwoStages && quiet.ForLevel.TwoStages == 5, noisy, quiet)

	more := filepath.Join(dir, "more.toml")
	krunctl(t, "enough", "--write", more, first).works(t)
	cfg := must.Get(config.Parse(more, must.Get(os.ReadFile(more))(t), "lab", doctor.Settings()))(t)
	must.Equal(t, len(cfg.Keys()), 1, "keys that are still to be measured")
	must.Equal(t, cfg.Executions(cfg.Keys()[0]), noisy.ForLevel.TwoStages-5)
	krunctl(t, "enough", "--write", more, first).says(t, exitUsage, "", "", "an existing file is replaced")

	side := filepath.Join(dir, "side.toml")
	krunctl(t, "enough", "--change", "3%", "--write", side, first).works(t)
	cfg = must.Get(config.Parse(side, must.Get(os.ReadFile(side))(t), "lab", doctor.Settings()))(t)
	must.Equal(t, cfg.Executions(key.Key{Benchmark: "noisy", VM: "C", Variant: "v"}),
		answers(t, "--change", "3%", first)["noisy:C:v"].ForChange.Sure)

	second := pilotDirectory(t, dir, "more", 2, "noisy")
	both := answers(t, "--pilot", first, second)
	must.Equal(t, both["noisy:C:v"].Executions, 10)
	near(float64(both["noisy:C:v"].HalfWidth), float64(noisy.HalfWidth)/math.Sqrt2)
	must.Equal(t, both["quiet:C:v"].HalfWidth, quiet.HalfWidth, "a key that was not measured again")
	near(float64(both["noisy:C:v"].Mean), 0.1)
	text := krunctl(t, "enough", "--pilot", first, second).stdout
	must.Be(t, strings.HasPrefix(text, "After two stages 1 of 2 levels are known to ± 1 %, the worst to "),
		text)
}

// TestEnoughOfBlocks: the number of blocks for a change, from an experiment with arms.
func TestEnoughOfBlocks(t *testing.T) {
	ab := armsDirectory(t, 1, 1)
	k := answers(t, "--change", "2%", ab)["b:C:v@base"]
	must.Be(t, k.Paired && k.ForChange.Sure >= 2 && k.ForChange.Sure < 10, k)
	must.Be(t, answers(t, "--change", "0.1%", ab)["b:C:v@base"].ForChange.Sure > k.ForChange.Sure)
}

// TestEnoughHowLong: the question and its answer, with the rules of the stored analysis.
func TestEnoughHowLong(t *testing.T) {
	dir := krundDirectory(t, t.TempDir())
	rules := []string{"--mode", "paper", "--rule", "window=40", "--steady", "100"}
	stored := analyzed(t, append(rules, dir)...)
	r := krunctl(t, "enough", "how-long", dir)
	must.Need(t, r.code == exitOK && stored.code == exitOK, r.text(), stored.text())
	golden(t, "enough-how-long", r.stdout)
	must.Contain(t, krunctl(t, "enough", "how-long", "--format", "json", dir).stdout, `"steady_performance"`)
}
