package krunconfig

import (
	"slices"
	"strings"
	"testing"

	"krund/internal/boot/doctor"
	"krund/internal/experiment/config"
	"krund/rig/must"
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

[kernel_log]
allow = ["^.*irq.*$"]

[notify]
mail = ["me@example.org"]
`

func TestConvert(t *testing.T) {
	c, err := Convert(Program{Text: study})
	must.Need(t, err == nil && c.TOML == converted, "error", err, c.TOML)
	must.Get(config.Parse("/x/x.toml", []byte(c.TOML), "lab1", doctor.Settings()))(t)
	for _, part := range []string{"line 42: os.uname()[1] has no known value",
		"line 42: the branches of this condition, to line 43, are left out", "KRUN_MANIFEST_FILE",
		"env of CPython: Krun added the values to its own; krund sets exactly these"} {
		if !slices.ContainsFunc(c.Left, func(s string) bool { return strings.Contains(s, part) }) {
			t.Errorf("%q is not in\n%s", part, strings.Join(c.Left, "\n"))
		}
	}
}

// FuzzConvert: whatever the program is, the result is one that krund parses, or names its mistakes,
// and the work is bounded.
func FuzzConvert(f *testing.F) {
	f.Add(study)
	f.Add("VMS = {'a': {'vm_def': X(1, b=[{}]), 'variants': ('v',)}}\nBENCHMARKS = {'b': -2**3}\n")
	f.Add("VMS={}\nVARIANTS={'\\u0000': None}\nA = -(((1))) + 0x10 - 1.5e3\nB = r'\\n' \"\"\"x\ny\"\"\"\n")
	f.Add("if os.x: del A[0]\nelse:\n  for i in [1]: VMS = {str(i) * 9: {'variants': ['%s' % i]}}\n")
	f.Add("def f(x, *y, **z):\n  raise X\nwhile f(1): execfile('x')\nfrom a.b import (c, d as e)\n")
	f.Fuzz(func(t *testing.T, program string) {
		c, err := Convert(Program{Text: program})
		if err != nil {
			return
		}
		must.Be(t, len(c.TOML) <= 20*len(program)+maxOutput, len(c.TOML), "bytes of", len(program))
		_, err = config.Parse("/x/x.toml", []byte(c.TOML), "lab1", nil)
		must.Be(t, err == nil || !strings.Contains(err.Error(), "toml: "), err, c.TOML)
	})
}
