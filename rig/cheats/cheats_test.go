// Package cheats measures benchmarks that are faster only where it is measured, with krund as it is
// built, and checks that krunctl compare says so: replay of a kept result, deferred work, work
// outside of the measured time, a patched clock, and a fast path after the first iterations. Start
// reading at TestCheats.
package cheats

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/rig/must"
)

// language is how a benchmark is written, with the honest one and its cheats. WORK in the texts is
// the function work(n, input), and n is the parameter.
type language struct {
	runner, program, file, work string
	parameter                   int
	base                        map[string]string // honest, by the number of run_iter's arguments
	cheats                      []cheat
}

// cheat is what another arm does in place of the base, and a part of the reason why compare gives
// no verdict; "" if the cheat has no effect, or none is there.
type cheat struct{ name, base, source, want string }

// short is the parameter of the cheat "short", in place of its language's: work of some ten
// microseconds.
var short = map[string]int{"Python": 600, "JavaScript": 40_000}

const (
	differ  = "the results differ, first in execution 1, iteration "
	little  = "as little as a function that returns a kept result"
	moved   = "may have moved out of the measured time"
	between = "of the measured time"
	oneway  = "on one side only, so nothing shows that the two compute the same"
	gaps    = "lie outside of the measured time"
)

var languages = map[string]language{
	"Python": {
		runner: "python", program: "python3", file: "bench.py", parameter: 300_000,
		work: "def work(n, x):\n    for _ in range(n):\n        x = (x * 1103515245 + 12345) & 0x7fffffff\n" +
			"    return x\n",
		base: map[string]string{"input": "def run_iter(n, i):\n    return work(n, i)\n",
			"plain": "def run_iter(n):\n    work(n, 1)\n"},
		cheats: []cheat{
			{"honest", "input", "def run_iter(n, i):\n    result = work(n, i)\n    return result\n", ""},
			{"replay", "input", "kept = []\ndef run_iter(n, i):\n    if not kept:\n" +
				"        kept.append(work(n, i))\n    return kept[0]\n", differ + "2"},
			{"kept", "plain",
				"kept = []\ndef run_iter(n):\n    if not kept:\n        kept.append(work(n, 1))\n",
				little},
			{"deferred", "plain", "import atexit\nleft = []\n@atexit.register\ndef later():\n" +
				"    for n in left: work(2 * n, 1)\ndef run_iter(n):\n    left.append(n)\n" +
				"    work(2000, 1)\n", moved},
			{"outside", "input", "class Lazy:\n    def __init__(self, *a): self.a = a\n" +
				"    def __repr__(self): return repr(work(*self.a))\n" +
				"def run_iter(n, i):\n    work(2000, i)\n    return Lazy(n, i)\n", gaps},
			{"clock", "plain", "import time\nreal = time.perf_counter\n" +
				"time.perf_counter = time.time = lambda: real() / 100\ndef run_iter(n):\n    work(n, 1)\n",
				""},
			{"disk", "input", "import os\ndef run_iter(n, i):\n" +
				"    path = '%s.%d' % (__file__, i)\n" +
				"    if not os.path.exists(path):\n" +
				"        with open(path, 'w') as f: f.write(str(work(n, i)))\n" +
				"    with open(path) as f: return int(f.read())\n", ""},
			{"environment", "input", "import os\nn2 = 9 if 'KRUN_SEED' in os.environ else 0\n" +
				"def run_iter(n, i): return work(n2 or n, i)\n", differ + "1"},
			{"optout", "input", "def run_iter(n): work(2000, 1)\n", oneway},
			{"orphan", "plain", "import atexit, os, sys\nasked, ask = os.pipe()\nended, end = os.pipe()\n" +
				"if os.fork() == 0:\n    if os.fork() == 0:\n        os.close(ask)\n" +
				"        while os.read(asked, 1): work(2 * int(sys.argv[2]), 1)\n    os._exit(0)\n" +
				"os.wait()\nos.close(end)\n@atexit.register\ndef later():\n    os.close(ask)\n" +
				"    os.read(ended, 1)\ndef run_iter(n):\n    os.write(ask, b'x')\n    work(2000, 1)\n",
				moved},
			{"short", "input", "class Lazy:\n    def __init__(self, *a): self.a = a\n" +
				"    def __repr__(self): return repr(work(*self.a))\n" +
				"def run_iter(n, i): return Lazy(n, i)\n", between},
			{"fastpath", "input", "calls = []\ndef run_iter(n, i):\n    calls.append(i)\n" +
				"    return work(n if len(calls) < 4 else 9, i)\n", differ + "4"},
		},
	},
	"JavaScript": {
		runner: "javascript", program: "node", file: "bench.js", parameter: 10_000_000,
		work: "function work(n, x) {\n  for (let k = 0; k < n; k++)\n" +
			"    x = (Math.imul(x, 1103515245) + 12345) & 0x7fffffff;\n  return x;\n}\nlet sink = 0;\n",
		base: map[string]string{"input": "function run_iter(n, i) { return work(n, i); }\n",
			"plain": "function run_iter(n) { sink += work(n, 1); }\n"},
		cheats: []cheat{
			{"honest", "input", "const run_iter = (n, i) => work(n, i);\n", ""},
			{"replay", "input", "let kept;\nfunction run_iter(n, i) { return kept = kept || work(n, i); }\n",
				differ + "2"},
			{"kept", "plain", "let kept;\nfunction run_iter(n) { kept = kept || work(n, 1); }\n", little},
			{"deferred", "plain",
				"let left = 0;\nprocess.on('exit', () => { sink += work(2 * left, 1); });\n" +
					"function run_iter(n) { left += n; sink += work(50000, 1); }\n", moved},
			{"outside", "input", "function run_iter(n, i) { sink += work(50000, i);\n" +
				"  return { toJSON: () => work(n, i) }; }\n", gaps},
			{"clock", "plain", "const real = Date.now;\nDate.now = performance.now = () => real() / 100;\n" +
				"process.hrtime.bigint = () => 0n;\nfunction run_iter(n) { sink += work(n, 1); }\n", ""},
			{"nothing", "input", "function run_iter(n, i) { sink += work(50000, i); }\n", oneway},
			{"predicted", "input", "const kept = [], seed = BigInt(process.env.KRUN_SEED) << 32n;\n" +
				"const cut = (z) => BigInt.asUintN(64, z);\nfor (let k = 1n; k <= 12n; k++) {\n" +
				"  let z = cut(seed + k * 0x9e3779b97f4a7c15n);\n" +
				"  z = cut((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);\n" +
				"  z = cut((z ^ (z >> 27n)) * 0x94d049bb133111ebn);\n" +
				"  kept.push(work(10000000, Number((z ^ (z >> 31n)) >> 33n)));\n}\n" +
				"function run_iter(n, i) { sink += work(50000, i); return kept.shift(); }\n", moved},
			{"thread", "plain", "const { Worker } = require('worker_threads');\n" +
				"const left = new Int32Array(new SharedArrayBuffer(8));\n" +
				"const w = new Worker(work + ` let sink = 0; const left = require('worker_threads').workerData;\n" +
				"  for (let done = 0; ; done++) { Atomics.wait(left, 0, done); sink += work(20000000, 1);\n" +
				"    Atomics.store(left, 1, done + 1); Atomics.notify(left, 1); }`,\n" +
				"  { eval: true, workerData: left });\nprocess.on('exit', () => {\n" +
				"  for (let d; (d = Atomics.load(left, 1)) < left[0];) Atomics.wait(left, 1, d); });\n" +
				"function run_iter(n) { Atomics.add(left, 0, 1); Atomics.notify(left, 0);\n" +
				"  sink += work(50000, 1); }\n", moved},
			{"short", "input", "function run_iter(n, i) { return { toJSON: () => work(n, i) }; }\n",
				between},
			{"fastpath", "input", "let calls = 0;\n" +
				"function run_iter(n, i) { return work(++calls < 4 ? n : 9, i); }\n", differ + "4"},
		},
	},
	"C": {
		runner: "c", file: "bench.c", parameter: 15_000_000,
		work: "#include <stdint.h>\n#include <stdlib.h>\n#include <time.h>\nstatic volatile int sink;\n" +
			"static int work(int n, uint32_t x) {\n  for (int k = 0; k < n; k++)\n" +
			"    x = (x * 1103515245u + 12345u) & 0x7fffffff;\n  return (int)x;\n}\n",
		base: map[string]string{
			"input": "const int krun_inputs = 1;\nint64_t run_iter(int n, int i) { return work(n, i); }\n",
			"plain": "void run_iter(int n) { sink = work(n, sink); }\n"},
		cheats: []cheat{
			{"honest", "input", "const int krun_inputs = 1;\n" +
				"int64_t run_iter(int n, int i) { int r = work(n, i); return r; }\n", ""},
			{"replay", "input", "const int krun_inputs = 1;\nstatic int kept;\n" +
				"int64_t run_iter(int n, int i) { if (!kept) kept = work(n, i); return kept; }\n",
				differ + "2"},
			{"kept", "plain", "static int kept;\nvoid run_iter(int n) {\n" +
				"  if (!kept) kept = work(n, 1);\n  sink = kept;\n}\n", little},
			{"deferred", "plain", "static int left;\nstatic void later(void) {\n" +
				"  for (int k = 0; k < left; k++) sink = work(15000000, sink);\n}\n" +
				"void run_iter(int n) {\n  if (!left) atexit(later);\n  left += 2;\n" +
				"  sink = work(n / 200, sink);\n}\n", moved},
			{"outside", "plain", "__attribute__((constructor)) static void early(void) {\n" +
				"  for (int k = 0; k < 24; k++) sink = work(15000000, sink);\n}\n" +
				"void run_iter(int n) { sink = work(n / 200, sink); }\n", moved},
			{"clock", "plain",
				"int clock_gettime(clockid_t c, struct timespec *t) { (void)c; t->tv_sec = 1;\n" +
					"  t->tv_nsec = 0; return 0; }\nvoid run_iter(int n) { sink = work(n, sink); }\n", ""},
			{"buffer", "plain", "#include <stdio.h>\n#include <string.h>\n" +
				"static int64_t now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC_RAW, &t);\n" +
				"  return t.tv_sec * 1000000000 + t.tv_nsec; }\nstatic int64_t took;\n" +
				"static void shorten(void) { // the last iteration, in the shared buffer\n" +
				"  char line[4096]; unsigned long from, to; FILE *f = fopen(\"/proc/self/maps\", \"r\");\n" +
				"  while (f && fgets(line, sizeof line, f))\n" +
				"    if (strstr(line, \"rw-s\") && strstr(line, \"memfd\") &&\n" +
				"        sscanf(line, \"%lx-%lx\", &from, &to) == 2)\n" +
				"      for (int64_t *p = (int64_t *)from; p < (int64_t *)to; p++)\n" +
				"        if (*p >= took && *p < took + 200000) *p /= 100;\n  if (f) fclose(f); }\n" +
				"void run_iter(int n) { if (took) shorten();\n" +
				"  int64_t at = now(); sink = work(n, sink); took = now() - at; }\n", gaps},
			{"optout", "input", "void run_iter(int n) { sink = work(n / 200, sink); }\n", oneway},
			{"predicted", "input", "#include <pthread.h>\nconst int krun_inputs = 1;\n" +
				"static int64_t kept[12];\nstatic void *half(void *first) {\n" +
				"  uint64_t seed = strtoull(getenv(\"KRUN_SEED\"), 0, 10) << 32;\n" +
				"  for (int k = first ? 1 : 0; k < 12; k += 2) {\n" +
				"    uint64_t z = seed + (k + 1ull) * 0x9e3779b97f4a7c15;\n" +
				"    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;\n" +
				"    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;\n" +
				"    kept[k] = work(15000000, (z ^ (z >> 31)) >> 33);\n  }\n  return 0;\n}\n" +
				"__attribute__((constructor)) static void early(void) {\n  pthread_t t;\n" +
				"  pthread_create(&t, 0, half, \"\");\n  half(0);\n  pthread_join(t, 0);\n}\n" +
				"int64_t run_iter(int n, int i) { static int k; sink = work(n / 200, i);\n" +
				"  return kept[k++]; }\n",
				moved},
			{"fastpath", "input", "const int krun_inputs = 1;\nstatic int calls;\n" +
				"int64_t run_iter(int n, int i) { return work(++calls < 4 ? n : 9, i); }\n", differ + "4"},
		},
	},
}

const experiment = `[experiment]
reboot = "none"
account = "caller"
executions = 2
iterations = 12
benchmarks = "base"
[vms.VM]
runner = "%s"
%s
variants = ["v"]
[variants.v]
entry = "%s"
[arms.base]
[arms.new]
benchmarks = "new"
%s
[benchmarks]
`

// TestCheats: each cheat gets no verdict and its reason, or is measured as the work that it is;
// honest benchmarks get no remark.
func TestCheats(t *testing.T) {
	for name, l := range languages {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			vm, entry := "", l.file
			if l.program != "" {
				path, err := exec.LookPath(l.program)
				if err != nil {
					t.Skip(err)
				}
				vm = fmt.Sprintf("path = %q", path)
			} else {
				entry = "bench.so"
			}
			text := fmt.Sprintf(experiment, l.runner, vm, entry, "")
			for _, c := range l.cheats {
				parameter := l.parameter
				if c.name == "short" {
					parameter = short[name]
				}
				text += fmt.Sprintf("%s = { parameter = %d }\n", c.name, parameter)
				l.write(t, filepath.Join(dir, "base", c.name), l.base[c.base])
				l.write(t, filepath.Join(dir, "new", c.name), c.source)
			}
			changes := measure(t, dir, text)
			must.EqualList(t, slices.Sorted(maps.Keys(changes)), l.names(), "the keys")
			for _, c := range l.cheats {
				got := changes[c.name]
				must.Be(t, suspected(got.Reason) == (c.want != "") && strings.Contains(got.Reason, c.want),
					c.name, got.Reason, "want", c.want)
				must.Be(t, c.want != "" || got.After > got.Before/10, c.name, got)
				must.Be(t, c.want != "" || !strings.Contains(got.Remarks, "loop_share"), c.name, got.Remarks)
			}
		})
	}
}

// TestSlowClock: a clock of the process that runs at half speed makes no program faster. It is put
// before the C library's for the whole VM, which no benchmark can do.
func TestSlowClock(t *testing.T) {
	l, dir := languages["C"], t.TempDir()
	l.write(t, filepath.Join(dir, "base", "clock"), l.base["plain"])
	l.write(t, filepath.Join(dir, "new", "clock"), l.base["plain"])
	l.write(t, filepath.Join(dir, "slow"), "#include <sys/syscall.h>\n#include <unistd.h>\n"+
		"int clock_gettime(clockid_t c, struct timespec *t) {\n  struct timespec s;\n"+
		"  if (syscall(SYS_clock_gettime, c, &s)) return -1;\n"+
		"  static __int128 first;\n  __int128 ns = (__int128)s.tv_sec * 1000000000 + s.tv_nsec;\n"+
		"  if (!first) first = ns;\n  ns = first + (ns - first) / 2;\n"+
		"  t->tv_sec = ns / 1000000000; t->tv_nsec = ns % 1000000000;\n  return 0;\n}\n")
	env := fmt.Sprintf("env = { LD_PRELOAD = %q }", filepath.Join(dir, "slow", "bench.so"))
	text := fmt.Sprintf(experiment, l.runner, "", "bench.so",
		env) + fmt.Sprintf("clock = { parameter = %d }\n",
		4*l.parameter)
	got := measure(t, dir, text)["clock"]
	must.Be(t, strings.Contains(got.Reason, moved), got)
}

// suspected reports whether the reason is one of those for cheats.
func suspected(reason string) bool {
	return slices.ContainsFunc([]string{differ, little, moved, gaps, oneway, between},
		func(part string) bool { return strings.Contains(reason, part) })
}

// names lists the benchmarks, sorted.
func (l language) names() []string {
	var names []string
	for _, c := range l.cheats {
		names = append(names, c.name)
	}
	slices.Sort(names)
	return names
}

// write writes a benchmark into a directory, and compiles it.
func (l language) write(t *testing.T, dir, source string) {
	t.Helper()
	must.Do(t, os.MkdirAll(dir, 0o755))
	file := filepath.Join(dir, l.file)
	must.Do(t, os.WriteFile(file, []byte(l.work+source), 0o644))
	if l.runner == "c" {
		out, err := exec.CommandContext(t.Context(), "cc", "-O1", "-fPIC", "-shared", "-Wno-unused", file,
			"-o",
			filepath.Join(dir, "bench.so")).CombinedOutput()
		must.Need(t, err == nil, string(out))
	}
}

// change is what compare says about a benchmark.
type change struct {
	Reason        string
	Before, After float64 // seconds of an iteration
	Remarks       string
}

// measure runs an experiment with the built programs, and returns what compare says by benchmark.
func measure(t *testing.T, dir, text string) map[string]change {
	t.Helper()
	if os.Getenv("KRUND_RIG") != "" {
		t.Skip("it needs no machine of the rig: make test runs it")
	}
	bin := must.Get(filepath.Abs("../../build/bin"))(t)
	if _, err := os.Stat(filepath.Join(bin, "krund")); err != nil {
		t.Skipf("krund is not built: %v; make build", err)
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "x.toml"), []byte(text), 0o644))
	run := func(name string, args ...string) string {
		c := exec.CommandContext(t.Context(), filepath.Join(bin, name), args...)
		c.Dir = dir
		out, err := c.Output()
		if name == "krund" {
			must.Need(t, err == nil, err, string(out))
		}
		return string(out)
	}
	run("krund", "run", "x.toml")
	var doc struct {
		Changes []struct {
			Key      string
			Reason   string
			Steady   struct{ Before, After float64 }
			Warnings []struct{ Code, Text string }
		}
	}
	must.Do(t, json.Unmarshal([]byte(run("krunctl", "compare", "--format", "json", "x.krun")), &doc))
	list := map[string]change{}
	for _, c := range doc.Changes {
		name, _, _ := strings.Cut(c.Key, ":")
		list[name] = change{c.Reason, c.Steady.Before, c.Steady.After, fmt.Sprint(c.Warnings)}
	}
	return list
}
