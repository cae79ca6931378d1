package krunconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/internal/boot/doctor"
	"krund/internal/experiment/config"
	"krund/internal/experiment/fixtures"
	"krund/rig/must"
)

// fixture is a configuration of Krun's repository or of the study's experiment, and what a person
// is told about it: the beginnings of the sentences, besides those that every file has.
type fixture struct {
	name string
	left []string
}

var fixtureFiles = []fixture{
	{"examples/example.krun", []string{"EXECUTION_TIMEOUT", "AMPERF_RATIO_BOUNDS: in Krun a bad ratio"}},
	{"examples/java.krun", []string{"EXECUTION_TIMEOUT", "AMPERF_RATIO_BOUNDS: in Krun a bad ratio"}},
	{"examples/travis.krun", []string{"EXECUTION_TIMEOUT", "AMPERF_RATIO_BOUNDS: in Krun a bad ratio"}},
	{"examples/ext.krun", nil},
	{"tests/custom_dmesg_whitelist0001.krun", nil},
	{"tests/custom_dmesg_whitelist0002.krun", []string{
		"line 23: custom_dmesg_whitelist leaves out Krun's own patterns"}},
	{"tests/env.krun", []string{"VMS: env of CPython, PyPy: "}},
	{"tests/example.krun", nil},
	{"tests/example_all_skip.krun", nil},
	{"tests/example_skip_1vm.krun", nil},
	{"tests/more_complicated.krun", []string{
		"VMS: V8: V8VMDef cannot load libkrun",
		"VMS: Graal: its vm_def is unknown",
		"VMS: Graal: its program is unknown",
		"VMS: TruffleRuby: its program is unknown",
		"VMS: TruffleRuby: truffleruby_dir, graal_home, mx_dir, jvmci_home of TruffleRubyVMDef"}},
	{"tests/one_exec.krun", []string{"VMS: CPython: its program is unknown; write it as path: " +
		"sys.executable has no known value (line 13)"}},
	{"tests/quick.krun", nil},
	{"tests/skips.krun", []string{`SKIP: no key has the names of "*:PyPy:*", "*:Hotspot:*", "*:Graal:*", ` +
		`"*:LuaJIT:*", "*:HHVM:*", "*:TruffleRuby:*", "*:V8:*": left out`}},
	{"tests/space_in_benchmark_name.krun", []string{
		`BENCHMARKS: "dummy benchmark" is written as "dummy-benchmark"`}},
	{"tests/space_in_variant_name.krun", []string{
		`VARIANTS: "default-python 123" is written as "default-python-123"`,
		`VMS: CPython: "default-python 123" is written as "default-python-123"`}},
	{"tests/space_in_vm_name.krun", []string{`VMS: "C Python" is written as "C-Python"`}},
	{"warmup_experiment/warmup.krun", []string{
		`line 29: the name of the machine is taken as "lab1"`,
		`line 33: sys.platform is taken as "linux2"`,
		`line 161, AMPERF_BUSY_THRESHOLD: key "lab1" not in dict`,
		"VMS: V8: V8VMDef cannot load libkrun",
		"VMS: Graal: further arguments of GraalVMDef",
		"VMS: Graal: java_home of GraalVMDef",
		"VMS: TruffleRuby: its program is unknown",
		"VMS: TruffleRuby: truffleruby_dir, graal_home, mx_dir, jvmci_home of TruffleRubyVMDef",
		"VMS: env of C, PyPy, HotSpot, LuaJIT, V8, CPython, Graal, HHVM, TruffleRuby: ",
		"PRE_EXECUTION_CMDS, POST_EXECUTION_CMDS: ",
		"AMPERF_RATIO_BOUNDS: in Krun a bad ratio"}},
	{"warmup_experiment/idle.krun", []string{
		`warmup.krun, line 29: the name of the machine is taken as "lab1"`,
		`warmup.krun, line 33: sys.platform is taken as "linux2"`,
		`warmup.krun, line 161, AMPERF_BUSY_THRESHOLD: key "lab1" not in dict`,
		`SKIP: no key has the names of "*:CPython:*", "richards:HHVM:default-php"`,
		"VMS: env of C: ",
		"PRE_EXECUTION_CMDS, POST_EXECUTION_CMDS: ",
		"AMPERF_RATIO_BOUNDS: in Krun a bad ratio"}},
}

// TestFixtures: all configurations of Krun's repository and of the study convert to what krund
// reads, or what has no counterpart is named.
func TestFixtures(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range fixtureFiles {
		seen[f.name] = true
		t.Run(f.name, func(t *testing.T) {
			c, err := Convert(load(t, fixtures.Path(t, "krun", f.name)))
			must.Need(t, err == nil, err)
			left := slices.DeleteFunc(c.Left, func(s string) bool {
				return strings.HasSuffix(s, ": JKRUNTIME_DIR has no counterpart")
			})
			must.Equal(t, len(left), len(f.left), "sentences instead of")
			for i, s := range left {
				must.Be(t, i >= len(f.left) || strings.HasPrefix(s, f.left[i]), s, "instead of", f.left[i])
			}
			_, err = config.Parse("/x/x.toml", []byte(c.TOML), "lab1", doctor.Settings())
			if all := strings.HasSuffix(f.name, "all_skip.krun"); all != (err != nil) ||
				all && !strings.Contains(err.Error(), "the skip patterns leave nothing") {
				t.Errorf("%v\n%s", err, c.TOML)
			}
		})
	}
	for _, path := range fixtures.Glob(t, "krun", "*", "*.krun") {
		name := filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path))
		must.Be(t, seen[name] || name == "tests/corrupt.krun", name, "is not in the table")
	}
	_, err := Convert(load(t, fixtures.Path(t, "krun/tests/corrupt.krun")))
	must.Be(t, err != nil && err.Error() == "line 6: [ is not closed", "corrupt.krun", err)
}

func load(t *testing.T, path string) Program {
	t.Helper()
	read := func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(filepath.Dir(path), name)) }
	data := must.Get(read(filepath.Base(path)))(t)
	return Program{Text: string(data), Dir: filepath.Dir(path), Host: "lab1", Platform: "linux2", Read: read}
}

// TestStudy: the study's file in what the statements of its branches, functions and formats make.
func TestStudy(t *testing.T) {
	p := load(t, fixtures.Path(t, "krun/warmup_experiment/warmup.krun"))
	p.Dir, p.Host = "/study", "bencher7.soft-dev.org"
	linux := must.Get(Convert(p))(t)
	p.Platform = "openbsd6"
	openbsd := must.Get(Convert(p))(t)
	for _, part := range []string{
		`env = { "LD_LIBRARY_PATH" = "/study/work/gcc-inst/lib64" }`,
		`path = "work/openjdk/build/linux-x86_64-normal-server-release/images/j2sdk-image/bin/java"`,
		"[vms.TruffleRuby]", "busy_threshold = 3500000\n", "ratio_tolerance = 0.005\n",
		`ping -q -c 10 bencher8.soft-dev.org || break; done"`, `["systemctl", "stop", "cron"],`,
		`'cat > research/krun_results//bencher7.tgz' || ( sleep 2; tar czf - `,
		`ls research/krun_results/bencher7.stop 2> /dev/null | grep research/krun_results/bencher7.stop; `,
	} {
		must.Contain(t, linux.TOML, part)
	}
	for _, part := range []string{"bsd-x86_64-normal-server-release", `"/study/work/gcc-inst/lib" }`,
		`["/etc/rc.d/ntpd", "stop"],`} {
		must.Contain(t, openbsd.TOML, part)
	}
	for _, part := range []string{"TruffleRuby", "[verdict]", "systemctl"} {
		must.Be(t, !strings.Contains(strings.Split(openbsd.TOML, "[vms.C]")[1], part), part, "on OpenBSD",
			openbsd.TOML)
	}
}

// TestConstructs evaluates what configurations are made of: testdata/constructs.txt has a name, a
// program that assigns to X, and what X is, or what is noted if that begins with "line".
func TestConstructs(t *testing.T) {
	text := string(must.Get(os.ReadFile("testdata/constructs.txt"))(t))
	text += "### bytes that are no text\n# \ufeff\r\nX = 'é'\r\n\n=> \"é\"\n"
	for part := range strings.SplitSeq(strings.TrimPrefix(text, "### "), "\n### ") {
		name, program, _ := strings.Cut(part, "\n")
		program, want, found := strings.Cut(program, "\n=> ")
		must.Need(t, found, name, "has no =>")
		want = strings.TrimSpace(want)
		e, err := evaluate(Program{Text: program, Dir: "/dir", Host: "lab1.org", Platform: "linux2"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := fmt.Sprint(e.globals["X"])
		if strings.HasPrefix(want, "line ") {
			got = strings.Join(e.left, "\n")
		}
		must.Be(t, (strings.HasPrefix(want, "line ") || got == want) && strings.Contains(got, want),
			name, got, "instead of", want, e.left)
	}
}

// TestExecfile: a program runs the files below its directory, as often and as deep as is allowed.
func TestExecfile(t *testing.T) {
	files := map[string]string{"a.krun": "A = 1\nB = C\n", "d/b.krun": "execfile('a.krun')\nX = A + 1\n",
		"self.krun": "execfile('self.krun')\n", "bad.krun": "A = [\n", "loop.krun": "while 1: pass"}
	for program, want := range map[string]string{
		"execfile('a.krun', globals())\nX = A":                "1",
		"A = 5\nexecfile('d/./b.krun')":                       "2",
		"import os\nexecfile(os.getcwd() + '/a.krun')\nX = A": "1",
		"execfile('a.krun')":                                  "a.krun, line 2, B: C has no value",
		"execfile('none.krun')":                               "line 1: file does not exist",
		"execfile('bad.krun')":                                "line 1: line 1: [ is not closed",
		"execfile('../a.krun')":                               "line 1: ../a.krun is not below the directory",
		"execfile('d/../../a.krun')":                          "line 1: ../a.krun is not below the directory",
		"execfile('/etc/passwd')":                             "/etc/passwd is not below the directory",
		"execfile('..')":                                      "line 1: .. is not below the directory",
		"execfile(os.name)":                                   "line 1: the file is os.name",
		"\nexecfile('self.krun')":                             "self.krun, line 1: execfile runs",
		"execfile('loop.krun')":                               "loop.krun, line 1: it takes more than",
	} {
		e, err := evaluate(Program{Text: program, Dir: "/dir", Read: func(name string) ([]byte, error) {
			if text, ok := files[name]; ok {
				return []byte(text), nil
			}
			return nil, os.ErrNotExist
		}})
		got := fmt.Sprint(e.globals["X"]) + "\n" + strings.Join(e.left, "\n")
		if err != nil {
			got = err.Error()
		}
		must.Contain(t, got, want, program)
	}
}

// TestRefuses: what is not Python, or takes too many steps, is refused with its line. What takes
// too much memory or time ends its process: see krunctl's tests.
func TestRefuses(t *testing.T) {
	for program, want := range map[string]string{
		"N_EXECUTIONS = 3\n":                   "there is no VMS",
		"VMS = 'x":                             "line 1: a text has no end",
		"VMS = '''x":                           "line 1: a text has no end",
		"\nVMS = (]":                           "line 2: ] closes no bracket",
		"VMS = )":                              "line 1: ) closes no bracket",
		"\x00":                                 "not UTF-8",
		"\xff":                                 "not UTF-8",
		"  x = 1":                              "line 1: got indent",
		"if 1:\n  x = 1\n    y = 1":            "line 3: got indent",
		"if 1:\nx = 1":                         "line 2: got identifier, want indent",
		strings.Repeat("#\n", maxText):         "more than 1048576 bytes",
		strings.Repeat("class A: pass\n", 101): "more than 100 lines have no counterpart",
		"while True: pass":                     "line 1: it takes more than 262144 steps",
		"x = []\nwhile True:\n  x.append({})":  "line 2: it takes more than 262144 steps",
		"def f(a): return f(a + 1)\nf(0)":      "line 1: function f called recursively",
		"x = 'a' * 9999999999999":              "line 1, x: repeat count 9999999999999 too large",
		"x = ['a'] * 99999 * 99999":            "line 1, x: excessive repeat",
	} {
		c, err := Convert(Program{Text: program})
		must.Refuse(t, err, want, program, len(c.TOML), "bytes")
	}
}
