package krunconfig

import (
	"os"
	"slices"
	"strings"
	"testing"

	"krund/internal/boot/doctor"
	"krund/internal/experiment/config"
	"krund/rig/must"
)

// study returns a configuration in the style of the study's.
func study(t testing.TB) string {
	return string(must.Get(os.ReadFile("testdata/study.krun"))(t))
}

func TestConvert(t *testing.T) {
	want := must.Get(os.ReadFile("testdata/study.toml"))(t)
	c, err := Convert(Program{Text: study(t)})
	must.Need(t, err == nil && c.TOML == string(want), "error", err, c.TOML)
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
	f.Add(study(f))
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
