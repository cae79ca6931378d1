package benchmarks

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/rig/must"
	"krund/runners/runnertest"
)

// testRust is TestLanguages for Rust. The directory contains the libraries that make built.
func testRust(t *testing.T, dir string, want map[string]map[string]string) {
	if err := exec.CommandContext(t.Context(), "rustc", "--version").Run(); err != nil {
		t.Skipf("no compiler for Rust: %v", err)
	}
	tool := filepath.Join(dir, "checksum")
	program := func(name string) []string {
		return []string{tool, filepath.Join(dir, name, "rust", "bench.so")}
	}
	testSameChecksums(t, program, demo, want)
	testBadParameters(t, program)
	for name := range others {
		n, right, message := firstEntry(t, name)
		source := falsified(t, filepath.Join(name, "rust", "bench.rs"), right+"_f64", "1_f64")
		library := filepath.Join(t.TempDir(), "bench.so")
		output(t, "rustc", "--edition", "2021", "--crate-type", "cdylib", source, "-o", library)
		expectWrong(t, message, tool, library, n)
	}
}

// testWebAssembly is TestLanguages for the benchmarks in C as WebAssembly modules, if make built
// them.
func testWebAssembly(t *testing.T, dir string, want map[string]map[string]string) {
	if _, err := os.Stat(filepath.Join(dir, "nbody", "wasm", "bench.wasm")); err != nil {
		t.Skipf("no compiler for the WebAssembly system interface: %v", err)
	}
	for vm, path := range runnertest.Interpreters(t, "javascript") {
		t.Run(vm, func(t *testing.T) {
			t.Parallel()
			command := append(runnertest.NodeWithWASI(t, path), "testdata/checksum.js")
			program := func(name string) []string {
				return append(slices.Clone(command), filepath.Join(dir, name, "wasm", "bench.wasm"))
			}
			testSameChecksums(t, program, demo, want)
			testBadParameters(t, program)
		})
	}
}

// testDotnet is TestLanguages for .NET. The directory contains the assemblies that make built.
func testDotnet(t *testing.T, dir string, want map[string]map[string]string) {
	if _, err := exec.LookPath("mcs"); err != nil {
		t.Skipf("no compiler for C#: %v", err)
	}
	tool := filepath.Join(t.TempDir(), "Checksum.exe")
	output(t, "mcs", "-out:"+tool, "testdata/Checksum.cs")
	for vm, path := range runnertest.Interpreters(t, "dotnet") {
		t.Run(vm, func(t *testing.T) {
			program := func(name string) []string {
				return []string{path, tool, filepath.Join(dir, name, "dotnet", "bench.dll")}
			}
			testSameChecksums(t, program, demo, want)
			testBadParameters(t, program)
			for name := range others {
				n, right, message := firstEntry(t, name)
				source := falsified(t, filepath.Join(name, "dotnet", "bench.cs"), right, "1")
				library := filepath.Join(t.TempDir(), "bench.dll")
				output(t, "mcs", "-target:library", "-out:"+library, source)
				expectWrong(t, message, path, tool, library, n)
			}
		})
	}
}

// testGo is TestLanguages for Go.
func testGo(t *testing.T, want map[string]map[string]string) {
	tool := buildGo(t)
	program := func(name string) []string { return []string{tool, name} }
	testSameChecksums(t, program, demo, want)
	testBadParameters(t, program)
	for name := range others {
		n, _, message := firstEntry(t, name)
		expectWrong(t, message, tool, "wrong_"+name, n)
	}
}

// goMain does what testdata/checksum.c does: PROGRAM NAME N... for a benchmark, and for wrong_NAME
// with a wrong number in its table. The verbs are imports and entries of the table.
const goMain = `package main

import (
	"fmt"
	"os"
	"strconv"
)

%s
var benchmarks = map[string]struct {
	checksum func(int) float64
	runIter  func(int)
}{
%s}

func main() {
	b := benchmarks[os.Args[1]]
	for _, arg := range os.Args[2:] {
		n, _ := strconv.Atoi(arg)
		fmt.Printf("%%.17g\n", b.checksum(n))
		b.runIter(n)
		b.runIter(n)
	}
}
`

// buildGo builds goMain with all benchmarks. They become packages of one program, because linking
// takes most of the time.
func buildGo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var imports, table strings.Builder
	for name := range others {
		_, right, _ := firstEntry(t, name)
		file := filepath.Join(name, "go", "bench.go")
		wrong := falsified(t, file, right, "1")
		for as, source := range map[string]string{name: file, "wrong_" + name: wrong} {
			writeFile(t, filepath.Join(dir, as, "bench.go"), goPackage(t, as, source))
			fmt.Fprintf(&imports, "import \"checksum/%s\"\n", as)
			fmt.Fprintf(&table, "\t%q: {%s.Checksum, %s.RunIter},\n", as, as, as)
		}
	}
	writeFile(t, filepath.Join(dir, "go.mod"), "module checksum\n\ngo 1.26\n")
	writeFile(t, filepath.Join(dir, "main.go"), fmt.Sprintf(goMain, &imports, &table))
	tool := filepath.Join(dir, "tool")
	output(t, "go", "build", "-C", dir, "-trimpath", "-ldflags=-s -w", "-o", tool, ".")
	return tool
}

// goPackage returns a benchmark's source as a package without the runner.
func goPackage(t *testing.T, name, file string) string {
	t.Helper()
	text := must.Get(os.ReadFile(file))(t)
	source := string(text)
	for from, to := range map[string]string{
		"//go:build cgo\n\n":                   "", // for the runner
		"package main\n":                       "package " + name + "\n",
		"\n\tkrun \"krund/runners/go\"\n":      "",
		"func main() { krun.Main(runIter) }\n": "var Checksum, RunIter = checksum, runIter\n",
	} {
		must.Need(t, strings.Count(source, from) == 1, file, "does not have", from, "once")
		source = strings.Replace(source, from, to, 1)
	}
	return source
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
}

// testJava is TestLanguages for Java. The directory contains the classes that make built.
func testJava(t *testing.T, dir string, want map[string]map[string]string) {
	if _, err := exec.LookPath("javac"); err != nil {
		t.Skipf("no compiler for Java: %v", err)
	}
	vms := runnertest.Interpreters(t, "java")
	tool := compileChecksum(t)
	newest := slices.Max(slices.Collect(maps.Keys(vms)))
	for vm, path := range vms {
		t.Run(vm, func(t *testing.T) {
			t.Parallel()
			most := light
			if vm == newest {
				most = demo
			}
			program := func(name string) []string {
				return []string{path, "-cp", filepath.Join(dir, name, "java") + ":" + tool, "Checksum",
					"KrunEntry"}
			}
			testSameChecksums(t, program, most, want)
			testBadParameters(t, program)
			for name := range others {
				n, _, message := firstEntry(t, name)
				expectWrong(t, message, path, "-cp", tool, "Checksum", "Wrong_"+name, n)
			}
		})
	}
}

// compileChecksum compiles the program that prints checksums and, for each benchmark, the class
// Wrong_NAME with a wrong number in its table. It compiles all of them at once, because the
// compiler's start-up takes most of the time.
func compileChecksum(t *testing.T) string {
	t.Helper()
	files := []string{"../runners/java/BaseKrunEntry.java", "testdata/Checksum.java"}
	for name := range others {
		n, right, _ := firstEntry(t, name)
		file := falsified(t, filepath.Join(name, "java", "KrunEntry.java"), "{ "+n+", "+right, "{ "+n+", 1")
		files = append(files, falsified(t, file, "class KrunEntry ", "class Wrong_"+name+" "))
	}
	dir := t.TempDir()
	old := append([]string{"--release", "8", "-Xlint:-options", "-d", dir}, files...)
	if exec.CommandContext(t.Context(), "javac", old...).Run() != nil { // it does not support Java 8
		output(t, append([]string{"javac", "-d", dir}, files...)...)
	}
	return dir
}
