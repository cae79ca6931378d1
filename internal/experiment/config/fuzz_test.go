package config_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"krund/internal/boot/doctor"
	"krund/internal/experiment/config"
	"krund/rig/must"
)

// FuzzParse checks that no text makes Parse panic, that every problem has a
// line of the text and both its parts, and that what is accepted is whole.
func FuzzParse(f *testing.F) {
	mistakes := must.Get(os.ReadFile("testdata/mistakes.toml"))(f)
	for _, text := range []string{base, full, overrides, string(mistakes), "", "\uFEFF# \r\n",
		"[machines.lab1]\nvms = {}", "vms.C.env.'' = 1", two + "[arms.a]\nenv.X = \"1\"\n" +
			"[arms.b]\nvms.Py.path = \"x\"\n[arms.c]\nnull = true\n",
		base + "[arms]\na = { vms = { C = { args = [1] } } }"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := config.Parse("x.toml", []byte(text), "lab1", doctor.Settings())
		if err == nil {
			checkWhole(t, c)
			return
		}
		var found config.Errors
		must.Need(t, errors.As(err, &found) && c == nil, "config", c, "error", err)
		for i, p := range found {
			must.Be(t, p.Line >= 1 && p.Line <= strings.Count(text, "\n")+1 && p.What != "" && p.Fix != "",
				"problem", p)
			if i > 0 && found[i-1].Line > p.Line {
				t.Errorf("line %d is reported after %d", p.Line, found[i-1].Line)
			}
			if strings.Contains(p.Error(), "\n") {
				t.Errorf("more than a line: %q", p.Error())
			}
		}
	})
}

func checkWhole(t *testing.T, c *config.Config) {
	t.Helper()
	keys := c.Keys()
	if len(keys) == 0 || c.Slots() < len(keys) || c.Experiment.MaxReboots < 1 {
		t.Errorf("%d keys, %d slots, %d reboots", len(keys), c.Slots(), c.Experiment.MaxReboots)
	}
	blocked := c.Experiment.Order == config.OrderBlocked
	must.Be(t, blocked == (len(c.Arms) > 0) && len(c.Arms) != 1 && (!blocked || !c.Arms[0].Null), "order",
		c.Experiment.Order, "arms", c.Arms)
	for _, k := range keys {
		vm, _, _, err := c.Lookup(k)
		if err != nil || c.Iterations(k) < 1 || vm.Runner == "" || vm.NeedsEntry() &&
			c.EntryPath(k) == "" {
			t.Errorf("%s: %+v, %v", k, vm, err)
		}
	}
}
