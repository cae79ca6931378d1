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
			must.Be(t, i <= 0 || found[i-1].Line <= p.Line, "line", p.Line, "is reported after",
				found[max(i-1, 0)].Line)
			must.Be(t, !strings.Contains(p.Error(), "\n"), "more than a line", p.Error())
		}
	})
}

func checkWhole(t *testing.T, c *config.Config) {
	t.Helper()
	keys := c.Keys()
	must.Be(t, len(keys) != 0 && c.Slots() >= len(keys) && c.Experiment.MaxReboots >= 1, len(keys), "keys",
		c.Slots(), "slots", c.Experiment.MaxReboots, "reboots")
	blocked := c.Experiment.Order == config.OrderBlocked
	must.Be(t, blocked == (len(c.Arms) > 0) && len(c.Arms) != 1 && (!blocked || !c.Arms[0].Null), "order",
		c.Experiment.Order, "arms", c.Arms)
	for _, k := range keys {
		vm, _, _, err := c.Lookup(k)
		must.Be(t, err == nil && c.Iterations(k) >= 1 && vm.Runner != "" && (!vm.NeedsEntry() ||
			c.EntryPath(k) != ""), k, vm, err)
	}
}
