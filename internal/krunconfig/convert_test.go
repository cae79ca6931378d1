package krunconfig

import (
	"slices"
	"strings"
	"testing"

	"krund/internal/config"
	"krund/internal/doctor"
)

// study is a configuration in the style of the study's.
const study = `import os
from krun.vm_defs import (PythonVMDef, NativeCodeVMDef,
    JavaVMDef)
from krun import EntryPoint

DIR = os.getcwd()
JDK = os.path.join(DIR, "work/openjdk")

"""comment"""
def custom_dmesg_whitelist(defaults):
    return defaults + ["^.*irq.*$"]

# Who gets mail
MAIL_TO = ["me@example.org"]
HEAP_LIMIT = 2 * 1024 * 1024  # KiB
STACK_LIMIT = 8192
ITERATIONS_ALL_VMS = 2000

VARIANTS = {
    "default-c": EntryPoint("bench.so", subdir="c"),
    "default-python": EntryPoint("bench.py", subdir="python"),
    'default-java': EntryPoint("KrunEntry", subdir="java"),
}

VMS = {
    "C": {"vm_def": NativeCodeVMDef(), "variants": ["default-c"], "n_iterations": ITERATIONS_ALL_VMS},
    "CPython": {
        "vm_def": PythonVMDef("/usr/bin/python2.7", env={"LD_LIBRARY_PATH": "/x"}),
        "variants": ["default-python"],
        "n_iterations": 500,
    },
    "Hotspot": {"vm_def": JavaVMDef(os.path.join(JDK, "bin/java")), "variants": ["default-java"]},
}

BENCHMARKS = {'binary_trees': 25000, "nbody": 15,}
SKIP = ["nbody:CPython:*"] + [
    # slow
    "binary_trees:CPython:*"]
N_EXECUTIONS = 30
PRE_EXECUTION_CMDS = ["sudo systemctl stop cron"]
POST_EXECUTION_CMDS = ["sudo systemctl start cron || true", "echo $X > /tmp/y"]
if os.uname()[1] == "bencher5":
    N_EXECUTIONS = 10
`

const converted = `# converted from a configuration of Krun

[experiment]
executions = 30
iterations = 2000
skip = ["nbody:CPython:*", "binary_trees:CPython:*"]

[limits]
heap = "2GiB"
stack = "8MiB"

[vms.C]
runner = "c"
variants = ["default-c"]
iterations = 2000

[vms.CPython]
runner = "python"
path = "/usr/bin/python2.7"
env = { "LD_LIBRARY_PATH" = "/x" }
variants = ["default-python"]
iterations = 500

[vms.Hotspot]
runner = "java"
path = "work/openjdk/bin/java"
variants = ["default-java"]

[variants.default-c]
entry = "bench.so"
subfolder = "c"

[variants.default-python]
entry = "bench.py"
subfolder = "python"

[variants.default-java]
entry = "KrunEntry.class"
subfolder = "java"

[benchmarks]
binary_trees = { parameter = 25000 }
nbody = { parameter = 15 }

[hooks]
before = [
  ["systemctl", "stop", "cron"],
]
after = [
  ["systemctl", "start", "cron"],
  ["/bin/sh", "-c", "echo $X > /tmp/y"],
]

[notify]
mail = ["me@example.org"]
`

func TestConvert(t *testing.T) {
	c, err := Convert(study)
	if err != nil || c.TOML != converted {
		t.Fatalf("error %v\n%s", err, c.TOML)
	}
	if _, err := config.Parse("/x/x.toml", []byte(c.TOML), "lab1", doctor.Settings()); err != nil {
		t.Error(err)
	}
	for _, part := range []string{"line 10 is not an assignment: def custom_dmesg_whitelist",
		"line 42 is not an assignment: if os . uname", "N_EXECUTIONS = 10", "KRUN_MANIFEST_FILE",
		"krund sets exactly these"} {
		if !slices.ContainsFunc(c.Left, func(s string) bool { return strings.Contains(s, part) }) {
			t.Errorf("%q is not in\n%s", part, strings.Join(c.Left, "\n"))
		}
	}
}

func TestRefuses(t *testing.T) {
	for program, want := range map[string]string{
		"N_EXECUTIONS = 3\n":                 "there is no VMS",
		"VMS = 'x":                           "line 1: a text has no end",
		"VMS = " + strings.Repeat("(", 1000): "nested too deep",
		"\x00":                               "not UTF-8",
		strings.Repeat("#\n", MaxText):       "more than",
		"X = 'ab'\n" + strings.Repeat("X = X + X\n", 40) + "VMS = X": "it is not made of literals",
	} {
		c, err := Convert(program)
		text := strings.Join(c.Left, "\n")
		if err != nil {
			text += err.Error()
		}
		if !strings.Contains(text, want) {
			t.Errorf("%.20q: %.200s, want %q", program, text, want)
		}
	}
}

// FuzzConvert: whatever the program is, the result is one that krund parses, or names its mistakes,
// and the work is bounded.
func FuzzConvert(f *testing.F) {
	f.Add(study)
	f.Add("VMS = {'a': {'vm_def': X(1, b=[{}]), 'variants': ('v',)}}\nBENCHMARKS = {'b': -2**3}\n")
	f.Add("VMS={}\nVARIANTS={'\\u0000': None}\nA = -(((1))) + 0x10 - 1.5e3\nB = r'\\n' \"\"\"x\ny\"\"\"\n")
	f.Fuzz(func(t *testing.T, program string) {
		c, err := Convert(program)
		if err != nil {
			return
		}
		if len(c.TOML) > 20*len(program)+maxMade {
			t.Errorf("%d bytes of %d", len(c.TOML), len(program))
		}
		_, err = config.Parse("/x/x.toml", []byte(c.TOML), "lab1", nil)
		if err != nil && strings.Contains(err.Error(), "toml: ") {
			t.Errorf("%v\n%s", err, c.TOML)
		}
	})
}
