package msr

import (
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	c, r := k.opened(xeon, Want{Sources: []string{Perf, None}, Scope: PerCore})
	must.Need(t, r.Chosen == Perf, r)
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
}

func TestPerfHybrid(t *testing.T) {
	k := newKernel(t)
	c, _ := k.opened(hybrid, Want{Sources: []string{Perf}, Scope: Execution})
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
	c, _ = newKernel(t).opened(hybrid, Want{Sources: []string{Perf}, Scope: Task})
	const want = "aperf, mperf, context_switches, migrations, page_faults, smi, cycles.cpu_atom, " +
		"instructions.cpu_atom, cycles.cpu_core, instructions.cpu_core"
	must.Equal(t, names(c), want, "columns")
	for i, g := range c.groups {
		must.Be(t, g.Partial == (i > 0), "group", i, "partial", g.Partial)
	}
}

// TestPerfTask: the group that is kept waits for a child; the one that was tried
// first counted this thread.
func TestPerfTask(t *testing.T) {
	k := newKernel(t)
	c, _ := k.opened(xeon, Want{Sources: []string{Perf}, Scope: Task})
	if got, want := names(c), "aperf, mperf, cycles, instructions, context_switches, migrations, "+
		"page_faults, smi"; got != want {
		t.Errorf("columns %s\nwant    %s", got, want)
	}
	if n := len(k.calls); n != 16 || k.calls[0].inherit || !k.calls[8].inherit || k.calls[8].core != -1 {
		t.Errorf("calls %+v", k.calls)
	}
	must.Be(t, len(c.Files()) == 1 && k.left() == 8, len(c.Files()), "files", k.left(),
		"events open; want 1 and 8: those that were tried are closed")
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

func mayLook(*os.File) error { return nil }

func TestSelf(t *testing.T) {
	k := newKernel(t)
	c, r := system{open: k.openEvent, look: mayLook}.choose(t.Context(), xeon.root(t),
		Want{Sources: []string{RDPMC, None}, Scope: Task})
	must.Need(t, c != nil && c.Source() == RDPMC, r)
	must.Be(t, names(c) == "cycles" && len(c.Files()) == 1 && k.left() == 0, "columns", names(c),
		len(c.Files()), "files", k.left(), "events left open here")
	must.Be(t, k.calls[0] == (call{"cycles", hardwareCycles, -1, true, false}) && len(k.calls) == 1, "calls",
		k.calls)
	self := c.Self()
	must.Be(t, len(self) == 1 && self[0] == (Self{File: 0, Type: typeHardware, Config: hardwareCycles}),
		"the measured process is to open", self)
	spec, err := c.Apply(libkrun.Spec{Iterations: 1}, 4)
	must.Be(t, err == nil && len(spec.Groups) == 1 && spec.Groups[0].Source == libkrun.SourceSelf &&
		spec.Groups[0].FD == 4 && spec.Columns[0].Core == libkrun.NoCore, "plan", spec, err)
	b := must.Get(libkrun.Create(spec))(t)
	must.Do(t, errors.Join(b.Close(), c.Close()))
}

func TestSelfRefused(t *testing.T) {
	no := errors.New("the kernel does not allow RDPMC")
	for _, test := range []struct {
		name     string
		machine  tree
		scope    string
		refuse   map[string]string
		hardware int
		look     error
		why      string
	}{
		{"cores", xeon, PerCore, nil, 0, nil, `set scope = "task", or use perf`},
		{"execution", xeon, Execution, nil, 0, nil, `set scope = "task", or use perf`},
		{"switched off", xeon.and(tree{devices + "/cpu/rdpmc": "0\n"}), Task, nil, 0, nil,
			"write 1 to /sys/bus/event_source/devices/cpu/rdpmc"},
		{"hybrid", hybrid, Task, nil, 0, nil, "cores of several kinds"},
		{"virtual machine without PMU", xeon, Task, map[string]string{"cycles": "enoent"}, 0, nil,
			"the hypervisor that shows it, has no such counter"},
		{"no right", xeon, Task, map[string]string{"cycles": "eacces"}, 0, nil, "run krund as root"},
		{"no place", xeon.and(tree{"/proc/sys/kernel/nmi_watchdog": "1\n"}), Task, nil, -1, nil,
			"kernel.nmi_watchdog = 0"},
		{"not allowed", xeon, Task, nil, 0, no, "the kernel does not allow RDPMC: use perf"},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := newKernel(t)
			k.hardware = test.hardware
			for name, err := range test.refuse {
				k.refuse[name] = errRefused[err]
			}
			s := system{open: k.openEvent, look: func(*os.File) error { return test.look }}
			c, r := s.choose(t.Context(), test.machine.root(t),
				Want{Sources: []string{RDPMC, None}, Scope: test.scope})
			f := r.Findings[0]
			must.Be(t, c != nil && c.Source() == None && !f.Available && strings.Contains(f.Why, test.why) &&
				f.Columns == nil, r, "want", test.why)
			must.Equal(t, k.left(), 0, "an event is still open")
		})
	}
}

// TestLookMapped: on this machine it works or returns the reason; a file that is no event has no
// page.
func TestLookMapped(t *testing.T) {
	null := must.Get(os.Open(os.DevNull))(t)
	defer null.Close()
	must.Refuse(t, lookMapped(null), "", "/dev/null is an event")
	for _, f := range Probe(t.Context(), sysroot.New("/"), Want{Sources: []string{RDPMC}, Scope: Task}) {
		must.Be(t, f.Available != (f.Columns == nil) && f.Why != "", f)
		t.Log(f)
	}
}

// fakeCore is a core that runs at hz while its MPERF counts at base, and the clock.
type fakeCore struct {
	now      time.Time
	hz, base float64
	bound    int
	fail     error
	halted   bool
}

func (f *fakeCore) Now() time.Time                             { return f.now }
func (f *fakeCore) Sleep(context.Context, time.Duration) error { return nil }
func (f *fakeCore) Close() error                               { return nil }
func (f *fakeCore) read() (aperf, mperf uint64, err error) {
	if f.halted {
		return 1, 1, f.fail
	}
	seconds := f.now.Sub(time.Unix(0, 0)).Seconds()
	return uint64(f.hz * seconds), uint64(f.base * seconds), f.fail
}

func (f *fakeCore) meter() speedometer {
	return speedometer{
		clock: f, open: func(int) (coreCounter, error) { return f, nil },
		bind: func(core int) (func(), error) {
			f.bound++
			return func() { f.bound-- }, nil
		},
		work: func() { f.now = f.now.Add(100 * time.Microsecond) },
	}
}

// TestMeasureSpeeds: an efficient core held at 2.4 GHz, whose MPERF counts at 3.187 GHz, as a
// Core i9-12900 has it (Linux 6.12, drivers/cpufreq/intel_pstate.c:949-953): APERF/MPERF is 0.753.
func TestMeasureSpeeds(t *testing.T) {
	f := &fakeCore{now: time.Unix(1, 0), hz: 2.4e9, base: 3.187e9}
	list, err := f.meter().all(t.Context(), []int{4, 5})
	must.Need(t, err == nil && len(list) == 2 && list[1].Core == 5 && f.bound == 0, list, err, f.bound,
		"bound")
	for _, s := range list {
		must.Be(t, math.Abs(s.MPERF/3.187e9-1) <= 1e-3 && math.Abs(s.MHz()/2400-1) <= 1e-3 &&
			math.Abs(s.APERF/s.MPERF-0.753) <= 1e-3, s)
	}
	elapsed := f.now.Sub(time.Unix(1, 0))
	must.Be(t, elapsed <= 2*(speedSettle+speedWindow)+time.Millisecond, "two cores took", elapsed)
	f.halted = true
	list, err = f.meter().all(t.Context(), []int{0})
	must.Be(t, err != nil, "counters that stand still", list)
	f.halted, f.fail = false, errors.New("gone")
	_, err = f.meter().all(t.Context(), []int{0})
	must.Be(t, errors.Is(err, f.fail) && f.bound == 0, err, f.bound, "bound")
	ended, end := context.WithCancel(t.Context())
	end()
	must.Refused(f.meter().all(ended, []int{0}))(t, "", "measured after the end")
}

// TestOpenCore: without perf's events the registers are read, and without those it is an error.
func TestOpenCore(t *testing.T) {
	dir := t.TempDir()
	root := sysroot.New(dir)
	refuse := func(event, eventOptions) (*os.File, error) { return nil, os.ErrPermission }
	must.Refused(openCore(root, refuse, 2))(t, "", "opened nothing")
	name := filepath.Join(dir, "dev/cpu/2/msr")
	data := append(make([]byte, regMPERF), 7, 0, 0, 0, 0, 0, 0, 0, 0) // the file's bytes overlap
	must.Write(t, name, string(data))
	c := must.Get(openCore(root, refuse, 2))(t)
	_, mperf, err := c.read()
	must.Be(t, err == nil && mperf == 7, "MPERF", mperf, err)
}

// TestLiveSpeed measures this machine's first core.
func TestLiveSpeed(t *testing.T) {
	list, err := MeasureSpeeds(t.Context(), sysroot.New("/"), sysroot.RealClock{}, []int{0})
	if err != nil {
		t.Skip(err)
	}
	must.Be(t, list[0].MPERF >= 100e6 && list[0].APERF >= 100e6, list)
}
