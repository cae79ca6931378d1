package config_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"krund/internal/boot/doctor"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/rig/must"
)

// sized has numbers at every place: experiment, VM, benchmark, and VM of a benchmark.
const sized = `[experiment]
executions = 30
iterations = 2000
[vms.C]
runner = "c"
variants = ["v"]
[vms.D]
runner = "c"
iterations = 200
variants = ["v"]
[variants.v]
entry = "bench.so"
[benchmarks]
a = { parameter = 1 }
b = { parameter = 1, executions = 10, iterations = 50 }
[benchmarks.c]
parameter = 1
executions = 5
[benchmarks.c.vms.D]
iterations = 7
executions = 40
[arms.one]
[arms.two]
null = true
`

// TestSizes: the most specific number counts, and all arms of a key have the same one.
func TestSizes(t *testing.T) {
	c, problems := parse(t, sized)
	must.Need(t, problems == "", problems)
	slots := 0
	for _, test := range []struct {
		benchmark, vm          string
		executions, iterations int
	}{
		{"a", "C", 30, 2000}, {"a", "D", 30, 200},
		{"b", "C", 10, 50}, {"b", "D", 10, 50},
		{"c", "C", 5, 2000}, {"c", "D", 40, 7},
	} {
		for _, arm := range []string{"one", "two"} {
			k := key.Key{Benchmark: test.benchmark, VM: test.vm, Variant: "v", Arm: arm}
			must.Be(t, c.Executions(k) == test.executions && c.Iterations(k) == test.iterations, k,
				c.Executions(k), "executions of", c.Iterations(k), "iterations, want", test.executions, "of",
				test.iterations)
			slots += test.executions
		}
	}
	must.Equal(t, c.Slots(), slots, "slots")
}

// TestQuickSizes: a quick run does not do more of a benchmark that has numbers of its own.
func TestQuickSizes(t *testing.T) {
	path := experiment(t, "[machines.\"*\".benchmarks.b]\nexecutions = 40\niterations = 5\n"+
		"[machines.\"*\".benchmarks.b.vms.C]\niterations = 3000\n")
	c := must.Get(config.Quick(path, "lab1", doctor.Settings()))(t)
	k := c.Keys()[0]
	must.Be(t, c.Executions(k) == config.QuickExecutions && c.Iterations(k) == config.QuickIterations,
		c.Executions(k), "executions of", c.Iterations(k), "iterations")
}

// TestShard: the parts that are refused, and why.
func TestShard(t *testing.T) {
	for text, want := range map[string]string{
		"3/3": "", "1000/1000": "", "1": "write the part", "0/3": "write the part", "4/3": "write the part",
		"1/1001": "write the part", "-1/3": "write the part", "1/3 ": "write the part",
		"41/50": "the part 41/50 has no executions",
	} {
		lines := sized
		if text == "1000/1000" {
			lines = strings.Replace(lines, "executions = 30", "executions = 1000", 1)
		}
		lines = strings.Replace(lines, "[experiment]", fmt.Sprintf("[experiment]\nshard = %q", text), 1)
		_, problems := parse(t, lines)
		must.Be(t, (problems == "") == (want == "") && strings.Contains(problems, want), text, problems, want)
	}
}

// TestDefaultWaits: without reboots krund waits only as long as the file says.
func TestDefaultWaits(t *testing.T) {
	const rest = `
[vms.C]
runner = "c"
variants = ["c"]
[variants.c]
entry = "bench.so"
[benchmarks]
b = { parameter = 1 }
`
	study := []time.Duration{3 * time.Minute, 30 * time.Second, time.Minute, 10 * time.Second}
	for _, test := range []struct {
		name, text, mode string
		want             []time.Duration
	}{
		{"with reboots", "", "", study},
		{"without", "[experiment]\nreboot = \"none\"", "", []time.Duration{0, 0, 0, 0}},
		{"by the flag", "", config.RebootNone, []time.Duration{0, 0, 0, 0}},
		{"with reboots by the flag", "[experiment]\nreboot = \"none\"", config.RebootHardware, study},
		{"written", "[experiment]\nreboot = \"none\"\n[wait]\nsync = \"5s\"\n[temperature]\n" +
			"base_wait = \"7s\"", "",
			[]time.Duration{0, 5 * time.Second, 7 * time.Second, 0}},
		{"the usual limit, written", "[wait]\nstartup = \"3m\"", "", study},
		{"a short wait", "[wait]\nstartup = \"1s\"", "",
			[]time.Duration{time.Second, 30 * time.Second, time.Minute, 0}},
		{"off", "[wait]\nsettle = \"0s\"", "",
			[]time.Duration{3 * time.Minute, 30 * time.Second, time.Minute, 0}},
		{"a limit", "[experiment]\nreboot = \"none\"\n[wait]\nsettle = \"10s\"", "",
			[]time.Duration{3 * time.Minute, 0, 0, 10 * time.Second}},
		{"of this machine", "[machines.\"h*\".experiment]\nreboot = \"none\"", "",
			[]time.Duration{0, 0, 0, 0}},
		{"written for this machine", "[experiment]\nreboot = \"none\"\n[machines.host.wait]\n" +
			"startup = \"1s\"", "",
			[]time.Duration{time.Second, 0, 0, 0}},
	} {
		c := must.Get(config.Parse("x.toml", []byte(test.text+rest), "host", nil))(t, test.name)
		if test.mode != "" {
			c = c.WithReboot(test.mode)
		}
		for i, got := range []time.Duration{c.Wait.Startup, c.Wait.Sync, c.Temperature.BaseWait,
			c.Wait.Settle} {
			must.Equal(t, got, test.want[i], test.name, "wait")
		}
	}
}

// TestMoreExecutions: only the numbers of executions change, wherever they are; what cannot be told
// apart is refused.
func TestMoreExecutions(t *testing.T) {
	for _, test := range []struct {
		name, old, new string // a part of the text, and what it becomes; "": the text is refused
		line           int
	}{
		{"of the experiment", "executions = 4\n", "executions = 7\n", 3},
		{"with a comment", "executions = 4 # executions = 5 was much\n",
			"executions = 7 # executions = 5 was much\n", 3},
		{"as people write it", "\"executions\"\t=+4\n", "\"executions\"\t=+7\n", 3},
		{"with a separator", "executions = 1_000\n", "executions = 1003\n", 3},
		{"of benchmarks and VMs", "executions = 4\n[benchmarks.x]\nparameter = 1\nexecutions = 2\nvms = " +
			"{ C = { executions = 9 }, D = { executions = 8, iterations = 4 } }\n",
			"executions = 7\n[benchmarks.x]\nparameter = 1\nexecutions = 5\nvms = " +
				"{ C = { executions = 12 }, D = { executions = 11, iterations = 4 } }\n", 3},
		{"of a machine", "executions = 4\n[machines.lab1.experiment]\nexecutions = 5\n",
			"executions = 7\n[machines.lab1.experiment]\nexecutions = 8\n", 3},
		{"the default", "description = \"executions = 4\"\n",
			"executions = 33\ndescription = \"executions = 4\"\n", 3},
		{"in another base", "executions = 0x4\n", "", 0},
		{"beside another number", "description = 'executions = 1#'\nexecutions = 4\n",
			"description = 'executions = 1#'\nexecutions = 7\n", 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			with := func(part string) string { return strings.Replace(begun, "executions = 4\n", part, 1) }
			if strings.Contains(test.old, "[benchmarks.x]") || strings.Contains(test.old, "[machines") {
				with = func(part string) string {
					first, rest, _ := strings.Cut(part, "\n")
					return strings.Replace(begun, "executions = 4", first, 1) + rest
				}
			}
			c := mustParse(t, with(test.old))
			text, line, err := c.MoreExecutions(3)
			if test.new == "" {
				must.Refuse(t, err, "write them yourself, 3 more each", "the text")
				return
			}
			must.Do(t, err)
			must.Equal(t, text, with(test.new), "text")
			must.Equal(t, line, test.line, "line")
		})
	}
	text := strings.Replace(begun, "[experiment]\nexecutions = 4\niterations = 10\n", "", 1)
	got, line, err := mustParse(t, text).MoreExecutions(1)
	must.Be(t, err == nil && got == text+"\n[experiment]\nexecutions = 31\n" &&
		line == strings.Count(got, "\n"), got, line, err)
}

func FuzzMoreExecutions(f *testing.F) {
	f.Add(begun)
	f.Add("experiment.executions = 4 # x\n" + begun)
	f.Fuzz(func(t *testing.T, text string) {
		c, problems := parse(t, text)
		if problems != "" {
			return
		}
		more, _, err := c.MoreExecutions(2)
		if err != nil {
			return
		}
		now := must.Get(c.Earlier(more))(t)
		for _, k := range c.Keys() {
			must.Equal(t, now.Planned(k), c.Planned(k)+2, k)
		}
	})
}
