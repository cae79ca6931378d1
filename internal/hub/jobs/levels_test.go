package jobs

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/analysis/compare"
	"krund/internal/analysis/history"
	"krund/internal/analysis/warmup"
	"krund/internal/hub/database/dbtest"
	"krund/rig/must"
)

// TestLevels: an experiment that machines share has the difference of their levels, e^0.05 and
// e^0.02, for each version; one of a single machine, or that cannot be reduced, has nothing.
func TestLevels(t *testing.T) { dbtest.OnEach(t, testLevels) }

func testLevels(t *testing.T, at string) {
	h := newHistoryBench(t, at)
	at1 := func(level float64) []float64 {
		var values []float64
		for i := range 10 {
			values = append(values, math.Exp(level+0.001*float64(2*(i%2)-1)))
		}
		return values
	}
	shared, single, damaged := h.ended(t, 1), h.ended(t, 1), h.ended(t, 1)
	text, err := json.Marshal(history.Values{Unit: "s",
		Versions: []history.Version{{Label: "old", Source: "revision"}, {Label: "new", Source: "revision"}},
		Keys: []history.Key{
			{Name: "a:b:c", Machine: "m", Values: [][]float64{at1(0), at1(1)}},
			{Name: "a:b:c", Machine: "n", Values: [][]float64{at1(0.05), at1(1.02)}}}})
	if err == nil {
		err = os.WriteFile(filepath.Join(h.values, shared+".json"), text, 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(h.values, damaged+".json"), []byte("{"), 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(h.values, shared+".compared"), []byte(`{"before":{"name":"x","arm":"o"},
			"after":{"name":"x","arm":"n"},"counts":{"worse":1},"changes":[{"key":"a:b:c","verdict":"worse",
			"steady":{"ratio":{"estimate":1.05,"low":1.01,"high":1.09}}}]}`), 0o644)
	}
	must.Do(t, err)
	h.look(t)
	for _, id := range []string{single, damaged, "unknown"} {
		got, err := h.Histories.DB.Answer(t.Context(), id)
		must.Be(t, got.Levels == "" && err == nil, id, got, err)
	}
	alone, err := h.Histories.DB.Answer(t.Context(), single)
	must.Be(t, err == nil && strings.HasPrefix(alone.Text, "1 key in 5 executions: a:b:c ") &&
		alone.Comparison == "", alone, err)
	got, err := h.Histories.DB.Answer(t.Context(), shared)
	must.Be(t, strings.HasPrefix(got.Text, "n is 5.0 % slower than o: ratio 1.05") &&
		strings.Contains(got.Comparison, `"estimate":1.05`), got)
	var l compare.Levels
	if err == nil {
		err = json.Unmarshal([]byte(got.Levels), &l)
	}
	must.Need(t, err == nil && l.Tests == 2 && l.Differ == 2 && len(l.Keys) == 2, got, err)
	for i, want := range []struct {
		key    string
		spread float64
	}{{"a:b:c of old", 0.05}, {"a:b:c of new", 0.02}} {
		k := l.Keys[i]
		near := func(got warmup.Real, log float64) bool {
			return math.Abs(float64(got)-math.Expm1(log)) < 1e-9
		}
		must.Be(t, k.Key == want.key && near(k.Spread, want.spread) && len(k.Levels) == 2 &&
			near(k.Levels[1].Relative, want.spread/2) && k.Levels[1].Machine == "n", k)
	}
}
