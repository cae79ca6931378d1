//go:build slow

package warmupend_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"krund/internal/analysis/warmupend"
	"krund/internal/experiment/fixtures"
	"krund/rig/must"
)

// annotated returns the series with a steady state according to the study: 21 benchmarks with 10
// forks, 80 single forks of 80 benchmarks, and 5 benchmarks with 10 forks of 2,000 iterations.
func annotated(t *testing.T) []warmupend.LabeledSeries {
	t.Helper()
	type place struct {
		benchmark string
		number    int
	}
	starts := map[place]int{}
	for _, s := range annotations(t) {
		if s.Steady {
			starts[place{s.Benchmark, s.Number}] = s.Start
		}
	}
	var list []warmupend.LabeledSeries
	seen := map[place]bool{}
	add := func(benchmark string, number int, values []float64) {
		at := place{benchmark, number}
		if start, ok := starts[at]; ok && start < len(values)-100 && !seen[at] {
			seen[at] = true
			list = append(list, warmupend.LabeledSeries{Key: benchmark, Number: number, Values: values,
				Start: start})
		}
	}
	var index []struct{ ID, Name string }
	fixtures.JSON(t, fixtures.Path(t, "jmh/index.json"), &index)
	for _, b := range index {
		var s struct{ Forks [][]float64 }
		fixtures.JSON(t, fixtures.Path(t, "jmh/series", b.ID+".json.gz"), &s)
		for i, f := range s.Forks {
			add(b.Name, i+1, f)
		}
	}
	for _, name := range fixtures.Glob(t, "changepoint", "[rg]*.json") {
		var s struct {
			Source struct {
				File  string
				Fork  int
				Scale float64
			}
			Values json.RawMessage
		}
		fixtures.JSON(t, name, &s)
		var values [][]float64
		if json.Unmarshal(s.Values, &values) != nil {
			values = [][]float64{nil}
			must.Do(t, json.Unmarshal(s.Values, &values[0]))
		}
		for i, f := range values {
			for k := range f {
				f[k] /= s.Source.Scale
			}
			add(strings.TrimSuffix(s.Source.File, ".json"), s.Source.Fork+i+1, f)
		}
	}
	return list
}

func logRows(t *testing.T, title string, rows []warmupend.Row, short int) {
	t.Helper()
	t.Logf("%s (%d too short):", title, short)
	for _, r := range rows {
		n := float64(r.Executions) / 100
		t.Logf("%-22s %4d: within %5.1f, early %5.1f, late %5.1f, none %4.1f, off %5.1f", r.Policy,
			r.Executions, float64(r.Within)/n, float64(r.Early)/n, float64(r.Late)/n, float64(r.None)/n,
			float64(r.Off)/n)
	}
}

// TestPolicies logs the tables of docs/stopping.md: real series with the study's annotations, and
// steps injected into their steady iterations.
func TestPolicies(t *testing.T) {
	list := annotated(t)
	rows, short, err := warmupend.Of(list, batches(), 2)
	must.Do(t, err)
	logRows(t, "annotated", append(techniques(t, list), rows...), short)
	for _, h := range warmupend.Heights {
		made := warmupend.Inject(list, h, batches(), 1)
		rows, short, err := warmupend.Of(made, batches(), 2)
		must.Do(t, err)
		logRows(t, fmt.Sprintf("injected, %v", h), rows, short)
		analyze := rows[len(rows)-1]
		for _, r := range rows {
			if r.Within > analyze.Within || r.Early < analyze.Early && r.Policy != "longest warm-up" {
				t.Errorf("injected, %v: %+v is better than %+v", h, r, analyze)
			}
		}
	}
}

// techniques returns what the study's techniques do of the same forks.
func techniques(t *testing.T, list []warmupend.LabeledSeries) []warmupend.Row {
	t.Helper()
	var rows []warmupend.Row
	for _, name := range []string{"Dev", "Ci", "Cov", "Divergence"} {
		row := warmupend.Row{Policy: name}
		for _, s := range annotations(t) {
			if s.Technique == name && slices.ContainsFunc(list, func(e warmupend.LabeledSeries) bool {
				return e.Key == s.Benchmark && e.Number == s.Number
			}) {
				row.Count(s.Seconds, warmupend.IsOff(s.Low, s.High))
			}
		}
		rows = append(rows, row)
	}
	return rows
}
