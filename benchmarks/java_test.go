package benchmarks

import (
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"krund/runners/runnertest"
)

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
