package msr

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	libkrun "krund/cgo"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// noModules is a machine without kernel modules.
func noModules(context.Context, sysroot.Root, int) error {
	return errors.New("modprobe msr: FATAL: Module msr not found")
}

func TestPerfPerCore(t *testing.T) {
	k := newKernel(t)
	c, r := system{open: k.openEvent, load: noModules}.choose(t.Context(), xeon.root(t),
		Want{Sources: []string{Perf, None}, Scope: PerCore})
	must.Need(t, r.Chosen == Perf && c != nil, r)
	const each = "aperf on core %, mperf on core %, cycles on core %, instructions on core %, " +
		"context_switches on core %, migrations on core %, page_faults on core %, smi on core %"
	got, want := names(c), strings.ReplaceAll(each, "%", "0")+", "+strings.ReplaceAll(each, "%", "1")
	must.Equal(t, got, want, "columns")
	must.Be(t, k.calls[0] == (call{"aperf", 1, 0, true, false}) &&
		k.calls[1] == (call{"mperf", 2, 0, false, false}) && k.calls[8].core == 1 && k.calls[8].leads,
		"calls", k.calls)
	must.Equal(t, len(c.Files()), 2, "files; want a leader for each core")
	spec := must.Get(c.Apply(libkrun.Spec{Iterations: 1}, 4))(t)
	must.Be(t, spec.Scope == libkrun.PerIteration && len(spec.Groups) == 2 && spec.Groups[1].FD == 5 &&
		spec.Groups[1].Columns == 8 && spec.Groups[1].Source == libkrun.SourcePerf, "plan", spec)
	b := must.Get(libkrun.Create(spec))(t)
	must.Do(t, b.Close())
	must.Refused(c.Apply(spec, 4))(t, "", "a plan with columns was accepted")
	err := c.Close()
	must.Be(t, err == nil && k.left() == 0, "close", err, k.left(), "left open")
}

func TestPerfHybrid(t *testing.T) {
	k := newKernel(t)
	s := system{open: k.openEvent, load: noModules}
	c, r := s.choose(t.Context(), hybrid.root(t), Want{Sources: []string{Perf}, Scope: Execution})
	must.Need(t, c != nil, r)
	configs := map[int]uint64{}
	for _, call := range k.calls {
		if call.name == "cycles" {
			configs[call.core] = call.config
		}
	}
	if want := map[int]uint64{0: 4 << 32, 1: 4 << 32, 2: 10 << 32}; !maps.Equal(configs, want) {
		t.Errorf("cycles are %v; want %v: the PMU's type above, for each kind of core", configs, want)
	}
	spec, err := c.Apply(libkrun.Spec{Iterations: 1}, 3)
	must.Be(t, err == nil && spec.Scope == libkrun.PerExecution, "scope", spec.Scope, "error", err)
	must.Do(t, c.Close())

	c, r = s.choose(t.Context(), hybrid.root(t), Want{Sources: []string{Perf}, Scope: Task})
	must.Need(t, c != nil, r)
	const want = "aperf, mperf, context_switches, migrations, page_faults, smi, cycles.cpu_atom, " +
		"instructions.cpu_atom, cycles.cpu_core, instructions.cpu_core"
	must.Equal(t, names(c), want, "columns")
	for i, g := range c.groups {
		must.Be(t, g.Partial == (i > 0), "group", i, "partial", g.Partial)
	}
	err = c.Close()
	must.Be(t, err == nil && k.left() == 0, "close", err)
}

// TestPerfTask: the group that is kept waits for a child; the one that was tried
// first counted this thread.
func TestPerfTask(t *testing.T) {
	k := newKernel(t)
	c, r := system{open: k.openEvent, load: noModules}.choose(t.Context(), xeon.root(t),
		Want{Sources: []string{Perf}, Scope: Task})
	must.Need(t, c != nil, r)
	if got, want := names(c), "aperf, mperf, cycles, instructions, context_switches, migrations, "+
		"page_faults, smi"; got != want {
		t.Errorf("columns %s\nwant    %s", got, want)
	}
	if n := len(k.calls); n != 16 || k.calls[0].inherit || !k.calls[8].inherit || k.calls[8].core != -1 {
		t.Errorf("calls %+v", k.calls)
	}
	must.Be(t, len(c.Files()) == 1 && k.left() == 8, len(c.Files()), "files", k.left(),
		"events open; want 1 and 8: those that were tried are closed")
	err := c.Close()
	must.Be(t, err == nil && k.left() == 0, "close", err)
}

func TestPerfRefused(t *testing.T) {
	tests := []struct {
		name     string
		machine  tree
		scope    string
		refuse   map[string]string // event: error
		hardware int
		why      string // part of Why; the source is available when it begins with "counts"
		notes    string // part of the notes
	}{
		{"no cycles", xeon, PerCore, map[string]string{"cycles": "enoent"}, 0,
			"cycles on core 0: perf_event_open: no such file or directory: the processor, or the " +
				"hypervisor", ""},
		{"no right", xeon, PerCore, map[string]string{"aperf": "eacces"}, 0, "run krund as root", ""},
		{"no perf", xeon, Task, map[string]string{"aperf": "enosys", "mperf": "enosys", "cycles": "enosys",
			"instructions": "enosys", "context_switches": "enosys", "migrations": "enosys",
			"page_faults": "enosys", "smi": "enosys"}, 0,
			"there is nothing to count: aperf: perf_event_open: function not implemented: the kernel " +
				"was built without perf events", ""},
		{"files", xeon, PerCore, map[string]string{"mperf": "emfile"}, 0, "raise the limit of open files",
			""},
		{"no smi", xeon, PerCore, map[string]string{"smi": "enoent"}, 0,
			"counts aperf, mperf, cycles, instructions, context_switches, migrations, page_faults, of 2 " +
				"cores", "no smi on core 0"},
		{"one counter free", xeon, PerCore, nil, 1, "counts aperf, mperf, cycles, of 2 cores", ""},
		{"none free", xeon.and(tree{"/proc/sys/kernel/nmi_watchdog": "1\n"}), PerCore, map[string]string{},
			-1, "the counters are used by another program: the NMI watchdog", ""},
		{"none free for a task", xeon, Task, nil, -1,
			"counts aperf, mperf, context_switches, migrations, page_faults, smi, of the benchmark's " +
				"threads", ""},
		{"watchdog, but room", xeon.and(tree{"/proc/sys/kernel/nmi_watchdog": "1\n"}), PerCore, nil, 0,
			"counts aperf", "kernel.nmi_watchdog = 0"},
		{"bad online", xeon.and(tree{"/sys/devices/system/cpu/online": "x\n"}), PerCore, nil, 0,
			`"x" is not a CPU number`, ""},
		{"core without PMU", hybrid.and(tree{devices + "/cpu_atom/cpus": "7\n"}), PerCore, nil, 0,
			"core 2 belongs to no PMU", ""},
		{"only one of A/MPERF", xeon.and(tree{devices + "/msr/events/mperf": "event=x\n"}), PerCore, nil, 0,
			"counts cycles, instructions", "no mperf: event"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			k := newKernel(t)
			for name, err := range test.refuse {
				k.refuse[name] = errRefused[err]
			}
			k.hardware = test.hardware
			c, r := system{open: k.openEvent, load: noModules}.choose(t.Context(), test.machine.root(t),
				Want{Sources: []string{Perf}, Scope: test.scope})
			f := r.Findings[0]
			must.Be(t, strings.Contains(f.Why, test.why) &&
				strings.Contains(strings.Join(f.Notes, "; "), test.notes), f, "want", test.why, "notes",
				test.notes)
			must.Be(t, f.Available == strings.HasPrefix(test.why, "counts") && (c != nil) == f.Available,
				"available", f.Available, "counters", c != nil)
			if c != nil {
				must.Do(t, c.Close())
			}
			must.Equal(t, k.left(), 0, "not everything was closed")
		})
	}
}

// TestOrder: the first source that works is used, and the reason covers all before it.
func TestOrder(t *testing.T) {
	k := newKernel(t)
	k.refuse["aperf"] = errRefused["eacces"]
	s := system{open: k.openEvent, load: noModules}
	root := xeon.root(t)
	c, r := s.choose(t.Context(), root, Want{Sources: []string{Perf, MSR, None}, Scope: PerCore})
	must.Need(t,
		c != nil && c.Source() == None && len(c.Files()) == 0 && r.Chosen == None && len(r.Findings) == 3, r)
	for _, part := range []string{"perf: not available: aperf on core 0",
		"msr: not available: read /dev/cpu/0/msr",
		"could not be: modprobe msr: FATAL: Module msr not found", "none: available"} {
		must.Contain(t, r.String(), part, "reason", "in it")
	}
	spec, err := c.Apply(libkrun.Spec{Iterations: 3}, 4)
	must.Be(t, err == nil && len(spec.Columns)+len(spec.Groups) == 0, "plan", spec, err)
	must.Do(t, c.Close())
	c, r = s.choose(t.Context(), root, Want{Sources: []string{Perf, MSR}, Scope: PerCore})
	must.Be(t, c == nil && r.Chosen == "", r, "want nothing")
	_, r = s.choose(t.Context(), root, Want{Sources: []string{"pcm"}})
	must.Contain(t, r.String(), "no such source", r)
	_, r = s.choose(t.Context(), root, Want{Sources: []string{MSR}, Scope: Task})
	must.Contain(t, r.String(), "registers belong to cores", r)
}
