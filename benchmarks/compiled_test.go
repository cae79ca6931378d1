package benchmarks

import (
	"fmt"
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
	testSame(t, demo, want, func(name string) []string {
		return []string{tool, filepath.Join(dir, name, "rust", "bench.so")}
	})
	testWrong(t, func(name, _, right string) []string {
		source := falsified(t, filepath.Join(name, "rust", "bench.rs"), right+"_f64", "1_f64")
		library := filepath.Join(t.TempDir(), "bench.so")
		output(t, "rustc", "--edition", "2021", "--crate-type", "cdylib", source, "-o", library)
		return []string{tool, library}
	})
}

// testWebAssembly is TestLanguages for the benchmarks in C as WebAssembly modules, if make built
// them.
func testWebAssembly(t *testing.T, dir string, want map[string]map[string]string) {
	if _, err := os.Stat(filepath.Join(dir, "nbody", "wasm", "bench.wasm")); err != nil {
		t.Skipf("no compiler for the WebAssembly system interface: %v", err)
	}
	onEach(t, "javascript", func(t *testing.T, path string, _ int) {
		command := append(runnertest.NodeWithWASI(t, path), "testdata/checksum.js")
		testSame(t, demo, want, func(name string) []string {
			return append(slices.Clone(command), filepath.Join(dir, name, "wasm", "bench.wasm"))
		})
	})
}

// testDotnet is TestLanguages for .NET. The directory contains the assemblies that make built.
func testDotnet(t *testing.T, dir string, want map[string]map[string]string) {
	if _, err := exec.LookPath("mcs"); err != nil {
		t.Skipf("no compiler for C#: %v", err)
	}
	tool := filepath.Join(t.TempDir(), "Checksum.exe")
	output(t, "mcs", "-out:"+tool, "testdata/Checksum.cs")
	onEach(t, "dotnet", func(t *testing.T, path string, _ int) {
		testSame(t, demo, want, func(name string) []string {
			return []string{path, tool, filepath.Join(dir, name, "dotnet", "bench.dll")}
		})
		testWrong(t, func(name, _, right string) []string {
			source := falsified(t, filepath.Join(name, "dotnet", "bench.cs"), right, "1")
			library := filepath.Join(t.TempDir(), "bench.dll")
			output(t, "mcs", "-target:library", "-out:"+library, source)
			return []string{path, tool, library}
		})
	})
}

// testGo is TestLanguages for Go.
func testGo(t *testing.T, want map[string]map[string]string) {
	tool := buildGo(t)
	testSame(t, demo, want, func(name string) []string { return []string{tool, name} })
	testWrong(t, func(name, _, _ string) []string { return []string{tool, "wrong_" + name} })
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
		_, right := firstEntry(name)
		file := filepath.Join(name, "go", "bench.go")
		wrong := falsified(t, file, right, "1")
		for as, source := range map[string]string{name: file, "wrong_" + name: wrong} {
			must.Write(t, filepath.Join(dir, as, "bench.go"), goPackage(t, as, source))
			fmt.Fprintf(&imports, "import \"checksum/%s\"\n", as)
			fmt.Fprintf(&table, "\t%q: {%s.Checksum, %s.RunIter},\n", as, as, as)
		}
	}
	must.Write(t, filepath.Join(dir, "go.mod"), "module checksum\n\ngo 1.26\n")
	must.Write(t, filepath.Join(dir, "main.go"), fmt.Sprintf(goMain, &imports, &table))
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

// testJava is TestLanguages for Java. The directory contains the classes that make built.
func testJava(t *testing.T, dir string, want map[string]map[string]string) {
	if _, err := exec.LookPath("javac"); err != nil {
		t.Skipf("no compiler for Java: %v", err)
	}
	tool := compileChecksum(t)
	onEach(t, "java", func(t *testing.T, path string, most int) {
		testSame(t, most, want, func(name string) []string {
			classes := filepath.Join(dir, name, "java") + ":" + tool
			return []string{path, "-cp", classes, "Checksum", "KrunEntry"}
		})
		testWrong(t, func(name, _, _ string) []string {
			return []string{path, "-cp", tool, "Checksum", "Wrong_" + name}
		})
	})
}

// compileChecksum compiles the program that prints checksums and, for each benchmark, the class
// Wrong_NAME with a wrong number in its table. It compiles all of them at once, because the
// compiler's start-up takes most of the time.
func compileChecksum(t *testing.T) string {
	t.Helper()
	files := []string{"../runners/java/BaseKrunEntry.java", "testdata/Checksum.java"}
	for name := range others {
		n, right := firstEntry(name)
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
