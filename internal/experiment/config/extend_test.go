package config_test

import (
	"strings"
	"testing"

	"krund/rig/must"
)

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
