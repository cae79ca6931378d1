package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/rig/must"
)

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

func TestMethodsGoldens(t *testing.T) {
	for _, c := range []struct {
		name string
		in   func(*testing.T, string) string
		args string
	}{
		{"similarity", oddFile, "analyze --similarity"},
		{"similarity-csv", oddFile, "analyze --similarity --format csv"},
		{"similarity-json", krundDirectory, "analyze --similarity --format json"},
		{"stability", oddFile, "enough stability --ratio-resamples 500 --resamples 200"},
		{"stability-study", krundDirectory,
			"enough stability --ratio-resamples 500 --profile study --criterion cv,kld"},
		{"stability-csv", oddFile, "enough stability --format csv --draws 0 --criterion cv " +
			"--threshold 0.02 --ratio-resamples 500"},
		{"stability-json", krundDirectory, "enough stability --format json --ratio-resamples 500 " +
			"--criterion kld --warmup 2-8 --step 5 --executions 2-3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			r := krunctl(t, append(strings.Fields(c.args), c.in(t, dir))...)
			must.Need(t, r.code == exitOK && r.stderr == "", "exit", r.code, r.stderr)
			golden(t, c.name, strings.ReplaceAll(r.stdout, dir, "DIR"))
		})
	}
}

// TestMethodsOfSeveral: a table, or a document, for each input, and one CSV.
func TestMethodsOfSeveral(t *testing.T) {
	in := oddFile(t, t.TempDir())
	for command, few := range map[string][]string{
		"analyze --similarity --format=": nil, "enough stability --format=": {"--resamples", "50",
			"--ratio-resamples", "100"},
	} {
		csvArgs, jsonArgs := append(append(strings.Fields(command+"csv"), in, in), few...),
			append(append(strings.Fields(command+"json"), in, in), few...)
		rows, err := csv.NewReader(strings.NewReader(krunctl(t, csvArgs...).stdout)).ReadAll()
		must.Be(t, err == nil && len(rows)%2 != 0 && rows[0][1] == "key" &&
			rows[(len(rows)-1)/2+1][1] != "key", command, len(rows), "rows", err)
		d := json.NewDecoder(strings.NewReader(krunctl(t, jsonArgs...).stdout))
		documents := 0
		for d.More() {
			var doc struct{ Format int }
			err := d.Decode(&doc)
			must.Need(t, err == nil && doc.Format == 1, command, "format", doc.Format, err)
			documents++
		}
		must.Equal(t, documents, 2, command, "documents")
	}
}

// TestStabilityOfMeans: a problem reports that values of JMH are not single calls.
func TestStabilityOfMeans(t *testing.T) {
	name := filepath.Join(t.TempDir(), "jmh.json")
	text := must.Get(json.Marshal([]any{map[string]any{
		"benchmark": "org.x.B.m", "mode": "avgt", "forks": 2,
		"primaryMetric": map[string]any{"score": 5.0, "scoreUnit": "us/op",
			"rawData": [][]float64{slices.Repeat([]float64{5, 5.1}, 400), slices.Repeat([]float64{5.1, 5},
				400)}},
	}}))(t)
	must.Do(t, os.WriteFile(name, text, 0o644))
	without := krunctl(t, "enough", "stability", "--ratio-resamples", "100", name)
	with := krunctl(t, "enough", "stability", "--ratio-resamples", "100", "--batch", "100ms", name)
	must.Be(t, without.code == exitOK && strings.Contains(without.stdout, "--batch") && with.code == exitOK &&
		!strings.Contains(with.stdout, "--batch"), "without", without.text(), "with", with.text())
	must.Be(t, strings.Contains(with.stdout, "2m 40s") && !strings.Contains(without.stdout, "2m 40s"),
		"two times 800 batches are 160 s", with.text())
}

func TestMethodsRefuse(t *testing.T) {
	in := oddFile(t, t.TempDir())
	for _, args := range []string{
		"analyze --similarity", "analyze --similarity --format html IN",
		"analyze --similarity --mode paper IN", "enough stability", "enough stability --format xml IN",
		"enough stability --criterion x IN", "enough stability --threshold 0.1 IN",
		"enough stability --criterion cv --threshold 0 IN", "enough stability --profile x IN",
		"enough stability --step 0 IN", "enough stability --bootstrap x IN",
		"enough stability --warmup 5 IN", "enough stability --warmup 9-5 IN",
		"enough stability --executions a-b IN", "enough stability --draws 0 IN",
		"enough stability --draws -3 IN", "enough stability --confidence 1 IN",
		"enough stability --batch -1s IN", "enough stability --measure 0 IN",
		"enough stability --window 1 IN", "enough stability --resamples 0 IN",
		"enough stability --full -1 IN",
	} {
		r := krunctl(t, strings.Fields(strings.ReplaceAll(args, "IN", in))...)
		must.Be(t, r.stdout == "", args, r.text())
		r.says(t, exitUsage, "", "krunctl: ", args)
	}
	for _, command := range []string{"analyze --similarity", "enough stability"} {
		r := krunctl(t, append(strings.Fields(command), "/no/such/results.json")...)
		must.Be(t, r.code == exitError && r.stdout == "", r.text())
	}
}
