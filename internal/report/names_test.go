package report

import (
	"testing"

	"krund/internal/analysis/warmup"
)

func TestShortNames(t *testing.T) {
	for name, want := range map[string]string{
		"fasta": "fasta", "org.example.Short.run": "org.example.Short.run",
		"org.apache.commons.math3.FastMathBenchmark.sin":        "o.a.c.m.FastMathBenchmark.sin",
		"org.openjdk.jmh.samples.Benchmark.aVeryLongMethodName": "o.o.j.s.Benchmark.aVeryLongMethodName",
		"Outer.inner.AVeryLongClassNotAPackage.run":             "Outer.inner.AVeryLongClassNotAPackage.run",
	} {
		if got := shortName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	doc := &warmup.Document{Pairs: []warmup.Pair{{Benchmark: "org.apache.commons.VeryLongBenchmark.sin"},
		{Benchmark: "org.aspect.commons.VeryLongBenchmark.sin"}}}
	for name, got := range shortNames(doc) {
		if got != name {
			t.Errorf("%s is shown as %s, like another one", name, got)
		}
	}
}

// TestFailures: reasons are counted over all keys, the most frequent first; reruns and executions
// that are only too short are not failures.
func TestFailures(t *testing.T) {
	d := sample()
	in := Input{Document: analysed(t, d), Data: d}
	list, total := in.failures()
	if total != 1 || len(list) != 1 ||
		list[0].Reason != "error: signal SIGSEGV" || list[0].Keys[0].Index != 8 {
		t.Errorf("%d: %+v", total, list)
	}
}
