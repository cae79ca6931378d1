package runners

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	libkrun "krund/cgo"
	"krund/rig/must"
	"krund/runners/runnertest"
)

// empties are benchmarks with an empty run_iter, in the languages that need no compilation.
var empties = map[string]string{"python": "def run_iter(n):\n    pass\n", "lua": "function run_iter(n) end\n",
	"ruby": "def run_iter(n)\nend\n", "php": "<?php\nfunction run_iter($n) {}\n",
	"javascript": "function run_iter(n) {}\n"}

// BenchmarkEmptyIteration reports the overhead of each runner: "measured" is the wall time of an
// iteration with an empty run_iter, "between" the time from the end of an iteration to the start of
// the next. Both are medians of the second half of 100,000 iterations, in nanoseconds.
func BenchmarkEmptyIteration(b *testing.B) {
	if built == "" {
		b.Skip(notBuilt)
	}
	dir := b.TempDir()
	empty := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Do(b, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	source, library := empty("bench.c", "void run_iter(int n) { (void)n; }\n"), filepath.Join(dir, "bench.so")
	if out, err := exec.CommandContext(b.Context(), runnertest.Compiler(b), "-shared", "-fPIC", source, "-o",
		library).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	b.Run("C", func(b *testing.B) {
		measureEmpty(b, filepath.Join(built, "runners", "c", "runner"), library)
	})
	b.Run("Go", func(b *testing.B) { measureEmpty(b, buildGo(b)) })
	for _, l := range scripts {
		file := empty(l.file, empties[l.language])
		for name, path := range runnertest.Interpreters(b, l.language) {
			ways := map[string][]string{"": {path, scriptRunner(l.language)}}
			if l.ways != nil {
				ways = l.ways(b, name, path)
			}
			if yjit := []string{path, "--yjit", scriptRunner("ruby")}; l.language == "ruby" {
				ways[" YJIT"] = yjit
			}
			for how, vm := range ways {
				b.Run(l.language+" "+name+how, func(b *testing.B) { measureEmpty(b, append(vm, file)...) })
			}
			if l.language == "javascript" {
				b.Run("WebAssembly "+name, func(b *testing.B) {
					measureEmpty(b, append(ways[""], empty("bench.wasm", emptyModule))...)
				})
			}
		}
	}
	b.Run("dotnet", func(b *testing.B) {
		library := compileCSharp(b, empty("bench.cs",
			"public class B { public static void run_iter(int n) {} }\n"))
		vms := runnertest.Interpreters(b, "dotnet")
		for _, name := range slices.Sorted(maps.Keys(vms)) {
			b.Run(name, func(b *testing.B) { measureEmpty(b, vms[name], dotnetRunner(), library) })
		}
	})
	benchmarkEmptyJava(b)
}

func measureEmpty(b *testing.B, argv ...string) {
	b.Helper()
	const iterations = 100_000
	for b.Loop() {
		buffer := must.Get(libkrun.Create(libkrun.Spec{Iterations: iterations}))(b)
		c := exec.CommandContext(b.Context(), argv[0], append(argv[1:], "1")...)
		c.Env = []string{libkrun.EnvFD + "=3", libkrun.EnvLibrary + "=" + filepath.Join(built, "lib",
			"libkrun.so")}
		c.ExtraFiles = []*os.File{buffer.File()}
		must.Do(b, c.Run())
		s, err := buffer.Read()
		must.Need(b, err == nil && s.Done == iterations, s.Done, "iterations", err)
		between := make([]int64, iterations-1)
		for i := range between {
			between[i] = s.StartNS[i+1] - s.StartNS[i] - s.WallNS[i]
		}
		b.ReportMetric(median(s.WallNS[iterations/2:]), "measured-ns")
		b.ReportMetric(median(between[iterations/2:]), "between-ns")
		must.Do(b, buffer.Close())
	}
	b.ReportMetric(0, "ns/op") // mostly the start-up of the VM
}

// median returns the median; it sorts a copy.
func median(values []int64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return float64(sorted[len(sorted)/2])
}
