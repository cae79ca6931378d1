package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/boot/doctor"
	"krund/internal/experiment/config"
	"krund/rig/must"
)

// TestQuickPlansTheSame: the text of a quick run, which its directory keeps, plans what was run; it
// also overrides sections for machines and the iterations of VMs.
func TestQuickPlansTheSame(t *testing.T) {
	path := experiment(t, "[machines.\"lab*\".experiment]\nexecutions = 40\niterations = 5\n")
	text := must.Get(os.ReadFile(path))(t)
	slow := strings.Replace(string(text), "runner = \"c\"", "runner = \"c\"\niterations = 3000", 1)
	write(t, path, slow, 0o644)
	c := must.Get(config.Quick(path, "lab1", doctor.Settings()))(t)
	k := c.Keys()[0]
	must.Be(t, c.Experiment.Name == "x-quick" && c.Experiment.Executions == 2 && c.Iterations(k) == 20 &&
		c.Wait.Startup == 0 && c.Experiment.Reboot == config.RebootNone, c.Experiment, c.Iterations(k),
		"iterations")
	again, err := config.Parse(filepath.Join(filepath.Dir(path), "x-quick.toml"), []byte(c.Text), "lab1",
		doctor.Settings())
	must.Be(t, err == nil && again.Hash == c.Hash && again.Slots() == c.Slots() &&
		again.Experiment.Name == "x-quick", "the text plans something else", err)
}

// TestQuickPattern: the sections of a quick run come after all sections of the file, whatever their
// patterns are.
func TestQuickPattern(t *testing.T) {
	for _, added := range []string{
		"[machines.\"?*\".experiment]\nexecutions = 40\n",
		"[machines.'?*']\nexperiment = { executions = 40 }\n",
		"[machines]\n\"\\u003f*\".experiment.executions = 40\n'?**' = { experiment = { executions = 50 } }\n",
	} {
		c, err := config.Quick(experiment(t, added), "lab1", doctor.Settings())
		must.Be(t, err == nil && c.Experiment.Executions == config.QuickExecutions, added, err)
	}
}

// TestQuickExtendsAnInlineTable: so may be machines, as the first line.
func TestQuickExtendsAnInlineTable(t *testing.T) {
	path := experiment(t, "")
	text := must.Get(os.ReadFile(path))(t)
	write(t, path, "machines = { \"?*\" = { experiment = { executions = 40 } } }\n"+string(text), 0o644)
	c, err := config.Quick(path, "lab1", doctor.Settings())
	must.Be(t, err == nil && c.Experiment.Executions == config.QuickExecutions, err)
}
