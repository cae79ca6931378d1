package benchmarks

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"krund/rig/must"
	"krund/runners/runnertest"
)

// The cost of a parameter.
const (
	light = iota // tested on every interpreter
	demo         // some ten milliseconds in an interpreter: tested on the newest one
	heavy        // tested in C only
)

type entry struct {
	name     string
	n        int
	checksum float64
	cost     int
}

// known are the tables of the benchmarks.
var known = []entry{
	{"binary_trees", 10, 135854, demo},
	{"binary_trees", 12, 674478, demo},
	{"binary_trees", 14, 3222190, heavy},
	{"fannkuch_redux", 7, 228016, light},
	{"fannkuch_redux", 8, 1616022, demo},
	{"fannkuch_redux", 9, 8629030, heavy},
	{"fannkuch_redux", 10, 73196038, heavy},
	{"fasta", 1000, 3225012143, light},
	{"fasta", 30000, 4059268609, demo},
	{"fasta", 100000, 3438851865, heavy},
	{"nbody", 1000, -0.16908760523462465, light},
	{"nbody", 10000, -0.16901644126444898, demo},
	{"nbody", 200000, -0.16908371256965279, heavy},
	{"richards", 1000, 38956696480, light},
	{"richards", 10000, 390003172433, demo},
	{"richards", 15000, 586514708127, demo},
	{"richards", 300000, 11708785771126, heavy},
	{"spectralnorm", 100, 1.2742199912349306, demo},
	{"spectralnorm", 500, 1.2742241159529055, heavy},
}

// others are parameters that are not in the benchmarks' tables, including the limits.
var others = map[string][]int{
	"binary_trees":   {0, 5, 6, 7},
	"fannkuch_redux": {1, 2, 3, 6},
	"fasta":          {0, 1, 7, 61, 500},
	"nbody":          {0, 1, 2, 333},
	"richards":       {1, 2, 3, 100},
	"spectralnorm":   {1, 2, 3, 40},
}

// parameters returns a benchmark's parameters: those not in its table, then those in its table up
// to a cost.
func parameters(name string, most int) []string {
	var list []string
	for _, n := range others[name] {
		list = append(list, strconv.Itoa(n))
	}
	for _, k := range known {
		if k.name == name && k.cost <= most {
			list = append(list, strconv.Itoa(k.n))
		}
	}
	return list
}

// output runs a command and returns the lines of its stdout.
func output(t *testing.T, argv ...string) []string {
	t.Helper()
	c := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	out, err := c.Output()
	if err != nil {
		var exit *exec.ExitError
		must.Need(t, !errors.As(err, &exit), argv, err, string(out), exit.Stderr)
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

// build compiles the benchmarks and the program that prints their checksums into a directory.
func build(t *testing.T) string {
	t.Helper()
	cc := runnertest.Compiler(t)
	dir := t.TempDir()
	must.Do(t, runnertest.CopyBuilt(dir, slices.Collect(maps.Keys(others))...))
	output(t, "make", "--silent", "build", "OUT="+dir, "CC="+cc)
	args := []string{cc, "-O1", "testdata/checksum.c", "-o", filepath.Join(dir, "checksum"),
		"-Wl,--no-as-needed"}
	output(t, append(args, libdl()...)...)
	return dir
}

// libdl returns the linker option for dlopen where it is not in libc.
func libdl() []string {
	if _, err := os.Stat("/proc/self"); err == nil {
		return []string{"-ldl"}
	}
	return nil
}

// language is a language of the benchmarks that needs no compiler.
type language struct {
	name  string
	file  string // path of the source in a benchmark's directory
	entry string // format of a table entry; the verbs are the parameter and the checksum
	// checksum prints the checksums of parameters. The file and the parameters are appended.
	checksum string
}

var languages = []language{
	{"python", "python/bench.py", "%s: %s", "testdata/checksum.py"},
	{"lua", "lua/bench.lua", "[%s] = %s", "testdata/checksum.lua"},
	{"javascript", "javascript/bench.js", "%s: %s", "testdata/checksum.js"},
	{"ruby", "ruby/bench.rb", "%s => %s", "testdata/checksum.rb"},
	{"php", "php/bench.php", "%s => %s", "testdata/checksum.php"},
}

// TestLanguages builds once for the tests of C and of every VM that it finds.
func TestLanguages(t *testing.T) {
	dir := build(t)
	want := checksumsInC(t, dir)
	t.Run("c", func(t *testing.T) {
		tool, cc := filepath.Join(dir, "checksum"), runnertest.Compiler(t)
		testBadParameters(t, func(name string) []string {
			return []string{tool, filepath.Join(dir, name, "c", "bench.so")}
		})
		testWrong(t, func(name, n, right string) []string {
			c := falsified(t, filepath.Join(name, "c", "bench.c"), "{ "+n+", "+right+" }", "{ "+n+", 1 }")
			library := filepath.Join(t.TempDir(), "bench.so")
			output(t, cc, "-std=c11", "-O1", "-shared", "-fPIC", "-ffp-contract=off", c, "-o", library, "-lm")
			return []string{tool, library}
		})
	})
	t.Run("java", func(t *testing.T) { testJava(t, dir, want) })
	t.Run("dotnet", func(t *testing.T) { testDotnet(t, dir, want) })
	t.Run("go", func(t *testing.T) { testGo(t, want) })
	t.Run("rust", func(t *testing.T) { testRust(t, dir, want) })
	t.Run("WebAssembly", func(t *testing.T) { testWebAssembly(t, dir, want) })
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			onEach(t, l.name, func(t *testing.T, path string, most int) {
				testSame(t, most, want, func(name string) []string {
					return []string{path, l.checksum, filepath.Join(name, l.file)}
				})
				testWrong(t, func(name, n, right string) []string {
					return []string{path, l.checksum, falsified(t, filepath.Join(name, l.file),
						fmt.Sprintf(l.entry, n, right), fmt.Sprintf(l.entry, n, "1"))}
				})
			})
		})
	}
}

// onEach runs a test on every VM of a language with the highest cost of its parameters.
func onEach(t *testing.T, language string, test func(t *testing.T, path string, most int)) {
	t.Helper()
	vms := runnertest.Interpreters(t, language)
	newest := slices.MaxFunc(slices.Collect(maps.Keys(vms)), runnertest.Versions)
	for vm, path := range vms {
		t.Run(vm, func(t *testing.T) {
			t.Parallel()
			most := light
			if vm == newest {
				most = demo
			}
			test(t, path, most)
		})
	}
}

// checksumsInC returns the checksum of each parameter of each benchmark, as text.
func checksumsInC(t *testing.T, dir string) map[string]map[string]string {
	t.Helper()
	want := make(map[string]map[string]string)
	for name := range others {
		arguments := parameters(name, heavy)
		lines := output(t, append([]string{filepath.Join(dir, "checksum"), filepath.Join(dir, name, "c",
			"bench.so")}, arguments...)...)
		must.Need(t, len(lines) == len(arguments), name, len(lines), "lines for", len(arguments),
			"parameters")
		want[name] = make(map[string]string)
		for i, n := range arguments {
			want[name][n] = lines[i]
		}
	}
	for _, k := range known {
		must.Equal(t, want[k.name][strconv.Itoa(k.n)], fmt.Sprintf("%.17g", k.checksum), k.name, k.n, "in C",
			k.checksum)
	}
	return want
}

// testSame: every language prints the same 17 digits, run_iter accepts them, and bad parameters are
// rejected. program returns the command that prints the checksums of a benchmark for the parameters
// that are appended.
func testSame(t *testing.T, most int, want map[string]map[string]string,
	program func(name string) []string) {
	t.Helper()
	testBadParameters(t, program)
	for name := range others {
		arguments := parameters(name, most)
		lines := output(t, append(program(name), arguments...)...)
		must.Need(t, len(lines) == len(arguments), name, len(lines), "lines for", len(arguments),
			"parameters", lines)
		for i, n := range arguments {
			must.Equal(t, lines[i], want[name][n], "in C")
		}
	}
}

// testWrong: a wrong number in a benchmark's table is detected in the first iteration, with a
// message on stdout and status 1. program returns the command that runs the benchmark with the
// checksum of its first entry replaced by 1; the parameter is appended.
func testWrong(t *testing.T, program func(name, n, right string) []string) {
	t.Helper()
	for name := range others {
		n, right := firstEntry(name)
		expectWrong(t, fmt.Sprintf("%s: parameter %s: checksum %s, expected 1", name, n, right),
			append(program(name, n, right), n)...)
	}
}

// firstEntry returns the first entry of a benchmark's table.
func firstEntry(name string) (n, checksum string) {
	k := known[slices.IndexFunc(known, func(k entry) bool { return k.name == name })]
	return strconv.Itoa(k.n), fmt.Sprintf("%.17g", k.checksum)
}

// falsified copies a source file and replaces one text.
func falsified(t *testing.T, file, from, to string) string {
	t.Helper()
	source := must.Get(os.ReadFile(file))(t)
	must.Need(t, strings.Count(string(source), from) == 1, file, "does not have", from, "once")
	copied := filepath.Join(t.TempDir(), filepath.Base(file))
	must.Do(t, os.WriteFile(copied, []byte(strings.Replace(string(source), from, to, 1)), 0o644))
	return copied
}

func expectWrong(t *testing.T, message string, argv ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).Output()
	var exit *exec.ExitError
	must.Be(t, errors.As(err, &exit) && exit.ExitCode() == 1 && strings.Contains(string(out), message), argv,
		err, "stdout", out, "want status 1 and", message)
}

// testBadParameters: a parameter out of bounds is rejected, not computed.
func testBadParameters(t *testing.T, program func(name string) []string) {
	t.Helper()
	for name, n := range map[string]string{
		"binary_trees": "25", "fannkuch_redux": "13", "fasta": "-1", "richards": "0", "spectralnorm": "0",
	} {
		expectWrong(t, name+": parameter "+n+" is ", append(program(name), n)...)
	}
}
