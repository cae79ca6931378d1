package exchange

import (
	"testing"

	"krund/rig/must"
)

func TestStem(t *testing.T) {
	for in, want := range map[string]string{
		"a/warmup_results.json.bz2": "a/warmup_results", "times.csv": "times", "x.JSON": "x",
		"plain": "plain",
	} {
		must.Equal(t, Stem(in), want, "Stem")
	}
}
