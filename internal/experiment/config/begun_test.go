package config_test

import (
	"strings"
	"testing"

	"krund/internal/experiment/config"
	"krund/rig/must"
)

// begun is the configuration that an experiment was begun with.
const begun = `# first
[experiment]
executions = 4
iterations = 10

[limits]
heap = "1GiB"
timeout = "1m"

[vms.C]
runner = "c"
variants = ["v"]

[vms.D]
runner = "c"
variants = ["v"]
args = ["-x"]

[variants.v]
entry = "bench.so"

[variants.w]
entry = "w.so"

[benchmarks]
b = { parameter = 1 }
c = { parameter = 2, vms.C = { iterations = 5 } }

[arms.base]
[arms.new]
env = { X = "1" }

[kernel_log]
allow = ["ok"]

[machines.other.limits]
timeout = "5m"
`

// TestTheMeaningOfAConfiguration: an experiment goes on with a text that means the same, and the
// changes of one that does not are named.
func TestTheMeaningOfAConfiguration(t *testing.T) {
	replace := func(old, new string) string {
		must.Need(t, strings.Count(begun, old) == 1, old, "occurs", strings.Count(begun, old), "times")
		return strings.Replace(begun, old, new, 1)
	}
	move := func(part, before string) string {
		text := replace(part, "")
		return strings.Replace(text, before, part+before, 1)
	}
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"the same", begun, nil},
		{"a comment", begun + "# more\n", nil},
		{"another comment", replace("# first", "# second"), nil},
		{"Windows line endings", strings.ReplaceAll(begun, "\n", "\r\n"), nil},
		{"an empty line", replace("heap", "\n\nheap"), nil},
		{"another unit", replace(`"1m"`, `"60s"`), nil},
		{"a number of bytes", replace(`"1GiB"`, "1073741824"), nil},
		{"a default that is written", replace("executions = 4", "executions = 4\nattempts = 3"), nil},
		{"a policy that is written, with reboots", begun + "[controls]\nturbo = \"require\"\n", nil},
		{"empty lists", begun + "[notify]\nmail = []\n[hooks]\nbefore = []\n[stop]\nrules = []\n", nil},
		{"an empty section", begun + "[temperature]\n", nil},
		{"the order of keys of a section", replace("executions = 4\niterations = 10",
			"iterations = 10\nexecutions = 4"), nil},
		{"the order of sections", move("[kernel_log]\nallow = [\"ok\"]\n", "[experiment]"), nil},
		{"the order of variants", move("[variants.w]\nentry = \"w.so\"\n", "[variants.v]"), nil},
		{"another way to write a table", replace("env = { X = \"1\" }", "[arms.new.env]\nX = '1'"), nil},
		{"a section of another machine", replace(`"5m"`, `"7m"`), nil},
		{"a number", replace("iterations = 10", "iterations = 20"),
			[]string{"experiment.iterations was 10 and is 20 (line 4)"}},
		{"a key that is new", replace("iterations = 10", "iterations = 10\nseed = 5"),
			[]string{"experiment.seed is new: 5 (line 5)"}},
		{"a key that is gone", replace("timeout = \"1m\"\n", ""), []string{`limits.timeout was "1m" and is gone`}},
		{"a number of a benchmark", replace("parameter = 1", "parameter = 3"),
			[]string{"benchmarks.b.parameter was 1 and is 3 (line 26)"}},
		{"a benchmark that is new", replace("[arms.base]", "d = { parameter = 1 }\n[arms.base]"),
			[]string{"benchmarks.d is new: { parameter = 1 } (line 29)"}},
		{"a regular expression", replace(`"ok"`, `"fine"`),
			[]string{`kernel_log.allow was ["ok"] and is ["fine"] (line 34)`}},
		{"arguments", replace("args = [\"-x\"]", "args = []"),
			[]string{`vms.D.args was ["-x"] and is [] (line 17)`}},
		{"two changes", strings.ReplaceAll(replace("parameter = 1", "parameter = 3"), `"1GiB"`, `"2GiB"`),
			[]string{`limits.heap was "1GiB" and is "2GiB" (line 7)`,
				"benchmarks.b.parameter was 1 and is 3 (line 26)"}},
		{"a section of this machine", begun + "[machines.lab1.limits]\ntimeout = \"2m\"\n",
			[]string{`limits.timeout was "1m" and is "2m" (line 39)`}},
		{"the order of VMs", move("[vms.C]\nrunner = \"c\"\nvariants = [\"v\"]\n", "[variants.v]"),
			[]string{"the order of the keys was b:C:v@base, b:C:v@new, c:C:v@base, c:C:v@new, b:D:v@base, " +
				"b:D:v@new, c:D:v@base, c:D:v@new and is b:D:v@base, b:D:v@new, c:D:v@base, c:D:v@new, " +
				"b:C:v@base, b:C:v@new, c:C:v@base, c:C:v@new"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := mustParse(t, test.text)
			same, changes := must.Get2(now.AsBegun([]byte(begun)))(t)
			var got []string
			for _, c := range changes {
				got = append(got, c.String())
			}
			must.Equal(t, strings.Join(got, "\n"), strings.Join(test.want, "\n"), test.want)
			must.Be(t, (same == nil) == (len(test.want) > 0) && (same == nil || same.Text == begun &&
				same.Hash == mustParse(t, begun).Hash), "the configuration to go on with", same)
		})
	}
}

// TestTheMeaningInAnotherMode: without reboots, a wait and a policy that the file states count,
// even if they are the defaults.
func TestTheMeaningInAnotherMode(t *testing.T) {
	for added, want := range map[string]string{
		"[wait]\nstartup = \"3m\"\n":        `wait.startup is new: "3m"`,
		"[controls]\nturbo = \"require\"\n": `controls.turbo is new: "require"`,
	} {
		now := mustParse(t, begun+added)
		for mode, same := range map[string]bool{config.RebootHardware: true, config.RebootNone: false} {
			got, changes, err := now.WithReboot(mode).AsBegun([]byte(begun))
			must.Be(t, err == nil && (got != nil) == same && (got == nil || got.Experiment.Reboot == mode) &&
				(got != nil || strings.HasPrefix(changes[0].String(), want)), added, "with reboot", mode, got,
				changes, err)
		}
	}
}

// TestWhatCannotBeRead: a stored configuration that is none is an error, not another meaning.
func TestWhatCannotBeRead(t *testing.T) {
	_, _, err := mustParse(t, begun).AsBegun([]byte("x = ["))
	must.Be(t, err != nil, "no error")
}

// TestWhatAnExperimentCanGrowBy: more executions and further keys extend an experiment; what would
// change or take away what it plans is forbidden, and named.
func TestWhatAnExperimentCanGrowBy(t *testing.T) {
	replace := func(old, new string) string {
		must.Equal(t, strings.Count(begun, old), 1, "occurrences of", old)
		return strings.Replace(begun, old, new, 1)
	}
	for _, test := range []struct {
		name, text       string
		added, forbidden string // joined with "; "
	}{
		{"more executions", replace("executions = 4", "executions = 9"),
			"experiment.executions was 4 and is 9 (line 3)", ""},
		{"and a comment, and a default", replace("executions = 4", "executions = 9 # more\nattempts = 3"),
			"experiment.executions was 4 and is 9 (line 3)", ""},
		{"of one benchmark", replace("b = { parameter = 1 }", "b = { parameter = 1, executions = 5 }"),
			"benchmarks.b.executions is new: 5 (line 26)", ""},
		{"on this machine", begun + "[machines.lab1.experiment]\nexecutions = 6\n",
			"experiment.executions was 4 and is 6 (line 39)", ""},
		{"a benchmark", replace("[arms.base]", "d = { parameter = 1 }\n[arms.base]"),
			"benchmarks.d is new: { parameter = 1 } (line 29)", ""},
		{"a VM", replace("[variants.v]", "[vms.E]\nrunner = \"c\"\nvariants = [\"v\"]\n[variants.v]"),
			`vms.E is new: { runner = "c", variants = ["v"] } (line 19)`, ""},
		{"a variant", replace("variants = [\"v\"]\nargs", "variants = [\"w\", \"v\"]\nargs"),
			`vms.D.variants was ["v"] and is ["w", "v"] (line 16)`, ""},
		{"an arm", replace("[kernel_log]", "[arms.newer]\nenv = { X = \"2\" }\n[kernel_log]"),
			`arms.newer is new: { env = { X = "2" } } (line 33)`, ""},
		{"what is also forbidden", strings.Replace(replace("executions = 4", "executions = 9"), "1GiB",
			"2GiB", 1),
			"experiment.executions was 4 and is 9 (line 3)", `limits.heap was "1GiB" and is "2GiB" (line 7)`},
		{"fewer executions", replace("executions = 4", "executions = 3"), "",
			"experiment.executions was 4 and is 3 (line 3)"},
		{"fewer of one benchmark",
			replace("b = { parameter = 1 }", "b = { parameter = 1, executions = 3 }"),
			"", "benchmarks.b.executions is new: 3 (line 26)"},
		{"a key less", replace("executions = 4", "executions = 9\nskip = [\"c:*:*\"]"),
			"experiment.executions was 4 and is 9 (line 3)",
			`experiment.skip is new: ["c:*:*"] (line 4)`},
		{"a benchmark less", replace("c = { parameter = 2, vms.C = { iterations = 5 } }", ""), "",
			"benchmarks.c was { parameter = 2, vms = { C = { iterations = 5 } } } and is gone"},
		{"an arm before the first one", replace("[arms.base]", "[arms.zero]\n[arms.base]"),
			"arms.zero is new: {  } (line 29)", "the first arm was base and is zero"},
		{"other iterations", replace("executions = 4\niterations = 10", "executions = 5\niterations = 11"),
			"experiment.executions was 4 and is 5 (line 3)",
			"experiment.iterations was 10 and is 11 (line 4)"},
		{"another order", replace("executions = 4", "executions = 5\nseed = 7"),
			"experiment.executions was 4 and is 5 (line 3)", "experiment.seed is new: 7 (line 4)"},
		{"a comment", begun + "# more\n", "", "the order of the keys was "},
	} {
		t.Run(test.name, func(t *testing.T) {
			added, forbidden := must.Get2(mustParse(t, test.text).Extends([]byte(begun)))(t)
			text := func(list []string) string { return strings.Join(list, "; ") }
			var a, f []string
			for _, c := range added {
				a = append(a, c.String())
			}
			for _, c := range forbidden {
				f = append(f, c.String())
			}
			must.Equal(t, text(a), test.added, "added")
			must.Be(t, strings.HasPrefix(text(f), test.forbidden) && (len(f) > 0) == (test.forbidden != ""),
				"forbidden", text(f), "want", test.forbidden)
		})
	}
}

// TestArmsAtLast: keys of an experiment without arms have other names than those with arms.
func TestArmsAtLast(t *testing.T) {
	without := strings.Replace(begun, "[arms.base]\n[arms.new]\nenv = { X = \"1\" }\n", "", 1)
	_, forbidden := must.Get2(mustParse(t, begun).Extends([]byte(without)))(t)
	must.Be(t, len(forbidden) == 2 && strings.HasPrefix(forbidden[0].String(), "arms.base is new"), forbidden)
}
