package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/analysis/similarity"
)

// TestSimilarityScore: of two benchmarks, the executions of one are alike and of the other not. Two
// raters agree on both; the heuristic and SAME, too.
func TestSimilarityScore(t *testing.T) {
	dir := t.TempDir()
	rising, falling := "", ""
	for i := range 40 {
		rising += "," + strings.Repeat("1", i%7+1)
		falling += "," + strings.Repeat("1", 7-i%7)
	}
	in := writeText(t, filepath.Join(dir, "jmh.json"), `[{"benchmark":"p.alike","mode":"avgt","primaryMetric":`+
		`{"scoreUnit":"us/op","rawData":[[`+rising[1:]+`],[`+rising[1:]+`]]}},{"benchmark":"q.unlike",`+
		`"mode":"avgt","primaryMetric":{"scoreUnit":"us/op","rawData":[[`+rising[1:]+`],[`+falling[1:]+`]]}}]`)
	labels := writeText(t, filepath.Join(dir, "labels.csv"),
		"key,Ann,Bo\np.alike,similar,similar\nq.unlike:JVM:default,dissimilar,dissimilar\n"+
			"z,similar,dissimilar\n")
	picture := filepath.Join(dir, "map.svg")
	got := krunctl(t, "similarity", "--labels", labels, "--groups", "^[^.]*", "--heatmap", picture, in)
	for _, want := range []string{"Agreement: 66.7% of the ratings", "kappa 0.33 (fair)", "Ann",
		"1 similar, 1 dissimilar",
		"heuristic, threshold 0.25", "100.0%", "q         1"} {
		if got.code != exitOK || !strings.Contains(got.stdout, want) {
			t.Errorf("no %q:\n%s", want, got.text())
		}
	}
	svg, err := os.ReadFile(picture)
	if err != nil || !strings.Contains(string(svg), ">q</text>") ||
		strings.Count(string(svg), "<rect") != 11 {
		t.Errorf("%v: %s", err, svg)
	}
	if again := krunctl(t, "similarity", "--heatmap", picture, in); again.code != exitUsage {
		t.Errorf("the picture exists:\n%s", again.text())
	}
	var doc struct {
		Score  *similarity.Score
		Groups []similarity.GroupAverages
	}
	out := krunctl(t, "similarity", "--json", "--labels", labels, in)
	if err := json.Unmarshal([]byte(out.stdout), &doc); err != nil || doc.Groups != nil ||
		doc.Score.Methods[0].Confusion != (similarity.Confusion{TruePositive: 1, TrueNegative: 1}) {
		t.Errorf("%v\n%s", err, out.text())
	}
	for _, args := range [][]string{{"--csv", "--labels", labels}, {"--groups", "("}} {
		if got := krunctl(t, append(append([]string{"similarity"}, args...), in)...); got.code != exitUsage {
			t.Errorf("%v:\n%s", args, got.text())
		}
	}
	other := writeText(t, filepath.Join(dir, "other.csv"), "key,Ann\nz,similar\n")
	if got := krunctl(t, "similarity", "--labels", other, in); got.code != exitLeftOut {
		t.Errorf("no label is a key:\n%s", got.text())
	}
}
