package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"krund/internal/analysis/enough"
	"krund/internal/analysis/optimize"
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

// oddFile writes a file of Krun in which some keys cannot be judged.
func oddFile(t *testing.T, dir string) string {
	t.Helper()
	slower := seconds(9, 0, 900)
	for i := range slower {
		slower[i] *= 5
	}
	return krunResults(t, filepath.Join(dir, "odd_results.json"), map[string][][]float64{
		"alike:C:default-c": {seconds(1, 30, 900), seconds(2, 30, 900), seconds(3, 32, 900)},
		"constant:C:default-c": {slices.Repeat([]float64{0.25}, 400), slices.Repeat([]float64{0.25},
			400)},
		"one:C:default-c":   {seconds(5, 20, 900), {}},
		"short:C:default-c": {seconds(6, 0, 40), seconds(7, 0, 50)},
		"unlike:C:default-c": {seconds(8, 0, 900), slower, seconds(10, 0, 800),
			seconds(11, 0, 30)},
		"zero:C:default-c":     {make([]float64, 400), make([]float64, 400)},
		"none:C:default-c\x1b": {},
	})
}

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

// stepFile writes JMH results of some forks with 700 batches of 100 ms, the first 205 of which are
// slower by a half.
func stepFile(t *testing.T, dir string, count int) string {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	forks := make([][]float64, count)
	for i := range forks {
		for k := range 700 {
			v := 5 * (1 + 0.005*r.NormFloat64())
			if k < 205 {
				v *= 1.5
			}
			forks[i] = append(forks[i], v)
		}
	}
	text := must.Get(json.Marshal([]any{map[string]any{"benchmark": "org.x.B.m", "mode": "avgt",
		"primaryMetric": map[string]any{"scoreUnit": "us/op", "rawData": forks}}}))(t)
	return writeText(t, filepath.Join(dir, fmt.Sprintf("jmh%d.json", count)), string(text))
}

func TestSimulatePaper(t *testing.T) {
	must.Long(t)
	dir := t.TempDir()
	in, one := stepFile(t, dir, 2), stepFile(t, dir, 1)
	truth := writeText(t, filepath.Join(dir, "truth.csv"),
		"benchmark,fork,classification,steady_state_starts,technique,timewaste,interval\n"+
			"org.x.B.m,0,steady state,205,Dev,-10,\"(1.4, 1.5)\"\n"+
			"org.x.B.m,1,steady state,205,Dev,3,\"(0.99, 1.01)\"\n"+
			"other,0,steady state,20,Dev,30,\"(0.99, 1.01)\"\n")
	v1, v2 := writeText(t, filepath.Join(dir, "v1.csv"), uoptimeText(1, 1)),
		writeText(t, filepath.Join(dir, "v2.csv"), uoptimeText(2, 1.5))
	for _, c := range []struct {
		args []string
		want []string // lines, with single spaces
	}{
		// Both criteria stop in the slow second half minute: 10 s, or after the step.
		{[]string{"laaber", "--batch", "100ms", in}, []string{
			"Time saved (Table 3), nominal: a step is a second",
			"A/A tests not different 0.0% 0.0% 0.0%", "changes below 3 % 0.0% 0.0% 0.0%"}},
		{[]string{"traini", "--batch", "100ms", "--truth", truth, in}, []string{
			"Dev, whole file 3 33.3 % 33.3 % 33.3 % 0.0 % 33.3 %",
			"Dev, these 2 50.0 % 50.0 % 0.0 % 0.0 % 50.0 %",
			"cv (recommended, jmh) 2 0.0 % 100.0 % 0.0 % 0.0 % 100.0 %",
			"krunctl analyze 2 100.0 % 0.0 % 0.0 % 0.0 % 0.0 %"}},
		{[]string{"traini", "--batch", "100ms", one}, []string{
			"Injected: the first iterations take 5 % longer",
			"Injected: the first iterations take 100 % longer"}},
		{[]string{"uoptime", v1, v2}, []string{
			"all, minimum 2 2 0 0 0% to 0%, median 0% 0% to 0%, median 0%"}},
	} {
		got := krunctl(t, append([]string{"enough", "simulate", "--paper"}, c.args...)...)
		lines := map[string]bool{}
		for line := range strings.Lines(got.stdout) {
			lines[strings.Join(strings.Fields(line), " ")] = true
		}
		for _, want := range c.want {
			must.Be(t, got.code == exitOK && lines[want], c.args[0], "no line", want, got.text())
		}
		if c.args[0] == "traini" {
			continue // slow, and the same code
		}
		args := append([]string{"enough", "simulate", "--format", "json", "--paper"}, c.args...)
		if j := krunctl(t, args...); j.code != exitOK || !json.Valid([]byte(j.stdout)) {
			t.Errorf("%s --json: %s", c.args[0], j.text())
		}
	}
}
