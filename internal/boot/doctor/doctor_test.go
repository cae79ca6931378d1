package doctor

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/internal/control"
	"krund/internal/control/machines"
	"krund/internal/experiment/config"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
	"krund/internal/msr"
	"krund/rig/must"
	"krund/runners/runnertest"
)

// noCounters is a machine without counters.
func noCounters(_ context.Context, _ sysroot.Root, want msr.Want) []msr.SourceFinding {
	var list []msr.SourceFinding
	for _, source := range want.Sources {
		list = append(list, msr.SourceFinding{Source: source, Why: "the processor has none",
			Notes: []string{"a note"}})
	}
	return list
}

// snapshot captures everything that a write would change: the existing files and the content, mode
// and time of each.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	must.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var text []byte
		if d.Type().IsRegular() {
			text, err = os.ReadFile(path)
		}
		all[path] = fmt.Sprintf("%s %s %q", info.Mode(), info.ModTime(), text)
		return err
	}))
	return all
}

// TestProvedCPUs: the proof measures the CPUs that stay online when smt switches the siblings off,
// of one kind of core.
func TestProvedCPUs(t *testing.T) {
	for name, want := range map[string]string{"intel-pstate-active": "1", "intel-hybrid": "1",
		"kvm-guest": "1", "arm64": "1"} {
		m := &control.Machine{Host: host.Host{Root: sysroot.New(machines.New(t, name))}}
		must.Equal(t, benchmarkCPUs(m, Study().Control).String(), want, name)
	}
}

// TestLookChangesNothing on any kind of machine, for any requirements, also as root.
func TestLookChangesNothing(t *testing.T) {
	for _, name := range machines.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := machines.New(t, name)
			before := snapshot(t, dir)
			w := Study()
			for _, name := range []string{"shield", "services", "network"} {
				w.Control.Demands = w.Control.With(w.Control.Of(name).Under(setting.Require))
			}
			w.Control.Demands = w.Control.With(w.Control.Of("turbo").With("msr", true))
			rows := Look(t.Context(), control.NewMachine(t.Context(), sysroot.New(dir)), w, msr.Probe)
			must.Be(t, maps.Equal(before, snapshot(t, dir)), "the tree has changed")
			names := make(map[string]bool)
			for _, row := range rows {
				must.Be(t, !names[row.Name] && row.Found != "" && row.Wanted != "" && row.Policy != "" &&
					row.Status != "", "row", row)
				must.Be(t, !row.Fails() || row.Fix != "" || row.Detail != "",
					"a demand that fails without a word of help", row)
				names[row.Name] = true
			}
			for _, name := range []string{"frequency", "turbo", "temperature", "kernel_log", "counters perf",
				"counters msr"} {
				must.Be(t, names[name], "no row", name)
			}
		})
	}
}

func TestCounters(t *testing.T) {
	look := func(find Counters, sources ...string) []setting.Finding {
		return checkCounters(t.Context(), sysroot.Root{}, msr.Want{Sources: sources, Scope: msr.PerCore},
			find)
	}
	rows := look(noCounters, msr.Perf, msr.MSR, msr.None)
	must.Be(t, len(rows) == 2 && rows[0].Name == "counters perf" && rows[1].Name == "counters msr" &&
		!rows[0].Fails() && rows[0].Status == setting.StatusCannot &&
		rows[0].Detail == "the processor has none; a note" && rows[0].Fix != "", "without counters", rows)
	if rows = look(noCounters, msr.MSR); len(rows) != 1 || !rows[0].Fails() {
		t.Errorf("counters are demanded, and there are none: %+v", rows)
	}
	rows = look(func(ctx context.Context, root sysroot.Root, want msr.Want) []msr.SourceFinding {
		list := noCounters(ctx, root, want)
		list[1].Available = true
		return list
	}, msr.Perf, msr.MSR)
	must.Be(t, len(rows) == 2 && !rows[0].Fails() && rows[1].Status == setting.StatusOK,
		"one source is enough", rows)
	software := func(context.Context, sysroot.Root, msr.Want) []msr.SourceFinding {
		return []msr.SourceFinding{{Source: msr.Perf, Available: true, Why: "counts page_faults, of 2 cores"}}
	}
	rows = checkCounters(t.Context(), sysroot.Root{}, msr.Want{Sources: []string{msr.Perf}}, software)
	must.Be(t, len(rows) == 1 && rows[0].Status == setting.StatusDiffers &&
		rows[0].Found == "no hardware counters", rows)
}

// TestSwitches: a recording that is not possible is a warning with a reason.
func TestSwitches(t *testing.T) {
	row := checkSwitches(sysroot.New(t.TempDir()))
	must.Be(t, !row.Fails() && row.Status == setting.StatusCannot && row.Fix != "" &&
		strings.Contains(row.Detail, "find the online processors"), row)
}

func TestInterpreter(t *testing.T) {
	dir := t.TempDir()
	script := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755))
		return path
	}
	for _, tt := range []struct {
		name, language, path string

		status        setting.Status
		fails         bool
		found, advice string
	}{
		{"whole", "python", script("whole", "echo CPython 3.11.2"), setting.StatusOK, false, "CPython 3.11.2",
			""},
		{
			"minimal", "python", script("minimal",
				"echo CPython 3.11.2; echo \"ModuleNotFoundError: No module named 'ctypes'\" >&2; exit 1"),
			setting.StatusCannot, true, "CPython 3.11.2 without ctypes", "python3-minimal",
		},
		{"missing", "python", filepath.Join(dir, "none"), setting.StatusCannot, true, "not found", "[vms.X]"},
		{"no Python", "python", script("other", "echo 'unknown option -I' >&2; exit 2"), setting.StatusCannot,
			false, "does not answer", "--version"},
		{"no JIT", "lua", script("lua", "echo Lua 5.4; echo \"lua: module 'ffi' not found\" >&2; exit 1"),
			setting.StatusCannot, true, "Lua 5.4 without ffi", "luajit"},
		{"an old PHP", "php", script("php", "echo PHP 7.3.1; echo no FFI >&2; exit 1"), setting.StatusCannot,
			true, "PHP 7.3.1 without FFI", "FFI"},
		{"a JVM", "java", script("java", "echo 'openjdk version \"17.0.1\"' >&2"), setting.StatusOK, false,
			`openjdk version "17.0.1"`, ""},
	} {
		f := Interpreter{VM: "X", Language: tt.language, Path: tt.path}.check(t.Context())
		must.Be(t, f.Name == "vm X" && f.Status == tt.status && f.Fails() == tt.fails &&
			f.Found == tt.found && strings.Contains(f.Fix, tt.advice), tt.name, f)
	}
	if os.Geteuid() != 0 {
		return
	}
	foreign := script("foreign", "touch "+filepath.Join(dir, "touched"))
	must.Do(t, os.Chown(foreign, 64123, 64123))
	f := Interpreter{VM: "X", Language: "python", Path: foreign}.check(t.Context())
	if _, err := os.Stat(filepath.Join(dir, "touched")); err == nil || f.Fails() || f.Found != "not checked" {
		t.Errorf("root ran a program of another user: %v, %+v", err, f)
	}
}

// TestEveryPython asks each Python of this machine, 2.7, 3 and PyPy: the options of the question
// must exist in all of them.
func TestEveryPython(t *testing.T) {
	for name, path := range runnertest.Pythons(t) {
		f := Interpreter{VM: "X", Language: "python", Path: path}.check(t.Context())
		version, _, _ := strings.Cut(strings.TrimPrefix(name, "CPython "), " ")
		must.Be(t, f.Found == "not checked" || f.Status == setting.StatusOK &&
			strings.Contains(f.Found, version), name, f)
	}
}

// TestRealInterpreters runs the interpreters of this machine.
func TestRealInterpreters(t *testing.T) {
	for language, program := range map[string]string{
		"python": "python3", "lua": "luajit", "javascript": "node", "java": "java", "ruby": "ruby",
		"php": "php", "dotnet": "mono",
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			path, err := config.LookPath(program)
			if err != nil {
				t.Skip(err)
			}
			f := Interpreter{VM: "X", Language: language, Path: path}.check(t.Context())
			if f.Found == "not checked" {
				t.Skip(f.Detail)
			}
			must.Be(t, f.Status == setting.StatusOK && strings.ContainsAny(f.Found, "0123456789"), f)
		})
	}
}

func TestWishes(t *testing.T) {
	const text = `[experiment]
reboot = "none"
[vms.P]
runner = "python"
path = "/usr/bin/python3"
variants = ["v"]
[vms.C]
runner = "c"
variants = ["w"]
[variants.v]
entry = "bench.py"
[variants.w]
entry = "bench.so"
[benchmarks]
nbody = { parameter = 1 }
fasta = { parameter = 1 }
[counters]
sources = ["msr"]
kernel = ["interrupts", "switches"]
[controls]
aslr = "require"
`
	cfg := must.Get(config.Parse("/x/x.toml", []byte(text), "host", Settings()))(t)
	w := Of(cfg, config.RebootNone)
	must.Be(t, slices.Equal(w.Interpreters, []Interpreter{{"P", "python", "/usr/bin/python3"}}) &&
		slices.Equal(w.Counters.Sources, []string{"msr"}) && w.Counters.Interrupts && w.Switches, w)
	// Without reboots, what the file does not state is at most a warning.
	strict := Of(cfg, config.RebootHardware)
	for name, want := range map[string][2]setting.Policy{
		"turbo": {setting.Warn, setting.Require}, "aslr": {setting.Require, setting.Require},
		"swap": {setting.Off, setting.Off},
	} {
		got := [2]setting.Policy{w.Control.Of(name).Policy, strict.Control.Of(name).Policy}
		must.Equal(t, got, want, name, "without reboots and with")
	}
	must.Be(t, w.Probe.Temperature == setting.Warn && strict.Probe.Temperature == setting.Require &&
		w.Control.Heap == cfg.Limits.Heap, w.Probe, "heap", w.Control.Heap, "without reboots", strict.Probe)
	must.Be(t, len(Study().Interpreters) == 0 && slices.Contains(Study().Counters.Sources, msr.None), Study())
}
