package report

import (
	"testing"

	"krund/rig/must"
)

// TestShortNames: packages are shortened if a name is long, and if names remain different.
func TestShortNames(t *testing.T) {
	for _, c := range []struct{ names, want []string }{
		{[]string{"fasta", "org.example.Short.run"}, []string{"fasta", "org.example.Short.run"}},
		{[]string{"org.apache.commons.math3.FastMathBenchmark.sin", "org.example.Short.run", "fasta"},
			[]string{"o.a.c.m.FastMathBenchmark.sin", "o.e.Short.run", "fasta"}},
		{[]string{"Outer.inner.AVeryLongClassThatIsNotAPackage.run"},
			[]string{"Outer.inner.AVeryLongClassThatIsNotAPackage.run"}},
		{[]string{"org.apache.commons.VeryLongBenchmark.sin", "org.aspect.commons.VeryLongBenchmark.sin"},
			[]string{"org.apache.commons.VeryLongBenchmark.sin", "org.aspect.commons.VeryLongBenchmark.sin"}},
	} {
		short := shortNames(c.names)
		for i, name := range c.names {
			must.Equal(t, short[name], c.want[i])
		}
	}
}

// TestFailures: reasons are counted over all keys, the most frequent first; reruns and executions
// that are only too short are not failures.
func TestFailures(t *testing.T) {
	d := sample()
	in := Material{Document: analysed(t, d), Data: d}
	list, total := in.failures()
	if total != 1 || len(list) != 1 ||
		list[0].Reason != "error: signal SIGSEGV" || list[0].Keys[0].Index != 8 {
		t.Errorf("%d: %+v", total, list)
	}
}
