package suites_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"krund/rig/must"
	"krund/runners/suites"
)

// suite writes files below a new directory and reads it as a suite.
func suite(t *testing.T, kind string, files map[string]string) (suites.Found, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		must.Write(t, file, text)
		if to, link := strings.CutPrefix(text, "-> "); link {
			must.Do(t, errors.Join(os.Remove(file), os.Symlink(to, file)))
		}
	}
	s, ok := suites.Lookup(kind)
	must.Need(t, ok, kind)
	return s.Read(dir)
}

// names returns the names and options of what was found.
func names(f suites.Found) string {
	var list []string
	for _, b := range f.Benchmarks {
		list = append(list, fmt.Sprintf("%s%q", b.Name, b.Options))
	}
	return strings.Join(list, " ")
}

const bm = "pyperformance/data-files/benchmarks/bm_"

// TestRead: keys, options, inner iterations and versions come from the suite's own files.
func TestRead(t *testing.T) {
	f := must.Get(suite(t, "pyperformance", map[string]string{
		bm + "a/pyproject.toml": "[project]\nrequires-python = \">=3.12\"\n" +
			"[tool.pyperformance]\nname = \"a\"\n",
		bm + "a/bm_a_io.toml": "[tool.pyperformance]\nname = \"a_io\"\nextra_opts = [\"--io\", \"x\"]\n",
		bm + "a/data.toml":    "[other]\n",
		bm + "a/bm_a_gc.toml": "[tool.pyperformance]\nname = \"a_gc\"\ninherits = \"..\"\n",
		strings.TrimSuffix(bm, "bm_") + "base.toml": "[project]\nrequires-python = \">=3.9\"\n" +
			"[tool.pyperformance]\nextra_opts = [\"--gc\"]\n",
		bm + "a/run_benchmark.py": "if gc: runner.bench_func('a_gc', f)\nrunner.bench_func('a', f)\n",
		bm + "b/pyproject.toml":   "[tool.pyperformance]\nname = \"b\"\n",
		bm + "b/run_benchmark.py": "BENCHMARKS = {\n  # the names\n  'fft': (f, 'no'),\n  \"lu\": g }\n" +
			"add_argument('benchmark', nargs='?',\n choices=sorted(BENCHMARKS))\n" +
			"runner.bench_time_func(name, f)\n",
		bm + "c/pyproject.toml":   "[tool.pyperformance]\nname = \"c\"\n",
		bm + "c/run_benchmark.py": "runner.bench_func('c_one', f)\nrunner.bench_func(\"c_two\", g)\n",
		bm + "d/pyproject.toml":   "[tool.pyperformance]\nname = \"d\"\n",
	}))(t)
	must.Equal(t, names(f), `a["a"] a_gc["a_gc" "--gc"] a_io["" "--io" "x"] b_fft["" "fft"] b_lu["" "lu"] `+
		`c_one["c_one"] c_two["c_two"]`)
	must.Equal(t, fmt.Sprint(f.Benchmarks[0].Requires, f.Benchmarks[1].Requires, f.Benchmarks[2].Requires),
		">=3.12>=3.9>=3.12")
	must.Be(t, len(f.LeftOut) == 1 && strings.Contains(f.LeftOut[0], "bm_d/run_benchmark.py"), f.LeftOut)

	f = must.Get(suite(t, "ruby-bench", map[string]string{"benchmarks/fib.rb": "",
		"benchmarks/x/benchmark.rb": "",
		"benchmarks/y/other.rb":     "", "benchmarks/r.rb": "",
		"benchmarks.yml": "fib:\n  ractor: true\nr:\n  ractor_only: true\nx:\n  desc: b\n"}))(t)
	must.Equal(t, names(f), "fib[] x[]")
	must.Be(t, len(f.LeftOut) == 1 && strings.HasPrefix(f.LeftOut[0], "r: "), f.LeftOut)

	f = must.Get(suite(t, "are-we-fast-yet", map[string]string{
		"rebench.conf": "  benchmarks: &B\n    - DeltaBlue:\n        extra_args: 12000\n" +
			"    - Json:\n        extra_args: 100\n", "benchmarks/Ruby/json.rb": "",
		"benchmarks/Lua/json.lua": "", "benchmarks/Java/benchmarks.jar": "",
		"benchmarks/C++/krun.so": ""}))(t)
	must.Equal(t, names(f), "DeltaBlue[] Json[]")
	must.Equal(t, f.Benchmarks[1].Parameter, 100)
	must.Equal(t, len(f.Benchmarks[1].Files), 4)

	f = must.Get(suite(t, "octane", map[string]string{"base.js": "new Benchmark('x')", "run.js": "load('a')",
		"crypto.js": `new BenchmarkSuite('Crypto', [1], [ new Benchmark("Encrypt", f),  ` +
			`new Benchmark("Decrypt", g) ])`,
		"gbemu-part1.js": `new Benchmark("Gameboy", f)`, "gbemu-part2.js": ""}))(t)
	must.Equal(t, names(f), `Decrypt["Decrypt" "base.js" "crypto.js"] `+
		`Encrypt["Encrypt" "base.js" "crypto.js"] `+
		`Gameboy["Gameboy" "base.js" "gbemu-part1.js" "gbemu-part2.js"]`)

	f = must.Get(suite(t, "jetstream", map[string]string{"JetStreamDriver.js": "let BENCHMARKS = [\n" +
		"  new DefaultBenchmark({\n    name: \"Air\",\n  }),\n" +
		"  new AsyncBenchmark({ name: 'bigint-bigdenary',\n" +
		"  new WSLBenchmark({\n name: \"WSL\"\n"}))(t)
	must.Equal(t, names(f), "Air[] bigint-bigdenary[]")
	must.Be(t, len(f.LeftOut) == 1 && strings.HasPrefix(f.LeftOut[0], "WSL: "), f.LeftOut)

	f = must.Get(suite(t, "go-test", map[string]string{"sort.test": "",
		"sort_test.go": "func BenchmarkSort(b *testing.B) {\n" +
			"func TestX(t *testing.T) {\nfunc BenchmarkHelper(b *testing.B, n int) {\n",
		"run/r_test.go":    "func BenchmarkR(x *testing.B) {\n\tx.Run(\"a\", f)\n}\n",
		"run/r.test":       "",
		"listed/l_test.go": "func BenchmarkL(b *testing.B) {\n\tb.Run(\"a\", f)\n}\n",
		"listed/l.test":    "",
		"listed/l.bench": "goos: linux\nBenchmarkL/a=1/b#01 \t 1\t 5 ns/op\nBenchmarkL/..\t1\t 5 ns/op\n" +
			"BenchmarkL/\x1b[2J 1 5 ns/op\nBenchmarkF \t--- FAIL\nPASS\n",
		"sub/deep/d.test":    "",
		"sub/deep/d_test.go": "func BenchmarkD(b *testing.B) {",
		"none/n_test.go":     "func BenchmarkN(b *testing.B) {",
		"testdata/t_test.go": "func BenchmarkT(b *testing.B) {"}))(t)
	must.Equal(t, names(f), `BenchmarkSort["BenchmarkSort"] listed.BenchmarkL...["BenchmarkL/.."] `+
		`listed.BenchmarkL.a-1.b-01["BenchmarkL/a=1/b#01"] sub.deep.BenchmarkD["BenchmarkD"]`)
	must.Equal(t, f.Benchmarks[3].Files["external"], "sub/deep/d.test")
	must.Be(t, len(f.LeftOut) == 3 && strings.Contains(f.LeftOut[0], "has a control character"), f.LeftOut)
	must.Be(t, strings.Contains(f.LeftOut[1], `run go test -c in "none"`), f.LeftOut)
	must.Be(t, strings.HasSuffix(f.LeftOut[2], "-test.cpu=1 >r.bench"), f.LeftOut)

	f = must.Get(suite(t, "sightglass", map[string]string{"engines/wasmtime/libengine.so": "",
		"benchmarks/blake3/benchmark.wasm": "", "benchmarks/shootout/fib.wasm": "",
		"benchmarks/README.md": ""}))(t)
	must.Equal(t, len(f.Benchmarks), 6)
	must.Equal(t, names(suites.Found{Benchmarks: f.Benchmarks[:4]}), ""+
		`blake3.compile["engines/wasmtime/libengine.so" "compile"] `+
		`blake3.execute["engines/wasmtime/libengine.so" "execute"] `+
		`blake3.instantiate["engines/wasmtime/libengine.so" "instantiate"] `+
		`shootout-fib.compile["engines/wasmtime/libengine.so" "compile"]`)
	f = must.Get(suite(t, "sightglass", map[string]string{"engines/wasmtime/libengine.so": "",
		"engines/v8/libengine.so": "", "benchmarks/blake3/benchmark.wasm": ""}))(t)
	must.Equal(t, len(f.Benchmarks), 6)
	must.Equal(t, names(suites.Found{Benchmarks: f.Benchmarks[:2]}), ""+
		`blake3.compile.v8["engines/v8/libengine.so" "compile"] `+
		`blake3.compile.wasmtime["engines/wasmtime/libengine.so" "compile"]`)
	f = must.Get(suite(t, "sightglass", map[string]string{"benchmarks/blake3/benchmark.wasm": ""}))(t)
	must.Be(t, len(f.LeftOut) == 1 && strings.Contains(f.LeftOut[0], "there is no engine"), f.LeftOut)

	f = must.Get(suite(t, "pyperf", map[string]string{"bench.py": "import pyperf\n", "other.py": "",
		"x.txt": ""}))(t)
	must.Equal(t, names(f), `bench[""]`)
}

// jar returns the content of a jar with the entries.
func jar(t *testing.T, entries map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range entries {
		must.Get(must.Get(z.Create(name))(t).Write([]byte(text)))(t)
	}
	must.Do(t, z.Close())
	return b.String()
}

// jmhList is a line as JMH's annotation processor writes it, with parameters as they stand in it.
func jmhList(class, method, mode, parameters string) string {
	line := "JMH "
	for _, part := range []string{class, strings.Replace(class, ".", ".jmh_generated.", 1), method, mode} {
		line += fmt.Sprintf("S %d %s ", len(part), part)
	}
	return line + "E A 2 1 1 1 1 L 1 1 g I 1 5 T 4 10 s E E E E E E S 4 java L 1 2 -X E E " + parameters +
		" U 11 NANOSECONDS E E \n"
}

// TestJars: the benchmarks of JMH, Renaissance and DaCapo are named in their jars.
func TestJars(t *testing.T) {
	f := must.Get(suite(t, "jmh", map[string]string{"target/benchmarks.jar": jar(t, map[string]string{
		"META-INF/BenchmarkList": jmhList("org.a.Sort", "big", "Throughput", "E") +
			jmhList("org.a.Sort", "big", "AverageTime", "E") +
			jmhList("org.a.Sort", "small", "Throughput", "E") +
			jmhList("org.b.Sort", "small", "Throughput", "E")}), "other.jar": jar(t, nil),
		"broken.jar": "PK"}))(t)
	must.Equal(t, names(f), `Sort.big["org.a.Sort.big"] org.a.Sort.small["org.a.Sort.small"] `+
		`org.b.Sort.small["org.b.Sort.small"]`)
	must.Equal(t, f.Benchmarks[0].Files["java"], "target/benchmarks.jar")
	must.Be(t, len(f.LeftOut) == 1 && strings.Contains(f.LeftOut[0], "broken.jar"), f.LeftOut)

	text := jmhList("a.P", "m", "Throughput", "M 2 4 size 2 2 10 3 100 1 k 2 3 é=b 5 x/ 😀") +
		jmhList("a.P", "comma", "Throughput", "M 1 1 k 1 3 a,b") +
		jmhList("a.P", "none", "Throughput", "M 1 1 k 0") +
		jmhList("a.P", "many", "Throughput", "M 3"+strings.Repeat(" 1 k 11"+strings.Repeat(" 1 v", 11), 3)) +
		"JMH S 3 a.B S 3 a.B S 99999999 x\nJMH S -1 x\nJMH X\nS 1 a S 1 b S 1 c\nJMH M 9 "
	f = must.Get(suite(t, "jmh", map[string]string{"a.jar": jar(t, map[string]string{
		"META-INF/BenchmarkList": text})}))(t)
	must.Equal(t, names(f), `P.m.k---b.size-10["a.P.m" "k=é=b" "size=10"] `+
		`P.m.k---b.size-100["a.P.m" "k=é=b" "size=100"] P.m.k-x.--.size-10["a.P.m" "k=x/ 😀" "size=10"] `+
		`P.m.k-x.--.size-100["a.P.m" "k=x/ 😀" "size=100"]`)
	left := strings.Join(f.LeftOut, "\n")
	must.Be(t, len(f.LeftOut) == 3 && strings.Contains(left, "has a comma") &&
		strings.Contains(left, "has no values") && strings.Contains(left, "than 1000 combinations"), left)

	// From META-INF/BenchmarkList of jmh-samples 1.37, JMHSample_27_Params, with fewer values of
	// arg.
	f = must.Get(suite(t, "jmh", map[string]string{"a.jar": jar(t, map[string]string{
		"org/openjdk/jmh/util/lines/Armor.class": "", "META-INF/BenchmarkList": jmhList("a.P", "bench",
			"AverageTime", "M 2 3 arg 2 8 xAA===== 8 xAAMAEDA 9 certainty 1 16 xAAMAADAwAA=====")})}))(t)
	must.Equal(t, names(f), `P.bench.arg-1.certainty-1000["a.P.bench" "arg=1" "certainty=1000"] `+
		`P.bench.arg-101.certainty-1000["a.P.bench" "arg=101" "certainty=1000"]`)

	f = must.Get(suite(t, "renaissance", map[string]string{"renaissance-gpl.jar": jar(t, map[string]string{
		"benchmarks.properties": "benchmark.scrabble.name=scrabble\nbenchmark.scrabble.repetitions=50\n" +
			"benchmark.dummy-empty.name = dummy-empty\n"})}))(t)
	must.Equal(t, names(f), `scrabble["scrabble"]`)

	f = must.Get(suite(t, "dacapo", map[string]string{"dacapo-23.11-chopin.jar": jar(t, map[string]string{
		"cnf/lusearch.cnf": "", "META-INF/cnf/h2.cnf": "", "lusearch.cnf": ""})}))(t)
	must.Equal(t, names(f), `h2["h2"] lusearch["lusearch"]`)

	bomb := jar(t, map[string]string{"META-INF/BenchmarkList": strings.Repeat("JMH", 1<<20)})
	_, err := suite(t, "jmh", map[string]string{"a.jar": "-> /dev/zero", "b.jar": bomb,
		"c.jar": "-> ../../x.jar"})
	must.Do(t, err) // with nothing but what is left out
}

// FuzzJar: no jar makes reading fail, or take long.
func FuzzJar(f *testing.F) {
	f.Add([]byte("PK"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, kind := range []string{"jmh", "dacapo", "renaissance"} {
			found, err := suite(t, kind, map[string]string{kind + ".jar": string(data)})
			for _, b := range found.Benchmarks {
				must.Do(t, b.Check())
			}
			must.Be(t, err == nil || strings.Contains(err.Error(), "has no benchmarks of"), err)
		}
	})
}

// TestHostile: what a suite's files and names may not be is left out or refused, with what and
// where.
func TestHostile(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret.py")
	must.Do(t, os.WriteFile(outside, []byte("import pyperf"), 0o644))
	f := must.Get(suite(t, "pyperf", map[string]string{
		"good.py": "import pyperf", "link.py": "-> " + outside, "up.py": "-> ../../../../../../etc/passwd",
		"device.py": "-> /dev/zero", "-o.py": "import pyperf", "new\nline.py": "import pyperf",
		"huge.py": "import pyperf" + strings.Repeat(" ", 9<<20), "dir.py/x": "",
	}))(t)
	must.Equal(t, names(f), `good[""]`)
	must.Equal(t, len(f.LeftOut), 7)
	for _, why := range f.LeftOut {
		must.Be(t, !strings.ContainsAny(why, "\n\x1b") && len(why) < 400, why)
	}
	f = must.Get(suite(t, "pyperformance", map[string]string{
		bm + "a/pyproject.toml": "[tool.pyperformance]\nname = \"a\"\n" +
			"runscript = \"../../../../../../x.py\"\n",
		bm + "b/pyproject.toml":   "[tool.pyperformance]\nname = \"b\"\nextra_opts = [\"a\\nb\"]\n",
		bm + "b/run_benchmark.py": "pyperf", bm + "c/pyproject.toml": "not TOML",
		bm + "e/pyproject.toml": "-> " + outside,
	}))(t)
	must.Equal(t, len(f.Benchmarks), 0)
	must.Equal(t, len(f.LeftOut), 4)

	many := map[string]string{}
	for i := range 5001 {
		many[fmt.Sprintf("x%d", i)] = ""
	}
	for _, c := range []struct {
		kind  string
		files map[string]string
		want  string
	}{
		{"pyperf", many, "more than 5000 entries"},
		{"pyperf", map[string]string{"x": ""}, "has no benchmarks of pyperf"},
		{"are-we-fast-yet", map[string]string{"rebench.conf": "x"}, "names no benchmarks"},
		{"are-we-fast-yet", map[string]string{"x": ""}, "rebench.conf: "},
	} {
		_, err := suite(t, c.kind, c.files)
		must.Be(t, err != nil && strings.Contains(err.Error(), c.want), c.want, err)
	}
	f = must.Get(suite(t, "ruby-bench", map[string]string{"benchmarks/a.rb": "",
		"benchmarks/a/benchmark.rb": ""}))(t)
	must.Be(t, names(f) == "a[]" && len(f.LeftOut) == 1, f)
	must.Be(t, strings.Contains(f.LeftOut[0], "another benchmark of this name"), f)
	for _, c := range []struct {
		kind, found, left string
		files             map[string]string
	}{
		{"sightglass", "", `"benchmarks/a/z.wasm": it is not a regular file`,
			map[string]string{"engines/e/libengine.so": "", "benchmarks/a/z.wasm": "-> /etc/passwd"}},
		{"octane", "", `"a.js": "base.js" is not a regular file`,
			map[string]string{"a.js": `new Benchmark("A")`, "base.js": "-> /dev/zero"}},
		{"octane", "", `"A": it has more than 32 options`, familyOfOctane()},
		{"go-test", `BenchmarkX["BenchmarkX"]`, "", map[string]string{"a.test/x": "", "b.test": "",
			"b_test.go": "func BenchmarkX(b *testing.B) {\n}\n"}},
		{"go-test", `BenchmarkX.y["BenchmarkX.y"]`, "BenchmarkX.y: another benchmark of this name",
			map[string]string{"b.test": "", "b.bench": "BenchmarkX.y 1 5\nBenchmarkX/y 1 5\nBenchmarkZ\n"}},
	} {
		f := must.Get(suite(t, c.kind, c.files))(t)
		must.Be(t, names(f) == c.found && strings.Contains(strings.Join(f.LeftOut, "\n"), c.left), c.kind, f)
	}
	s, _ := suites.Lookup("pyperf")
	_, err := s.Read("/nonexistent")
	must.Be(t, err != nil && strings.Contains(err.Error(), "no such file"), err)
}

// familyOfOctane is a benchmark that would load more files than an execution has options.
func familyOfOctane() map[string]string {
	files := map[string]string{"base.js": "", "a.js": `new Benchmark("A")`}
	for i := range suites.MostOptions {
		files[fmt.Sprintf("a-%d.js", i)] = ""
	}
	return files
}

// FuzzScript: no text of a script makes reading fail or name what Check refuses.
func FuzzScript(f *testing.F) {
	f.Add("BENCHMARKS = {'a': (1, 'b'), # c\n}\nnargs='?', choices=BENCHMARKS)", "--x")
	f.Add("runner.bench_func('a', f)\nr.bench_func('b', g)", "")
	f.Add("BENCHMARKS = 'a b'.split()\nnargs='?', choices=BENCHMARKS", "")
	f.Fuzz(func(t *testing.T, text, option string) {
		found, err := suite(t, "pyperf", map[string]string{"s.py": "pyperf " + text})
		if err != nil {
			return
		}
		for _, b := range found.Benchmarks {
			must.Do(t, b.Check())
		}
	})
}

// TestPublished reads the suites as published, from KRUND_FIXTURES.
func TestPublished(t *testing.T) {
	fixtures := os.Getenv("KRUND_FIXTURES")
	if fixtures == "" {
		t.Skip("KRUND_FIXTURES is not set")
	}
	for _, c := range []struct {
		name                string
		benchmarks, leftOut int
		has                 string
	}{
		{"pyperformance", 60, 0, `scimark_fft["" "fft"]`},
		{"ruby-bench", 33, 0, "rubykon[]"},
		{"are-we-fast-yet", 14, 2, "DeltaBlue[]"},
	} {
		dir := t.TempDir()
		out, err := exec.CommandContext(t.Context(), "tar", "-xzf", filepath.Join(fixtures, "suites",
			c.name+".tar.gz"), "-C", dir).CombinedOutput()
		must.Need(t, err == nil, string(out))
		s, _ := suites.Lookup(c.name)
		f := must.Get(s.Read(filepath.Join(dir, c.name)))(t)
		must.Equal(t, len(f.Benchmarks), c.benchmarks, c.name)
		must.Equal(t, len(f.LeftOut), c.leftOut, c.name, f.LeftOut)
		must.Be(t, strings.Contains(names(f), c.has), names(f))
		t.Logf("%s: %d benchmarks", c.name, len(f.Benchmarks))
	}
}

// TestSlow: no FIFO is waited for, and no description of a benchmark takes long to read.
func TestSlow(t *testing.T) {
	s, _ := suites.Lookup("pyperformance")
	dir := t.TempDir()
	must.Do(t, syscall.Mkfifo(filepath.Join(dir, "bm_fifo"), 0o644))
	for name, text := range map[string]string{
		"bm_keys":   "a" + strings.Repeat(".a", 30000) + " = 1\n",
		"bm_tables": "a = " + strings.Repeat("{a = ", 10000),
		"bm_large":  strings.Repeat("#\n", 100000),
	} {
		must.Write(t, filepath.Join(dir, name, "pyproject.toml"), text)
	}
	f, err := s.Read(dir)
	must.Do(t, err)
	text := strings.Join(f.LeftOut, "\n")
	must.Be(t, strings.Contains(text, "bm_fifo") && strings.Count(text, "too deeply nested") == 3, text)
	_, err = s.Read(filepath.Join(dir, "bm_fifo"))
	must.Be(t, err != nil && strings.Contains(err.Error(), "is no directory of a suite"), err)
}
