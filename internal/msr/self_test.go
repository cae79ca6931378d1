package msr

import (
	"errors"
	"os"
	"strings"
	"testing"

	libkrun "krund/cgo"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

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
