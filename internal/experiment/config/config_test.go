package config_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"krund/internal/boot/doctor"
	"krund/internal/experiment/config"
	"krund/internal/experiment/config/setting"
	"krund/internal/experiment/key"
	"krund/rig/must"
)

// full sets every key that it can to something other than the default.
const full = `[experiment]
name = "full"
description = """
two
lines"""
iterations = 7
executions = 4
order = "interleaved"
seed = 42
reboot = "none"
attempts = 2
max_reboots = 9
benchmarks = "../programs"
account = "caller"
environment = "caller"
skip = ["fasta:PyPy:*"]

[limits]
heap = "none"
stack = 4096
timeout = "1d12h"
output = "64 KiB"

[wait]
startup = "0s"
sync = 0

[temperature]
base_wait = "1m30s"
tolerance = 2.5
timeout = "2h"
sensors = ["coretemp/*", "acpitz/?"]

[vms.PyPy]
runner = "python"
path = "vm/pypy"
args = ["--jit", ""]
env = { B = "2", A = "1 2" }
iterations = 3
variants = ["default-python"]

[vms.C]
runner = "c"
variants = ["default-c", "fast.c"]

[variants.default-python]
entry = "bench.py"
subfolder = "python"
[variants.default-c]
entry = "bench.so"
subfolder = "c"
[variants."fast.c"]
entry = "fast/bench.so"

[benchmarks]
nbody = { parameter = 15 }
fasta = { parameter = -1 }

[hooks]
before = [["systemctl", "stop", "cron"], ["./quiet", "a b"]]
after = [["/bin/true"]]
timeout = "10s"

[notify]
mail = ["a@b.example"]
max_mails = 0
sendmail = "/usr/bin/msmtp"
command = ["notify-send", "krund"]
webhook = "https://hook.example/x?y=1"

[kernel_log]
allow = ["^e1000e: .* NIC Link is (Up|Down)"]

[controls]
frequency = "off"
aslr = { policy = "warn", value = 0 }
services = { stop = ["cron.service"] }
shield = { policy = "apply", cpus = "1-3,5", type = "isolated" }
turbo = { policy = "apply", msr = true }

[counters]
sources = ["msr"]
scope = "task"
kernel = []

[verdict]
ratio_tolerance = 0.1
busy_threshold = 1000000
policy = "rerun"
`

func TestParseFull(t *testing.T) {
	c := mustParse(t, full)
	sum := sha256.Sum256([]byte(full))
	check(t, "Path", c.Path, "/exp/x.toml")
	check(t, "Hash", c.Hash, hex.EncodeToString(sum[:]))
	check(t, "Hostname", c.Hostname, "lab1")
	check(t, "Text", c.Text, full)

	pattern := must.Get(key.ParsePattern("fasta:PyPy:*"))(t)
	check(t, "Experiment", c.Experiment, config.Experiment{
		Name: "full", Description: "two\nlines", Iterations: 7, Executions: 4, Order: "interleaved", Seed: 42,
		Reboot:   "none",
		Attempts: 2, GiveUp: 3, MaxReboots: 9, Benchmarks: "/programs", Account: "caller",
		Environment: "caller", Layout: "off",
		Skip: []key.Pattern{pattern},
	})
	check(t, "Limits", c.Limits, config.Limits{Heap: 0, Stack: 4096, Timeout: 36 * time.Hour, Output: 65536,
		Processes: 4096})
	check(t, "Wait", c.Wait, config.Wait{})
	check(t, "Temperature", c.Temperature, config.TemperatureGate{
		BaseWait: 90 * time.Second, Tolerance: 2.5, Timeout: 2 * time.Hour, Sensors: []string{"coretemp/*",
			"acpitz/?"},
	})
	check(t, "VMs", c.VMs, []config.VM{
		{
			Name: "PyPy", Runner: "python", Path: "/exp/vm/pypy", Args: []string{"--jit", ""},
			Env:        []string{"A=1 2", "B=2"},
			Iterations: 3, Variants: []string{"default-python"},
		},
		{Name: "C", Runner: "c", Iterations: 7, Variants: []string{"default-c", "fast.c"}},
	})
	check(t, "Variants", c.Variants, []config.Variant{
		{Name: "default-python", Entry: "bench.py", Subfolder: "python"},
		{Name: "default-c", Entry: "bench.so", Subfolder: "c"},
		{Name: "fast.c", Entry: "fast/bench.so"},
	})
	check(t, "Benchmarks", c.Benchmarks, []config.Benchmark{{Name: "nbody", Parameter: 15},
		{Name: "fasta", Parameter: -1}})
	check(t, "Hooks", c.Hooks, config.Hooks{
		Before: [][]string{{"systemctl", "stop", "cron"}, {"/exp/quiet", "a b"}},
		After:  [][]string{{"/bin/true"}}, Timeout: 10 * time.Second,
		AfterFailure: "report",
	})
	check(t, "Notify", c.Notify, config.Notify{
		Mail: []string{"a@b.example"}, Sendmail: "/usr/bin/msmtp", Command: []string{"notify-send", "krund"},
		Webhook: "https://hook.example/x?y=1",
	})
	check(t, "Counters", c.Counters, config.Counters{Sources: []string{"msr"}, Scope: "task",
		Kernel: nil})
	check(t, "Verdict", c.Verdict, config.Verdict{RatioTolerance: 0.1, BusyThreshold: 1e6, Policy: "rerun"})
	if allow := c.KernelLog.Allow; len(allow) != 1 || !allow[0].MatchString("e1000e: eth0 NIC Link is Down") {
		t.Errorf("kernel log allows %v", allow)
	}
}

// check compares values. Lists that are empty in the file are nil.
func check[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	must.Be(t, reflect.DeepEqual(got, want), what, got, want)
}

func TestParseDefaults(t *testing.T) {
	c := mustParse(t, base)
	// The study's values: Barrett et al. 2017, sections 3 and 3.5.
	check(t, "Experiment", c.Experiment, config.Experiment{
		Name: "x", Iterations: 2000, Executions: 30, Order: "round-robin", Seed: 1, Reboot: "hardware",
		Attempts: 3, GiveUp: 3,
		MaxReboots: 3*30 + 30/10 + 10, Benchmarks: "/exp/benchmarks", Account: "fresh",
		Environment: "clean", Layout: "off",
	})
	check(t, "Limits", c.Limits, config.Limits{Heap: 2 << 30, Stack: 8 << 20, Output: 1 << 20,
		Processes: 4096})
	check(t, "Wait", c.Wait, config.Wait{Startup: 3 * time.Minute, Settle: 10 * time.Second,
		Sync: 30 * time.Second})
	check(t, "Temperature", c.Temperature, config.TemperatureGate{BaseWait: time.Minute, Tolerance: 3,
		Timeout: time.Hour})
	check(t, "Hooks", c.Hooks, config.Hooks{Timeout: time.Minute, AfterFailure: "report"})
	check(t, "Notify", c.Notify, config.Notify{Mail: nil, MaxMails: 5, Sendmail: "/usr/sbin/sendmail"})
	check(t, "Counters", c.Counters, config.Counters{Sources: []string{"perf", "msr", "none"},
		Scope: "per-core", Kernel: []string{"usage", "interrupts"}})
	check(t, "Verdict", c.Verdict, config.Verdict{RatioTolerance: 0.03, Policy: "accept"})
}

func TestKeysAreInKrunsOrder(t *testing.T) {
	c := mustParse(t, full)
	var got []string
	for _, k := range c.Keys() {
		got = append(got, k.String())
	}
	want := []string{"nbody:PyPy:default-python", "nbody:C:default-c", "nbody:C:fast.c", "fasta:C:default-c",
		"fasta:C:fast.c"}
	must.EqualList(t, got, want)
	must.Equal(t, c.Slots(), 20, "slots")
	c.Keys()[0] = key.Key{}
	must.Be(t, c.Keys()[0] != (key.Key{}), "Keys hands out its own slice")
}

func TestLookup(t *testing.T) {
	c := mustParse(t, full)
	tests := []struct {
		key, path, err string
		iterations     int
	}{
		{"nbody:PyPy:default-python", "/programs/nbody/python/bench.py", "", 3},
		{"fasta:PyPy:default-python", "/programs/fasta/python/bench.py", "", 3}, // skipped, but it exists
		{"nbody:C:fast.c", "/programs/nbody/fast/bench.so", "", 7},
		{"nbody:V8:default-c", "",
			`nbody:V8:default-c: no VM "V8"; krund was started with another configuration`, 0},
		{"nbody:C:default-python", "", `nbody:C:default-python: VM C has no variant "default-python"`, 7},
		{"n:C:default-c", "", `n:C:default-c: no benchmark "n"`, 7},
	}
	for _, test := range tests {
		k, err := key.Parse(test.key)
		must.Do(t, err)
		_, _, _, err = c.Lookup(k)
		must.Equal(t, errorText(err), test.err, k, "error")
		must.Equal(t, c.EntryPath(k), test.path, "entry")
		must.Equal(t, c.Iterations(k), test.iterations, "iterations")
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestControls(t *testing.T) {
	c := mustParse(t, full)
	tests := []struct {
		name    string
		policy  setting.Policy
		stated  bool
		relaxed setting.Policy
	}{
		{"frequency", setting.Off, true, setting.Off},
		{"aslr", setting.Warn, true, setting.Warn},
		{"shield", setting.Apply, true, setting.Apply},
		{"services", setting.Off, false, setting.Off}, // an option alone states no policy
		{"tickless", setting.Require, false, setting.Warn},
		{"smt", setting.Apply, false, setting.Warn},
		{"thp", setting.Off, false, setting.Off},
	}
	for _, test := range tests {
		got := c.Control(test.name)
		must.Be(t, got.Name == test.name && got.Policy == test.policy && got.Stated == test.stated &&
			got.Relaxed().Policy == test.relaxed, test.name, got, "relaxed", got.Relaxed().Policy)
	}
	must.Equal(t, c.Control("aslr").Whole("value"), 0, "aslr.value")
	must.Equal(t, c.Control("overcommit").Whole("mode"), 2, "overcommit.mode")
	must.Equal(t, c.Control("shield").Text("cpus")+" "+c.Control("shield").Text("type"), "1-3,5 isolated",
		"shield is")
	must.EqualList(t, c.Control("services").List("stop"), []string{"cron.service"}, "services.stop")
	must.Be(t, c.Control("turbo").Flag("msr") && !c.Control("frequency").Flag("free"), "flags are wrong")
	must.Equal(t, len(c.Controls), len(doctor.Settings()), "controls", "names")
}

func TestUnknownControlIsABug(t *testing.T) {
	c := mustParse(t, base)
	for what, ask := range map[string]func(){
		"control": func() { c.Control("governor") },
		"option":  func() { c.Control("aslr").Whole("mode") },
		"type":    func() { c.Control("aslr").Text("value") },
	} {
		func() {
			defer func() {
				must.Be(t, recover() != nil, "an unknown", what, "does not panic")
			}()
			ask()
		}()
	}
}

func TestExternalVariantNeedsNoEntry(t *testing.T) {
	c := mustParse(t, strings.Replace(strings.Replace(base, `"c"`, "\"external\"\npath = \"suite\"", 1),
		`entry = "bench.so"`, "", 1))
	must.Equal(t, c.EntryPath(c.Keys()[0]), "", "entry")
}

// TestStored: what an earlier krund has started can be read, although it is refused at a start now.
func TestStored(t *testing.T) {
	for name, added := range map[string]string{
		"hardware every, none":     "[experiment]\nreboot = \"none\"\nhardware_every = 5\n",
		"hardware every, hardware": "[experiment]\nhardware_every = 5\n",
		"minimum out of reach":     "[experiment]\nexecutions = 2\n[stop]\nrules = [\"class\"]\n",
	} {
		t.Run(name, func(t *testing.T) {
			path, settings := experiment(t, added), doctor.Settings()
			text := must.Get(os.ReadFile(path))(t)
			_, opened := config.Open(path, "lab1", settings)
			_, stored := config.Stored(path, text, "lab1", settings)
			must.Do(t, errors.Join(opened, stored))
			_, loaded := config.Load(path, "lab1", settings)
			_, parsed := config.Parse(path, text, "lab1", settings)
			_, tried := config.Quick(path, "lab1", settings)
			must.Be(t, loaded != nil && parsed != nil && tried != nil, "started: Load", loaded, "Parse",
				parsed, "Quick", tried)
		})
	}
}

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
