package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/rig/must"
)

// two is a configuration with two VMs; tests add arms from line 13 on.
const two = `[vms.C]
runner = "c"
variants = ["v"]
[vms.Py]
runner = "python"
path = "python3"
args = ["-B"]
env = { A = "1", B = "2" }
variants = ["v"]
[variants]
v = { entry = "bench" }
[benchmarks]
b = { parameter = 1 }
`

func TestArmsReplaceParts(t *testing.T) {
	c := mustParse(t, two+`[arms.base]
env.A = "base"
[arms.new]
revision = "1a2b3c"
benchmarks = "new"
args = []
env.C = "3"
vms.Py = { path = "./py/bin/python3", env.B = "9" }
[arms.again]
null = true
`)
	at := func(name string) (config.VM, string) {
		k := must.Get(key.Parse(name))(t)
		vm, _, _, err := c.Lookup(k)
		must.Do(t, err)
		return vm, c.EntryPath(k)
	}
	for name, want := range map[string]struct {
		path  string
		args  []string
		env   []string
		entry string
	}{
		"b:Py:v@base":  {"python3", []string{"-B"}, []string{"A=base", "B=2"}, "/exp/benchmarks/b/bench"},
		"b:Py:v@again": {"python3", []string{"-B"}, []string{"A=base", "B=2"}, "/exp/benchmarks/b/bench"},
		"b:Py:v@new": {"/exp/py/bin/python3", nil, []string{"A=1", "B=9", "C=3"},
			"/exp/new/b/bench"},
		"b:C:v@new": {"", nil, []string{"C=3"}, "/exp/new/b/bench"},
	} {
		vm, entry := at(name)
		must.Be(t, vm.Path == want.path && slices.Equal(vm.Args, want.args) &&
			slices.Equal(vm.Env, want.env) && entry == want.entry, name, vm, entry, want)
	}
	must.Be(t, c.Experiment.Order == config.OrderBlocked && c.Arms[2].Null && c.Arms[1].Revision == "1a2b3c",
		"order", c.Experiment.Order, "arms", c.Arms)
	var names []string
	for _, k := range c.Keys() {
		names = append(names, k.String())
	}
	must.Equal(t, strings.Join(names, " "),
		"b:C:v@base b:C:v@new b:C:v@again "+"b:Py:v@base b:Py:v@new b:Py:v@again")
	for _, name := range []string{"b:C:v", "b:C:v@other"} {
		k := must.Get(key.Parse(name))(t)
		_, _, _, err := c.Lookup(k)
		must.Be(t, err != nil, name, "was found")
	}
}

func TestArmProblems(t *testing.T) {
	for _, test := range []struct{ name, added, want string }{
		{"one arm", "[arms.base]",
			`14: arms.base is the only arm, so it is compared with nothing; add another arm, or null = true in one, or remove it`},
		{"null base", "[arms.base]\nnull = true\n[arms.new]",
			`15: arms.base is the first arm, which is the base, and null; move it after the arm that it is a copy of`},
		{"inject", "[arms.base]\n[arms.n]\ninject = \"60%\"",
			`16: arms.n.inject is the string "60%"; write how much slower: "0.01%" to "50%"`},
		{"injected build", "[arms.base]\n[arms.n]\ninject = \"1%\"\nrevision = \"x\"",
			`17: arms.n has revision and is null; remove one: a null arm is a copy of the first arm`},
		{"null with a path", "[arms.base]\n[arms.n]\nnull = true\nargs = []",
			`17: arms.n has args and is null; remove one: a null arm is a copy of the first arm`},
		{"null with an empty table of VMs", "[arms.base]\n[arms.n]\nnull = true\nvms = {}",
			`17: arms.n has vms and is null; remove one: a null arm is a copy of the first arm`},
		{"order", "[arms.a]\n[arms.b]\n[experiment]\norder = \"interleaved\"",
			`17: experiment.order is "interleaved", and there are [arms]; remove it: arms are run in blocks, order = "blocked"`},
		{"blocks of nothing", "[experiment]\norder = \"blocked\"",
			`15: experiment.order is "blocked", and there are no [arms]; define them, or write "interleaved"`},
		{"null and instrumented", "[arms.base]\n[arms.n]\nnull = true\ninstrument = \"events\"",
			`17: arms.n has instrument and is null; remove one: a null arm is a copy of the first arm`},
		{"no such level", "[arms.a]\n[arms.b]\ninstrument = \"event\"",
			`16: arms.b.instrument is the string "event"; did you mean "events"?`},
		{"path for two VMs", "[arms.a]\n[arms.b]\npath = \"/x\"",
			`16: arms.b.path is for one VM, and there are 2; write arms.b.vms.NAME.path`},
		{"unknown VM", "[arms.a]\n[arms.b]\nvms.Pi.path = \"/x\"",
			`16: arms.b.vms.Pi: there is no such VM; did you mean "Py"?`},
		{"unknown key", "[arms.a]\n[arms.b]\nflags = []",
			`16: unknown key arms.b.flags; remove it`},
		{"unknown key of a VM", "[arms.a]\n[arms.b]\nvms.Py.iterations = 3",
			`16: unknown key arms.b.vms.Py.iterations`},
		{"mark in a name", "[arms.a]\n[arms.\"b@c\"]",
			`15: arms: the name "b@c" contains '@'; use letters, digits and _ - . + only`},
		{"dots as a name", "[arms.a]\n[arms.\"..\"]",
			`15: arms: the name ".." consists of dots only`},
		{"names that differ in case", "[arms.a]\n[arms.A]",
			`15: arms.A differs from arms.a (line 14) only in case; rename one of them`},
		{"krund's variable", "[arms.a]\n[arms.b]\nenv.KRUN_LIBRARY = \"x\"",
			`16: arms.b.env.KRUN_LIBRARY is set by krund itself`},
		{"line break in a directory", "[arms.a]\n[arms.b]\nbenchmarks = \"a\\nb\"",
			`16: arms.b.benchmarks is the string "a\nb"; remove the line breaks and control characters`},
		{"no table", "[arms]\na = 1", "15: arms.a is the integer 1; make it a table: [arms.a]"},
		{"skip of another arm", "[arms.a]\n[arms.b]\n[experiment]\nskip = [\"*:*:*@c\"]",
			`17: experiment.skip: "*:*:*@c" matches no key; correct its names or remove it`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, got := parse(t, two+test.added)
			must.Contain(t, got, test.want)
		})
	}
}

// TestArmsOfMachines: a machine can override an arm, add one, and use a VM of its own.
func TestArmsOfMachines(t *testing.T) {
	c := mustParse(t, two+`[arms.base]
[arms.new]
vms.Py.path = "/opt/new/python3"
[machines."lab*".arms.new.vms.Py]
path = "/lab/python3"
[machines."lab*".arms.third]
env.X = "1"
[machines.other.vms.Lua]
runner = "lua"
path = "lua"
variants = ["v"]
[machines.other.arms.new.vms.Lua]
args = ["-j", "off"]
`)
	vm, _, _, err := c.Lookup(key.Key{Benchmark: "b", VM: "Py", Variant: "v", Arm: "new"})
	must.Be(t, err == nil && vm.Path == "/lab/python3" && len(c.Arms) == 3 && c.Arms[2].Name == "third", err,
		vm, c.Arms)
}

// TestInstrument: an arm's level, or that of one VM in it, replaces the VM's; a null arm has the
// base's; and a VM without a runner in its process cannot be instrumented.
func TestInstrument(t *testing.T) {
	text := strings.Replace(two, "path = \"python3\"", "path = \"python3\"\ninstrument = \"events\"", 1) + `[arms.base]
[arms.columns]
instrument = "columns"
[arms.off]
instrument = "columns"
vms.Py.instrument = "off"
[arms.again]
null = true
`
	c := mustParse(t, text)
	for name, want := range map[string]string{
		"b:C:v@base": "", "b:Py:v@base": config.InstrumentEvents, "b:Py:v@again": config.InstrumentEvents,
		"b:C:v@columns": config.InstrumentColumns, "b:Py:v@columns": config.InstrumentColumns,
		"b:C:v@off": config.InstrumentColumns, "b:Py:v@off": "",
	} {
		k := must.Get(key.Parse(name))(t)
		vm, _, _, err := c.Lookup(k)
		must.Be(t, err == nil && vm.Instrument == want, name, vm.Instrument, err, "want", want)
	}
	text = strings.Replace(text, `runner = "c"`, "runner = \"command\"\nargs = [\"true\"]", 1)
	_, got := parse(t, text)
	must.Contain(t, got,
		`18: vms.C is to be instrumented, and its runner is "command", which has no part of krund`)
}

// TestManyArms: each combination is a key, and skipping one arm leaves the others.
func TestManyArms(t *testing.T) {
	text := two + "[experiment]\nskip = [\"*:C:*@a3\", \"*:Py:*\"]\n"
	for _, letter := range "abcdefghijklmnopqrst" {
		text += "[arms." + string(letter) + "3]\n"
	}
	c := mustParse(t, text)
	must.Be(t, len(c.Arms) == 20 && len(c.Keys()) == 19 && c.Keys()[0].Arm == "b3", len(c.Arms), "arms, keys",
		c.Keys())
}

// TestAnchor: the anchor is the last arm and has the keys that it lists, or some of all; what would
// make it useless is refused.
func TestAnchor(t *testing.T) {
	const anchor = "[arms.new]\n[anchor]\nbenchmarks = \"frozen\"\n"
	c := mustParse(t, two+anchor+"keys = [\"b:Py:*\"]\n")
	must.Equal(t, fmt.Sprint(c.Keys()), "[b:C:v@new b:Py:v@new b:Py:v@anchor]")
	must.Be(t, c.Arms[1].Anchor && c.Experiment.Order == config.OrderBlocked, c.Arms)
	more := two
	for i := range 8 {
		more += fmt.Sprintf("b%d = { parameter = 1 }\n", i)
	}
	c = mustParse(t, more+anchor)
	n := 0
	for _, k := range c.Keys() {
		if k.Arm == config.AnchorArm {
			n++
		}
	}
	must.Equal(t, n, 16, "of 18 keys")
	for text, want := range map[string]string{
		"[anchor]\nbenchmarks = \"frozen\"":      "there are no [arms]",
		"[arms.new]\n[anchor]\n":                 "no build of its own",
		anchor + "keys = [\"b:Lua:v\"]":          "matches no key",
		anchor + "[arms.anchor]":                 "another name",
		anchor + "[stop]\nrules = [\"verdict\"]": "same number of executions",
	} {
		_, problems := parse(t, two+text)
		must.Be(t, strings.Contains(problems, want), text, problems)
	}
}
