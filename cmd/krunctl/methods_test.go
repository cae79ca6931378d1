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
