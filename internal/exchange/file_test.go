package exchange

import "testing"

func TestStem(t *testing.T) {
	for in, want := range map[string]string{
		"a/warmup_results.json.bz2": "a/warmup_results", "times.csv": "times", "x.JSON": "x",
		"plain": "plain",
	} {
		if got := Stem(in); got != want {
			t.Errorf("Stem(%q) = %q, want %q", in, got, want)
		}
	}
}
