package config_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"krund/internal/boot/doctor"
	"krund/internal/experiment/config"
	"krund/rig/must"
)

// base is a valid configuration of seven lines: tests add line 8.
const base = `[vms.C]
runner = "c"
variants = ["v"]
[variants.v]
entry = "bench.so"
[benchmarks]
b = { parameter = 1 }
`

// parse parses text as x.toml on the machine "lab1" and returns the problems
// as "line: what; what to do".
func parse(t *testing.T, text string) (*config.Config, string) {
	t.Helper()
	c, err := config.Parse("/exp/x.toml", []byte(text), "lab1", doctor.Settings())
	if err == nil {
		return c, ""
	}
	var found config.Errors
	must.Need(t, c == nil && errors.As(err, &found) && len(found) != 0, "config", c,
		"beside an error that is not Errors", err)
	return nil, strings.ReplaceAll(err.Error(), "/exp/x.toml:", "")
}

func mustParse(t *testing.T, text string) *config.Config {
	t.Helper()
	c, problems := parse(t, text)
	must.Need(t, problems == "", "unexpected problems", problems)
	return c
}

func TestParseProblems(t *testing.T) {
	tests := []struct {
		name, added, want string
	}{
		// Keys and their types.
		{"unknown key", "[experiment]\niteration = 5",
			`9: unknown key experiment.iteration; did you mean "iterations"?`},
		{"unknown key, nothing near", "[experiment]\nfoo = 5",
			`9: unknown key experiment.foo; remove it, or see docs/config.md for the keys there are`},
		{"unknown key, few to choose", "[wait]\nfoo = 5",
			`9: unknown key wait.foo; write "startup", "settle" or "sync"`},
		{"unknown section", "[limit]\nheap = 1", `8: unknown key limit; did you mean "limits"?`},
		{"unknown quoted key", "[wait]\n\"sy nc\" = 5", `9: unknown key wait."sy nc"; did you mean "sync"?`},
		{"key of another case", "[experiment]\nIterations = 5",
			`9: unknown key experiment.Iterations; did you mean "iterations"?`},
		{"string for a number", "[experiment]\nexecutions = \"30\"",
			`9: experiment.executions is the string "30"; write a whole number without quotes, such as 30`},
		{"fraction for a whole number", "[experiment]\nexecutions = 1.5",
			`9: experiment.executions is the number 1.5; write a whole number without quotes, such as 30`},
		{"number for a string", "[experiment]\nname = 5",
			`9: experiment.name is the integer 5; write a string, such as "text"`},
		{"date for a string", "[experiment]\ndescription = 2026-01-01",
			`9: experiment.description is a date or time; write a string, such as "text"`},
		{"table for a string", "[experiment.name]\na = 1",
			`8: experiment.name is a table; write a string, such as "text"`},
		{"string for a list", "[experiment]\nskip = \"*:*:*\"",
			`9: experiment.skip is the string "*:*:*"; write a list of strings, such as ["one", "two"]`},
		{"number in a list", "[notify]\nmail = [\n\"a@b\",\n3]",
			`11: notify.mail[1] is the integer 3; write a string, such as "text"`},
		{"array of tables", "[[limits]]\nheap = 1", `8: limits is a list; make it a table: [limits]`},
		{"bad choice", "[experiment]\norder = \"interleave\"",
			`9: experiment.order is the string "interleave"; did you mean "interleaved"?`},
		{"bad choice, nothing near", "[experiment]\nreboot = true",
			`9: experiment.reboot is the boolean true; write "hardware", "kexec", "soft" or "none"`},
		{"line break in a path", "[experiment]\nbenchmarks = \"a\\nb\"",
			`9: experiment.benchmarks is the string "a\nb"; remove the line breaks and control characters`},
		{"empty path", "[experiment]\nbenchmarks = \"\"",
			`9: experiment.benchmarks is the string ""; write a text that is not empty, or remove the key`},

		// Ranges.
		{"no iterations", "[experiment]\niterations = 0",
			`9: experiment.iterations is the integer 0; write a number from 1 to 16777216`},
		{"negative executions", "[experiment]\nexecutions = -1",
			`9: experiment.executions is the integer -1; write a number from 1 to 1000000`},
		{"no attempts", "[experiment]\nattempts = 0",
			`9: experiment.attempts is the integer 0; write a number from 1 to 100`},
		{"relinked without a layout", "[experiment]\nrelink = [\"./x\"]",
			`9: experiment.relink needs a layout, from which it gets its seed; write layout = "random"`},
		{"relinked by a shell", "[experiment]\nlayout = \"random\"\nrelink = \"./x -y\"",
			`10: experiment.relink is the string "./x -y"; write a list of strings, such as ["program", "argument"]`},
		{"negative seed", "[experiment]\nseed = -1",
			`9: experiment.seed is the integer -1; write a number from 0 to 9223372036854775807`},
		{"no tolerance", "[temperature]\ntolerance = 0",
			`9: temperature.tolerance is the integer 0; write degrees Celsius above 0, at most 100`},
		{"NaN", "[temperature]\ntolerance = nan",
			`9: temperature.tolerance is the number NaN; write degrees Celsius above 0, at most 100`},
		{"ratio of a percentage", "[verdict]\nratio_tolerance = 3",
			`9: verdict.ratio_tolerance is the integer 3; write a number above 0 and below 1, such as 0.03`},
		{"busy below zero", "[verdict]\nbusy_threshold = -1.0",
			`9: verdict.busy_threshold is the number -1; write counts per second, or 0 to derive it`},

		// Units.
		{"duration without unit", "[wait]\nstartup = 180",
			`9: wait.startup is the integer 180; write it with a unit, such as "180s"`},
		{"duration without unit in a string", "[wait]\nstartup = \"180\"",
			`9: wait.startup is "180", which is not a duration; write a duration with a unit, such as "30s", "5m" or "1h30m"`},
		{"negative duration", "[wait]\nsync = \"-30s\"",
			`9: wait.sync is "-30s", which is negative; write a duration with a unit, such as "30s", "5m" or "1h30m"`},
		{"negative integer duration", "[wait]\nsync = -3",
			`9: wait.sync is the integer -3; write a duration with a unit, such as "30s", "5m" or "1h30m"`},
		{"too long duration", "[limits]\ntimeout = \"200000d\"",
			`9: limits.timeout is "200000d", which is too long; write a duration with a unit, such as "30s", "5m" or "1h30m", or "none"`},
		{"no deadline for hooks", "[hooks]\ntimeout = \"0s\"",
			`9: hooks.timeout is the string "0s"; write at least "1ns"`},
		{"none where there is a limit", "[wait]\nsync = \"none\"",
			`9: wait.sync is "none", which is not a duration; write a duration with a unit, such as "30s", "5m" or "1h30m"`},
		{"unknown unit", "[limits]\nheap = \"2 gigs\"",
			`9: limits.heap is the string "2 gigs", which is not a size: there is no unit "gigs"; write a size, such as "2GiB", "512MiB" or "none"`},
		{"unit of another case", "[limits]\nheap = \"2gib\"",
			`9: limits.heap is the string "2gib", which is not a size: there is no unit "gib"; did you mean "2GiB"?`},
		{"unit of one letter", "[limits]\nstack = \"8M\"",
			`9: limits.stack is the string "8M", which is not a size: there is no unit "M"; did you mean "8MiB"?`},
		{"size overflows", "[limits]\nheap = \"9000000TiB\"",
			`9: limits.heap is the string "9000000TiB", which is too large; write a size, such as "2GiB", "512MiB" or "none"`},
		{"size overflows an integer", "[limits]\nheap = \"99999999999999999999\"",
			`9: limits.heap is the string "99999999999999999999", which is too large; write a size, such as "2GiB", "512MiB" or "none"`},
		{"negative size", "[limits]\nheap = -1",
			`9: limits.heap is the integer -1, which is negative; write a size, such as "2GiB", "512MiB" or "none"`},
		{"negative size in a string", "[limits]\nheap = \"-1GiB\"",
			`9: limits.heap is the string "-1GiB", which is negative; write a size, such as "2GiB", "512MiB" or "none"`},
		{"too few processes", "[limits]\nprocesses = 3",
			`9: limits.processes is the integer 3; write a number from 16 to 4194304, without quotes, or "none"`},
		{"processes in a string", "[limits]\nprocesses = \"many\"",
			`9: limits.processes is the string "many"; write a number from 16 to 4194304, without quotes, or "none"`},
		{"home of the caller", "[limits]\nhome = \"1GiB\"\n[experiment]\naccount = \"caller\"",
			`9: limits.home is set, and experiment.account is "caller"; remove it, or make the account "fresh"`},
		{"environment of the caller", "[experiment]\nenvironment = \"caller\"\naccount = \"caller\"",
			`9: experiment.environment is "caller", and experiment.reboot is "hardware"; write reboot = "none", or remove it`},
		{"environment of the caller for another account",
			"[experiment]\nenvironment = \"caller\"\nreboot = \"none\"",
			`9: experiment.environment is "caller", and experiment.account is "fresh"; write account = "caller", or remove it`},
		{"output beyond memory", "[limits]\noutput = \"1GiB\"",
			`9: limits.output is the string "1GiB", which is more than 67108864 bytes; write a size, such as "64KiB" or "1MiB"`},
		{"size is a list", "[limits]\noutput = []",
			`9: limits.output is a list; write a size, such as "64KiB" or "1MiB"`},

		// Names.
		{"colon in a VM", "[vms.\"a:b\"]\nrunner = \"c\"\nvariants = [\"v\"]",
			`8: vms: the name "a:b" contains ':'; use letters, digits and _ - . + only`},
		{"space in a benchmark", "\"n body\" = { parameter = 1 }",
			`8: benchmarks: the name "n body" contains ' '; use letters, digits and _ - . + only`},
		{"space in a variant", "[variants.\"a b\"]\nentry = \"x\"",
			`8: variants: the name "a b" contains ' '; use letters, digits and _ - . + only`},
		{"VMs differ in case", "[vms.c]\nrunner = \"c\"\nvariants = [\"v\"]",
			`8: vms.c differs from vms.C (line 1) only in case; rename one of them`},
		{"variants differ in case", "[variants.V]\nentry = \"x\"",
			`8: variants.V differs from variants.v (line 4) only in case; rename one of them`},
		{"benchmarks differ in case", "B = { parameter = 1 }",
			`8: benchmarks.B differs from benchmarks.b (line 7) only in case; rename one of them`},
		{"colon in the experiment", "[experiment]\nname = \"a:b\"",
			`9: experiment.name: the name "a:b" contains ':'; use letters, digits and _ - . + only`},

		// VMs, variants and benchmarks.
		{"VM without runner", "[vms.X]\nvariants = [\"v\"]",
			`8: vms.X has no runner; write runner = "c", "python", "lua", "javascript", "java", "ruby", "php", "dotnet", "go", "command" or "external"`},
		{"unknown runner", "[vms.X]\nrunner = \"pyton\"\nvariants = [\"v\"]",
			`9: vms.X.runner is the string "pyton"; did you mean "python"?`},
		{"VM without path", "[vms.X]\nrunner = \"python\"\nvariants = [\"v\"]",
			`8: vms.X has no path; write path = "program", the program that runs it`},
		{"VM without variants", "[vms.X]\nrunner = \"c\"",
			`8: vms.X has no variants; name at least one of [variants], such as variants = ["default-c"]`},
		{"VM with no variants", "[vms.X]\nrunner = \"c\"\nvariants = []",
			`10: vms.X has no variants; name at least one of [variants], such as variants = ["default-c"]`},
		{"unknown variant", "[vms.X]\nrunner = \"c\"\nvariants = [\"v\",\n\"w\"]",
			`11: vms.X: there is no variant "w"; write "v"`},
		{"variant twice", "[vms.X]\nrunner = \"c\"\nvariants = [\"v\",\n\"v\"]",
			`11: vms.X.variants: "v" is listed twice; remove one`},
		{"VM is a value", "[vms]\nX = 1", `9: vms.X is the integer 1; make it a table: [vms.X]`},
		{"own variable", "[vms.X]\nrunner = \"c\"\nvariants = [\"v\"]\nenv = { KRUN_BUFFER_FD = \"3\" }",
			`11: vms.X.env.KRUN_BUFFER_FD is set by krund itself; remove it; names that begin with KRUN_ are taken`},
		{"equals sign in a variable",
			"[vms.X]\nrunner = \"c\"\nvariants = [\"v\"]\nenv = { \"A=B\" = \"3\" }",
			`11: vms.X.env."A=B" is not a valid variable name; remove the = or NUL character`},
		{"number in a variable", "[vms.X]\nrunner = \"c\"\nvariants = [\"v\"]\n[vms.X.env]\nA = 3",
			`12: vms.X.env.A is the integer 3; write a string, in quotes`},
		{"NUL in an argument", "[vms.X]\nrunner = \"c\"\nvariants = [\"v\"]\nargs = [\"a\\u0000\"]",
			`11: vms.X.args[0] is the string "a\x00"; remove the NUL character`},
		{"benchmark without parameter", "c = {}",
			`8: benchmarks.c has no parameter; write c = { parameter = 1 }`},
		{"benchmark with a dot", "\"c.26\" = {}",
			`8: benchmarks."c.26" has no parameter; write "c.26" = { parameter = 1 }`},
		{"benchmark is a number", "c = 15",
			`8: benchmarks.c is the integer 15; write c = { parameter = 15 }`},
		{"parameter beyond an int", "c = { parameter = 2147483648 }",
			`8: benchmarks.c.parameter is the integer 2147483648; write a number from -2147483648 to 2147483647`},
		{"size of a VM that is not there", "c = { parameter = 1, vms.D = { iterations = 3 } }",
			`8: benchmarks.c.vms.D: there is no such VM; write "C"`},
		{"size below 0", "c = { parameter = 1, executions = -1 }",
			`8: benchmarks.c.executions is the integer -1; write a number from 0 to 1000000`},
		{"variant without entry", "[variants.w]\n[vms.X]\nrunner = \"c\"\nvariants = [\"w\"]",
			`8: variants.w has no entry; write entry = "FILE", the file that the runner loads`},
		{"variant outside", "[variants.w]\nentry = \"../x\"\nsubfolder = \"/c\"",
			"9: variants.w.entry is the string \"../x\"; write a path inside the benchmark's " +
				"directory\n10: variants.w.subfolder is the string \"/c\"; write a path inside the " +
				"benchmark's directory"},

		// Skip patterns.
		{"skip is no pattern", "[experiment]\nskip = [\"b:C\"]",
			`9: experiment.skip: pattern "b:C" has 2 parts; write "benchmark:vm:variant" or "benchmark:vm:variant@arm", with a lone * for any`},
		{"skip matches nothing", "[experiment]\nskip = [\n\"b:D:*\"]",
			`10: experiment.skip: "b:D:*" matches no key; correct its names or remove it`},
		{"a control matches nothing", "[experiment]\nnegative_controls = [\n\"b:D:*\"]",
			`10: experiment.negative_controls: "b:D:*" matches no key; correct its names or remove it`},
		{"everything skipped", "[experiment]\nskip = [\"*:C:*\"]",
			`9: the skip patterns leave nothing, so the schedule is empty; remove one`},

		// Hooks, notifications, kernel log, counters, controls.
		{"hook is a string", "[hooks]\nbefore = [\"systemctl stop cron\"]",
			`9: hooks.before[0] is the string "systemctl stop cron"; write the command as a list, such as ["systemctl", "stop", "cron"]; no shell reads it`},
		{"hooks are one list", "[hooks]\nafter = \"ls\"",
			`9: hooks.after is the string "ls"; write a list of commands, such as [["program", "argument"]]`},
		{"hook names nothing", "[hooks]\nafter = [[\"ls\"], []]",
			`9: hooks.after[1] names no program; write a list of strings, such as ["program", "argument"]`},
		{"mail option", "[notify]\nmail = [\"-oQ/tmp\"]",
			`9: notify.mail: "-oQ/tmp" is not an address; write only the address, such as "name@example.org"`},
		{"mail with a name", "[notify]\nmail = [\"A <a@b>\"]",
			`9: notify.mail: "A <a@b>" is not an address; write only the address, such as "name@example.org"`},
		{"webhook", "[notify]\nwebhook = \"ftp://x/y\"",
			`9: notify.webhook is the string "ftp://x/y"; write an address that begins with "https://" or "http://"`},
		{"webhook without host", "[notify]\nwebhook = \"https:\"",
			`9: notify.webhook is the string "https:"; write an address that begins with "https://" or "http://"`},
		{"command", "[notify]\ncommand = \"mail\"",
			`9: notify.command is the string "mail"; write a list of strings, such as ["program", "argument"]`},
		{"regular expression", "[kernel_log]\nallow = [\"ok\",\n\"(\"]", "10: kernel_log.allow: \"(\" is " +
			"not a regular expression: error parsing regexp: missing closing ): `(`; correct it; the " +
			"syntax is RE2's, as in egrep"},
		{"source", "[counters]\nsources = [\"pref\"]",
			`9: counters.sources: there is no source "pref"; did you mean "perf"?`},
		{"source twice", "[counters]\nsources = [\"msr\", \"msr\"]",
			`9: counters.sources: "msr" is listed twice; remove one`},
		{"kernel reading", "[counters]\nkernel = [\"usages\"]",
			`9: counters.kernel: there is no kernel reading "usages"; did you mean "usage"?`},
		{"no source", "[counters]\nsources = []",
			`9: counters.sources is empty; write ["none"] for no counters`},
		{"sensor pattern", "[temperature]\nsensors = [\"core[\"]",
			`9: temperature.sensors: "core[" is not a glob pattern; close its [ ] and write no lone \`},
		{"unknown control", "[controls]\nturbos = \"off\"",
			`9: unknown key controls.turbos; did you mean "turbo"?`},
		{"unknown policy", "[controls]\nturbo = \"on\"",
			`9: controls.turbo is the string "on"; write "require", "apply", "warn" or "off"`},
		{"unknown policy in a table", "[controls]\nturbo = { policy = \"requires\" }",
			`9: controls.turbo.policy is the string "requires"; did you mean "require"?`},
		{"unknown option", "[controls.aslr]\nvalu = 1",
			`9: unknown key controls.aslr.valu; did you mean "value"?`},
		{"option out of range", "[controls.aslr]\nvalue = 3",
			`9: controls.aslr.value is the integer 3; write a number from 0 to 2`},
		{"option of another type", "[controls]\nfrequency = { free = 1 }",
			`9: controls.frequency.free is the integer 1; write true or false, without quotes`},
		{"stop rule", "[stop]\nrules = [\"half\"]",
			`9: stop.rules: there is no rule "half"; write "halfwidth", "verdict", "class" or "similar"`},
		{"verdict without arms", "[stop]\nrules = [\"verdict\"]",
			`9: stop.rules has "verdict", and there are no [arms]; define what is compared, or write "halfwidth"`},
		{"stop minimum", "[stop]\nminimum = 2",
			`9: stop.minimum is the integer 2; write a number from 3 to 1000000`},
		{"stop minimum out of reach", "[stop]\nrules = [\"class\"]\nminimum = 31",
			`10: stop.minimum is 31, and no key has more than 30 executions, so none can be finished early; ` +
				`write a smaller number, plan more executions, or remove stop.rules`},
		{"hardware every time", "[experiment]\nhardware_every = 5",
			`9: experiment.hardware_every is 5, and with reboot = "hardware" every restart is one of the ` +
				`hardware; remove it, or write reboot = "kexec" or "soft"`},
		{"hardware never", "[experiment]\nreboot = \"none\"\nhardware_every = 5",
			`10: experiment.hardware_every is 5, and with reboot = "none" nothing is restarted; remove it, or ` +
				`write reboot = "kexec" or "soft"`},
		{"stop alpha", "[stop]\nalpha = 5",
			`9: stop.alpha is the integer 5; write a number above 0 and below 1, such as 0.01`},
		{"stop keep", "[stop]\nkeep = [\"nosuch:*:*\"]",
			`9: stop.keep: "nosuch:*:*" matches no key; correct its names or remove it`},
		{"CPU list", "[controls]\nshield = { cpus = \"1..3\" }",
			`9: controls.shield.cpus is the string "1..3"; write it like "1-3,5"`},

		// The text as a whole.
		{"syntax", "= 1",
			`8: not TOML: unexpected '=': key name appears blank; correct the line; the rest of the file is checked after that`},
		{"twice", "[vms.C]",
			`8: not TOML: Key 'vms.C' has already been defined; correct the line; the rest of the file is checked after that`},
		{"integer beyond 64 bits", "[limits]\nheap = 9223372036854775808",
			`9: not TOML: 9223372036854775808 is out of range for int64; correct the line; the rest of the file is checked after that`},
		{"not UTF-8", "# caf\xe9\n", `8: the line is not valid UTF-8; save the file as UTF-8`},
		{"too deep", "a = [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]",
			`8: the nesting is more than 16 levels deep; no key of a configuration is that deep`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, got := parse(t, base+test.added)
			must.Equal(t, got, test.want)
		})
	}
}

func TestParseWholeFile(t *testing.T) {
	tests := []struct {
		name, text, want string
	}{
		{"empty", "", `1: there are no VMs, so the schedule is empty; write [vms.NAME] for at least one`},
		{"no benchmarks", strings.Split(base, "[benchmarks]")[0],
			`1: there are no benchmarks, so the schedule is empty; write [benchmarks] with at least one`},
		{"section is a value", "limits = 5\n" + base,
			`1: limits is the integer 5; make it a table: [limits]`},
		{"empty VMs", "\n[vms]\n[benchmarks]\nb = {parameter=1}",
			`2: there are no VMs, so the schedule is empty; write [vms.NAME] for at least one`},
		{"empty benchmarks", strings.Split(base, "b = ")[0],
			`6: there are no benchmarks, so the schedule is empty; write NAME = { parameter = 1 } for at least one`},
		{"UTF-16", "\xff\xfe[\x00v\x00", `1: the file is UTF-16; save it as UTF-8`},
		{"too large", strings.Repeat("#", 1<<20+1),
			`1: the file has more than 1048576 bytes; write less, or is it the wrong file?`},
		{"long key", strings.Repeat("k", 100) + " = 1\n" + base, `1: unknown key "` + strings.Repeat("k",
			60) + `"...; remove it, or see docs/config.md for the keys there are`},
		{"no variants section", "[vms.C]\nrunner = \"c\"\nvariants = [\"v\"]\n[benchmarks]\nb = { " +
			"parameter = 1 }", `3: vms.C: there is no variant "v"; define [variants.v]`},
		{"BOM", "\uFEFF" + base, ""},
		{"BOM keeps the lines", "\uFEFF[wait]\nx = 1\n" + base,
			`2: unknown key wait.x; write "startup", "settle" or "sync"`},
		{"CRLF", strings.ReplaceAll(base+"[experiment]\nskip = [\n\"b:D:*\"]\n", "\n", "\r\n"),
			`10: experiment.skip: "b:D:*" matches no key; correct its names or remove it`},
		{"too many slots", "[experiment]\nexecutions = 1000000\n" + base + manyBenchmarks(11),
			`2: the executions of 12 keys are 12000000 slots; plan at most 10000000`},
		{"too many keys", base + manyBenchmarks(10_000), `1: there are 10001 keys; plan at most 10000`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, got := parse(t, test.text)
			must.Equal(t, got, test.want)
		})
	}
}

func manyBenchmarks(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "b%d={parameter=1}\n", i)
	}
	return b.String()
}

func TestDefaultNameIsThatOfTheFile(t *testing.T) {
	must.Equal(t, mustParse(t, base).Experiment.Name, "x", "the name")
	_, err := config.Parse("my exp.toml", []byte(base), "", doctor.Settings())
	const want = `my exp.toml:1: experiment.name, by default the file's: the name "my exp" contains ' '; use letters, digits and _ - . + only`
	must.Be(t, err != nil && err.Error() == want, err, want)
}

func TestEachProblemIsFoundByErrorsAs(t *testing.T) {
	_, err := config.Parse("x.toml", []byte("[wait]\nsync = 1\n"), "", doctor.Settings())
	var p config.Mistake
	must.Be(t, errors.As(err, &p) && p.File == "x.toml" && p.Line == 1, "first problem of", err, p)
}

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
