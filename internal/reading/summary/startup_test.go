package summary_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/reading/summary"
	"krund/rig/must"
)

// startupRecord has its runner's first stamp and its first iteration so long after exec; below 0 is
// none.
func startupRecord(vm, benchmark string, initNS, firstNS int64) results.Record {
	const exec = 1_000_000_000
	at := func(ns int64) *int64 {
		if ns < 0 {
			return nil
		}
		ns += exec
		return &ns
	}
	return results.Record{Key: key.Key{Benchmark: benchmark, VM: vm, Variant: "x"},
		Startup: results.Startup{ExecNS: at(0), InitNS: at(initNS), FirstNS: at(firstNS)}}
}

func rows(t *testing.T, by summary.By, records ...results.Record) []summary.StartupRow {
	t.Helper()
	return must.Get(summary.StartupRows(by, slices.Values(records)))(t)
}

func TestRows(t *testing.T) {
	records := []results.Record{ // in any order
		startupRecord("C", "a", 30, 40), startupRecord("Java", "a", 100, 300),
		startupRecord("C", "b", -1, 60), startupRecord("C", "b", 10, 20), startupRecord("None", "a", -1, -1),
	}
	early := startupRecord("C", "a", 0, 0)
	*early.Startup.InitNS, *early.Startup.FirstNS = 5, 6 // before exec
	got := rows(t, summary.ByVM, append(records, early)...)
	must.Need(t, len(got) == 3 && got[0].Name == "C" && got[1].Name == "Java" && got[2].Name == "None",
		"rows", got)
	c := got[0]
	must.Be(t, c.Executions == 4 && c.Init.Executions == 2 && c.Init.Mean == 20 && c.First.Executions == 3 &&
		c.First.Mean == 40 && c.First.Min == 20 && c.First.Max == 60 && c.First.Median == 40, "C", c, *c.Init,
		*c.First)
	if j := got[1].First; j.Mean != 300 || j.Low != nil || j.High != nil {
		t.Errorf("one execution has no interval: %+v", *j)
	}
	must.Be(t, got[2].Init == nil && got[2].First == nil && got[2].Executions == 1, "without stamps", got[2])
	keys := rows(t, summary.ByKey, records...)
	must.Be(t, len(keys) == 4 && keys[0].Name == "a:C:x" && keys[2].Name == "b:C:x", "keys", keys)
}

// TestInterval compares with the normal approximation, mean +- 2.5758 s/sqrt(n) (qnorm(0.995) in
// R), which 400 draws of a uniform distribution come close to.
func TestInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var records []results.Record
	var sum, squares float64
	const n = 400
	for range n {
		ns := 1_000_000 + r.Int64N(1_000_000)
		sum, squares = sum+float64(ns), squares+float64(ns)*float64(ns)
		records = append(records, startupRecord("C", "a", ns, ns))
	}
	mean := sum / n
	half := 2.5758 * math.Sqrt((squares/n-mean*mean)/n)
	got := rows(t, summary.ByVM, records...)[0].First
	must.Be(t, math.Abs(got.Mean-mean) <= 1e-6*mean && math.Abs(*got.Low-(mean-half)) <= 0.05*half &&
		math.Abs(*got.High-(mean+half)) <= 0.05*half, got.Mean, *got.Low, *got.High, mean, mean-half,
		mean+half)
}
