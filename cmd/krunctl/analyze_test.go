package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// iterations makes up wall times in nanoseconds: some slower ones first, a
// spread of 1%, from a fixed seed.
func iterations(seed uint64, slow, n int) []int64 {
	r := rand.New(rand.NewPCG(seed, 1))
	ns := make([]int64, n)
	for i := range ns {
		level := 100e6
		if i < slow {
			level = 250e6
		}
		ns[i] = int64(level * (1 + 0.01*r.NormFloat64()))
	}
	return ns
}

// krunFile writes a file of Krun with a key that warms up, one that is good
// inconsistent with a crash, and one without executions.
func krunFile(t *testing.T, dir string) string {
	t.Helper()
	execution := func(seed uint64, slow int) []float64 { return seconds(seed, slow, 400) }
	return krunResults(t, filepath.Join(dir, "test_results.json"), map[string][][]float64{
		"fasta:PyPy:default-python":     {execution(1, 30), execution(2, 31), execution(3, 40)},
		"nbody:C:default-c":             {execution(4, 0), execution(5, 20), {}},
		"richards:HHVM:default-php\x1b": {},
	})
}

// seconds are iterations in seconds, with the digits that Krun writes.
func seconds(seed uint64, slow, n int) []float64 {
	var s []float64
	for _, ns := range iterations(seed, slow, n) {
		s = append(s, float64(ns/1000)/1e6)
	}
	return s
}

// krunResults writes a file of Krun.
func krunResults(t *testing.T, name string, times map[string][][]float64) string {
	t.Helper()
	text := must.Get(json.Marshal(map[string]any{"wallclock_times": times,
		"audit": map[string]string{"uname": "Linux bencher5 3.16"}}))(t)
	must.Do(t, os.WriteFile(name, text, 0o644))
	return name
}

// krundDirectory makes an experiment's directory with records of 400 iterations.
func krundDirectory(t *testing.T, dir string) string {
	t.Helper()
	var records []results.Record
	for i := range 4 {
		wall := iterations(uint64(i), 25, 400)
		core := results.Column{Name: "cycles", Kind: results.KindCounter, Core: new(int),
			Counts: make([]uint64, 400)}
		for k, ns := range wall {
			core.Counts[k] = uint64(3 * ns)
		}
		r := completed(key.Key{Benchmark: "fasta", VM: "C", Variant: "default-c"}, i, i+1, wall)
		r.Columns = []results.Column{core}
		records = append(records, r)
	}
	return storedIn(t, filepath.Join(dir, "test.krun"), "", records)
}

// analyzed runs krunctl analyze with few resamples.
func analyzed(t *testing.T, args ...string) ran {
	t.Helper()
	return krunctl(t, append([]string{"analyze", "--rule", "resamples=2000"}, args...)...)
}

func TestAnalyzeStores(t *testing.T) {
	dir := t.TempDir()
	in := krunFile(t, dir)
	analyzed(t, in).works(t)
	stored := must.Get(os.ReadFile(filepath.Join(dir, "test_results.analysis.json")))(t)
	doc := must.Get(warmup.Decode(stored))(t)
	must.Be(t, len(doc.Pairs) == 3 && doc.Source.Machine == "bencher5" && doc.Parameters.Resamples == 2000,
		"stored", doc.Source)
	must.Equal(t, analyzed(t, "--format=json", in).stdout, string(stored),
		"prints another analysis than the stored one")
	other := filepath.Join(dir, "other.json")
	r := analyzed(t, "--format", "json", "--delta", "5%", "-o", other, in)
	again, err := warmup.Decode(must.Get(os.ReadFile(other))(t))
	must.Be(t, r.code == exitOK && err == nil && again.Parameters.Delta.String() == "5%",
		"a changed delta is not in the analysis", err)
}

func TestAnalyzeReplacesWhatItCannotRead(t *testing.T) {
	dir := t.TempDir()
	in := krundDirectory(t, dir)
	must.Write(t, filepath.Join(in, "analysis.json"), `{"format":"krund-analysis","version":99}`)
	r := analyzed(t, in)
	must.Be(t, r.code == exitOK && strings.Contains(r.stderr, "analysis.json is replaced") &&
		strings.Contains(r.stderr, "version 99"), "exit", r.code, r.stderr)
}
