package similarity

import (
	"encoding/csv"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"krund/internal/experiment/fixtures"
	"krund/internal/experiment/key"
	"krund/rig/must"
)

// judged is a key with these verdicts of both methods.
func judged(name string, heuristic, same bool, averages Measures) KeyDocument {
	m := newMeasures(averages)
	return KeyDocument{Name: key.Key{Benchmark: name, VM: "jvm", Variant: "x"}, Key: name + ":jvm:x",
		Verdict: verdict(heuristic), Averages: &m, Same: &SameDocument{Verdict: verdict(same)}}
}

// TestScorePaper: the counts of section 4 of the paper give its figures. Of 586 keys two reviewers
// each find 135 similar and 189 dissimilar, and disagree on 262: agreement 55 %, kappa 0.1. Tables
// 2 and 3: SAME accepts 112 of the similar ones and finds 52 of the dissimilar ones; the heuristic
// 53 and 173. (The paper prints 82 % for SAME's specificity, 83 % in its abstract; 112/135 is
// 83.0 %.)
func TestScorePaper(t *testing.T) {
	r := Ratings{Raters: []string{"R1", "R2"}}
	d := &Document{}
	for i := range 586 {
		said := []Verdict{Similar, Dissimilar}
		switch {
		case i < 135:
			said[1] = Similar
		case i < 135+189:
			said[0] = Dissimilar
		}
		name := fmt.Sprint("b", i)
		r.Subjects = append(r.Subjects, Subject{Key: name, Said: said})
		d.Keys = append(d.Keys, judged(name, i >= 53 && i < 135 || i >= 135 && i < 135+173,
			i >= 112 && i < 135 || i >= 135 && i < 135+52, Measures{}))
	}
	s := ScoreOf([]*Document{d}, r)
	got := fmt.Sprintf("%.0f%% %.1f %s, %d %d %d", 100*float64(s.Observed), float64(s.Kappa), s.Strength,
		s.Similar, s.Dissimilar, s.Missing)
	for _, m := range s.Methods {
		got += fmt.Sprintf("; %s %v %.1f%% %.1f%%", m.Method, m.Confusion, 100*float64(m.Sensitivity),
			100*float64(m.Specificity))
	}
	const want = "55% 0.1 slight, 135 189 0; heuristic {173 16 82 53} 91.5% 39.3%; SAME {52 137 23 112} " +
		"27.5% 83.0%"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestScorePairs: four raters, pairs of whom rated different keys; a key on which they disagree
// is no label, and a label without a key is missing.
func TestScorePairs(t *testing.T) {
	const yes, no = Similar, Dissimilar
	r := Ratings{Raters: []string{"R1", "R2", "R3", "R4"}, Subjects: []Subject{
		{"a", []Verdict{yes, yes, "", ""}}, {"b", []Verdict{yes, no, "", ""}},
		{"c", []Verdict{"", no, "", no}}, {"d:jvm:x", []Verdict{"", "", no, no}},
		{"e", []Verdict{yes, "", "", yes}},
	}}
	d := &Document{Keys: []KeyDocument{judged("a", false, false, Measures{0.1, 0.9, 0.1, 0.1, 0.3}),
		judged("c", true, false, Measures{0.6, 0.6, 0.6, 0.1, 0.1}),
		judged("d", false, true, Measures{0.4, 0.4, 0.2, 0.2, 0.2})}}
	s := ScoreOf([]*Document{d}, r)
	want := []PairAgreement{{"R1", "R2", 2, 1}, {"R1", "R4", 1, 1}, {"R2", "R4", 1, 1}, {"R3", "R4", 1, 1}}
	if !reflect.DeepEqual(s.Pairs, want) || s.Similar != 2 || s.Dissimilar != 2 || s.Missing != 1 {
		t.Errorf("%+v", s)
	}
	if math.Abs(float64(s.Observed)-0.8) > 1e-12 || s.Problem != "" {
		t.Errorf("observed %v, %s", s.Observed, s.Problem)
	}
	// Below 0.2 the third measure of d counts, too; a has two above 0.1 at most.
	for at, want := range map[float64]Confusion{0.05: {2, 0, 1, 0}, 0.15: {2, 0, 0, 1}, 0.2: {1, 1, 0, 1},
		0.55: {1, 1, 0, 1}, 0.6: {0, 2, 0, 1}} {
		for _, x := range s.Thresholds {
			if math.Abs(x.Threshold-at) < 1e-9 && x.Confusion != want {
				t.Errorf("threshold %v: %v, want %v", at, x.Confusion, want)
			}
		}
	}
	if s.Best() != 0.1 {
		t.Errorf("best threshold %v", s.Best())
	}
	r.Subjects[0].Said[2] = yes
	if s := ScoreOf(nil, r); s.Problem == "" || !math.IsNaN(float64(s.Kappa)) || s.Best() != 0 {
		t.Errorf("unequal numbers of ratings: %+v", s)
	}
}

// TestGroups: the averages per application of 574 of the 586 benchmarks of the paper
// (KRUND_FIXTURES). HdrHistogram is the most dissimilar, then jetty and protostuff; imglib2 the
// least.
func TestGroups(t *testing.T) {
	rows := must.Get(
		csv.NewReader(fixtures.Open(t, fixtures.Path(t, "jmh", "all_benchmarks.csv.gz"))).ReadAll())(t)
	d := &Document{}
	for _, row := range rows[1:] {
		var m Measures
		for i := range m {
			m[i] = must.Get(strconv.ParseFloat(row[i+1], 64))(t)
		}
		d.Keys = append(d.Keys, judged(row[0], false, false, m))
	}
	groups := AverageGroups([]*Document{d}, func(k *KeyDocument) string {
		project, _, _ := strings.Cut(k.Key, "#")
		return project
	})
	first, last := groups[0], groups[len(groups)-1]
	if got := fmt.Sprintf("%s %d %.3f %.2f", first.Group, first.Keys, first.Mean(), first.Measures()); got !=
		"HdrHistogram__HdrHistogram 20 0.626 [0.91 0.66 0.58 0.68 0.29]" {
		t.Error(got)
	}
	if len(groups) != 30 || groups[1].Group != "eclipse__jetty.project" ||
		groups[2].Group != "protostuff__protostuff" || last.Group != "imglib__imglib2" {
		t.Errorf("%s, ..., %s", groups[1].Group, last.Group)
	}
	t.Logf("%d groups of %d benchmarks; %+v", len(groups), len(d.Keys), groups[:3])
}
