package config_test

import (
	"slices"
	"testing"

	"krund/internal/boot/doctor"
	"krund/internal/experiment/config"
	"krund/internal/experiment/config/setting"
	"krund/rig/must"
)

const overrides = base + `
[machines."LAB*"]
experiment = { executions = 5 }
[machines."lab*".limits]
heap = "1GiB"
[machines."lab*".vms.C]
iterations = 9
[machines."lab*".vms.D]
runner = "c"
variants = ["v"]
[machines.lab1.experiment]
executions = 6
skip = ["b:D:v"]
[machines.lab1.controls]
turbo = "off"
[machines.other.vms.E]
runner = "c"
variants = ["v"]
`

func TestMachinesMergeInOrder(t *testing.T) {
	tests := []struct {
		hostname         string
		executions, iter int
		heap             int64
		turbo            setting.Policy
		keys             []string
	}{
		{"lab1", 6, 9, 1 << 30, setting.Off, []string{"b:C:v"}},
		{"Lab2", 5, 9, 1 << 30, setting.Require, []string{"b:C:v", "b:D:v"}},
		{"other", 30, 2000, 2 << 30, setting.Require, []string{"b:C:v", "b:E:v"}},
		{"", 30, 2000, 2 << 30, setting.Require, []string{"b:C:v"}},
	}
	for _, test := range tests {
		c := must.Get(config.Parse("/exp/x.toml", []byte(overrides), test.hostname, doctor.Settings()))(t)
		var keys []string
		for _, k := range c.Keys() {
			keys = append(keys, k.String())
		}
		must.Be(t, c.Experiment.Executions == test.executions && c.VMs[0].Iterations == test.iter &&
			c.Limits.Heap == test.heap && c.Control("turbo").Policy == test.turbo &&
			slices.Equal(keys, test.keys), test.hostname, c.Experiment, c.Limits, c.Control("turbo"), keys)
	}
}

func TestMachineProblems(t *testing.T) {
	tests := []struct {
		name, added, want string
	}{
		{"section of another machine", "[machines.other.limits]\nheep = 1\nheap = \"x\"",
			"9: unknown key limits.heep; did you mean \"heap\"?\n10: limits.heap is the string \"x\", " +
				"which is not a size; write a size, such as \"2GiB\", \"512MiB\" or \"none\""},
		{"section of this machine", "[machines.lab1.limits]\nheap = \"x\"",
			`9: limits.heap is the string "x", which is not a size; write a size, such as "2GiB", "512MiB" or "none"`},
		{"overridden mistake", "[limits]\nheap = \"x\"\n[machines.lab1.limits]\nheap = 1",
			`9: limits.heap is the string "x", which is not a size; write a size, such as "2GiB", "512MiB" or "none"`},
		{"part of a VM", "[machines.other.vms.C]\npath = \"x\"", ""},
		{"rest of a VM is missing", "[vms.D]\niterations = 3\n[machines.other.vms.D]\nrunner = " +
			"\"c\"\nvariants = [\"v\"]", "8: vms.D has no runner; write runner = \"c\", \"python\", " +
			"\"lua\", \"javascript\", \"java\", \"ruby\", \"php\", \"dotnet\", \"go\", \"command\" " +
			"or \"external\"\n8: vms.D has no " +
			"variants; name at least one of [variants], such as variants = [\"default-c\"]"},
		{"skip for another machine", "[experiment]\nskip = [\"b:D:v\"]\n[machines.other.vms.D]\nrunner = " +
			"\"c\"\nvariants = [\"v\"]", ""},
		{"skip for no machine", "[experiment]\nskip = [\"b:E:v\"]\n[machines.other.vms.D]\nrunner = " +
			"\"c\"\nvariants = [\"v\"]",
			`9: experiment.skip: "b:E:v" matches no key; correct its names or remove it`},
		{"bad pattern", "[machines.\"lab[\".limits]\nheap = 1",
			`8: machines."lab[" is not a glob pattern of hostnames; write one, such as [machines."lab*".limits]`},
		{"value", "[machines]\nlab1 = 3",
			`9: machines.lab1 is the integer 3; make it tables, such as [machines.lab1.limits]`},
		{"list", "[[machines]]\nlab1 = 3",
			`8: machines is a list; make it tables, such as [machines."lab*".limits]`},
		{"nested", "[machines.lab1.machines.lab1.limits]\nheap = 1",
			`8: machines.lab1 has machines of its own; move them out`},
		{"unknown section", "[machines.lab1.limit]\nheap = 1",
			`8: unknown key limit; did you mean "limits"?`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, got := parse(t, base+test.added)
			must.Equal(t, got, test.want)
		})
	}
}
