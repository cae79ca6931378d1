package msr

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	libkrun "krund/cgo"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// registers imitates the MSR devices behind a Root: every register has eight
// bytes of its own, A/MPERF go on with every reading, and so does the cycles
// counter while its control registers say so.
type registers struct {
	sysroot.OS
	cores    []map[int64]uint64
	leaf     [4]uint32 // CPUID leaf 0xA
	noCPUID  bool
	stuck    map[int64]bool // ignores writes, stands still
	refuse   map[int64]error
	writes   []string
	mostLeaf uint32
}

func (r *registers) core(path string) map[int64]uint64 {
	var n int
	if _, err := fmt.Sscanf(filepath.Base(filepath.Dir(path)), "%d", &n); err != nil {
		return nil
	}
	return r.cores[n]
}

func (r *registers) ReadAt(path string, data []byte, offset int64) error {
	if filepath.Base(path) == "cpuid" {
		if r.noCPUID {
			return syscall.ENOENT
		}
		leaf := [4]uint32{r.mostLeaf}
		if offset == 0xa {
			leaf = r.leaf
		}
		for i, word := range leaf {
			binary.NativeEndian.PutUint32(data[4*i:], word)
		}
		return nil
	}
	regs := r.core(path)
	if err := r.refuse[offset]; err != nil {
		return err
	}
	running := regs[regFixedCtrl]&ctrlOn == ctrlOn && regs[regGlobal]&globalOn != 0
	if !r.stuck[offset] && (offset == regAPERF || offset == regMPERF || offset == regCycles && running) {
		regs[offset]++
	}
	binary.NativeEndian.PutUint64(data, regs[offset])
	return nil
}

func (r *registers) WriteAt(path string, data []byte, offset int64) error {
	value := binary.NativeEndian.Uint64(data)
	r.writes = append(r.writes, fmt.Sprintf("%s %#x=%#x", filepath.Base(filepath.Dir(path)), offset, value))
	if err := r.refuse[-offset]; err != nil {
		return err
	}
	if !r.stuck[offset] {
		r.core(path)[offset] = value
	}
	return nil
}

// skylake has 4 fixed counters of 48 bits in CPUID leaf 0xA.
var skylake = [4]uint32{0x07300404, 0, 0, 0x604}

// twoCores is a machine with MSR devices and without perf.
func twoCores(t *testing.T) (*registers, sysroot.Root) {
	r := &registers{
		cores: []map[int64]uint64{{}, {}}, leaf: skylake, mostLeaf: 0x16,
		stuck: map[int64]bool{}, refuse: map[int64]error{},
	}
	root := xeon.and(tree{"/dev/cpu/0/msr": "", "/dev/cpu/1/msr": "",
		"/proc/cpuinfo": "vendor_id\t: AuthenticAMD\n"}).root(t)
	return r, root.With(r)
}

func TestDevices(t *testing.T) {
	regs, root := twoCores(t)
	// Fixed counter 0 belongs to another program and must stay as it is.
	for _, core := range regs.cores {
		core[regFixedCtrl], core[regGlobal] = 0xb, 1<<32|3
	}
	before := []map[int64]uint64{maps.Clone(regs.cores[0]), maps.Clone(regs.cores[1])}
	c, r := system{load: noModules}.choose(t.Context(), root, Want{Sources: []string{MSR}, Scope: PerCore})
	must.Need(t, c != nil, r)
	if got, want := names(c), "aperf on core 0, mperf on core 0, cycles on core 0, aperf on core 1, "+
		"mperf on core 1, cycles on core 1"; got != want {
		t.Errorf("columns %s\nwant    %s", got, want)
	}
	for i, core := range regs.cores {
		must.Be(t, core[regFixedCtrl] == 0x3b && core[regGlobal] == 3<<32|3, "core", i, "control registers",
			core[regFixedCtrl], core[regGlobal])
	}
	g := c.groups[1]
	want := []libkrun.Register{{Address: 0xe8, Bits: 64}, {Address: 0xe7, Bits: 64},
		{Address: 0x30a, Bits: 48}}
	must.Be(t, g.Source == libkrun.SourceRegisters && g.Turn == 2 &&
		fmt.Sprint(g.Registers) == fmt.Sprint(want), "group", g)
	must.Refused(c.Files()[0].Write([]byte{0}))(t, "", "the benchmark could write to the registers")
	must.Do(t, c.Close())
	for i, core := range regs.cores {
		must.Be(t, core[regFixedCtrl] == before[i][regFixedCtrl] && core[regGlobal] == before[i][regGlobal],
			"core", i, "control registers", core[regFixedCtrl], core[regGlobal], "were not restored")
	}
}

// TestProbeChangesNothing looks at the same machine.
func TestProbeChangesNothing(t *testing.T) {
	regs, root := twoCores(t)
	loaded := false
	s := system{open: newKernel(t).openEvent,
		load: func(context.Context, sysroot.Root, int) error { loaded = true; return nil }}
	list := s.probe(t.Context(), root, Want{Sources: []string{Perf, MSR, None}, Scope: PerCore})
	must.Be(t, len(list) == 3 && list[1].Available && len(list[1].Columns) == 3, "findings", list)
	must.Be(t, len(regs.writes) == 0 && !loaded, "wrote", regs.writes, "loaded modules", loaded)
}

func TestDevicesRefused(t *testing.T) {
	tests := []struct {
		name   string
		change func(*registers)
		files  tree
		why    string
		notes  string // the source is available without cycles; "": not available
		writes int
	}{
		{"no counters behind", func(r *registers) { r.stuck[regAPERF] = true }, nil,
			"register 0xe8 of core 0 stands still at 0", "", 0},
		{"hypervisor", func(r *registers) { r.refuse[regMPERF] = syscall.EIO }, nil, "no such register", "",
			0},
		{"no right", func(r *registers) { r.refuse[regAPERF] = syscall.EPERM }, nil,
			"needs root and CAP_SYS_RAWIO", "", 0},
		{"offline core", func(r *registers) { r.refuse[regAPERF] = syscall.ENXIO }, nil, "modprobe msr", "",
			0},
		{"watchdog", nil, tree{"/proc/sys/kernel/nmi_watchdog": "1\n"}, "", "no cycles: the NMI watchdog", 0},
		{"AMD", func(r *registers) { r.leaf = [4]uint32{} }, nil, "", "no fixed counter for its cycles", 0},
		{"old", func(r *registers) { r.mostLeaf = 5 }, nil, "", "no fixed counter for its cycles", 0},
		{"no cpuid device", func(r *registers) { r.noCPUID = true }, nil, "", "modprobe cpuid", 0},
		{"in use", func(r *registers) { r.cores[1][regFixedCtrl], r.cores[1][regGlobal] = 0xb0, globalOn },
			nil, "", "fixed counter 1 is in use, its control field is 0xb", 4},
		{"locked down", func(r *registers) { r.refuse[-regFixedCtrl] = syscall.EPERM }, nil, "",
			"operation not permitted", 2},
		{"write ignored", func(r *registers) { r.stuck[regGlobal] = true }, nil, "",
			"register 0x38f was set to 0x200000000 and reads back 0x0", 4},
		{"cycles stand still", func(r *registers) { r.stuck[regCycles] = true }, nil, "",
			"register 0x30a of core 0 stands still", 4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			regs, root := twoCores(t)
			for name, text := range test.files {
				must.Do(t, os.WriteFile(root.Path(name), []byte(text), 0o600))
			}
			if test.change != nil {
				test.change(regs)
			}
			before := []map[int64]uint64{maps.Clone(regs.cores[0]), maps.Clone(regs.cores[1])}
			c, r := system{load: noModules}.choose(t.Context(), root,
				Want{Sources: []string{MSR}, Scope: PerCore})
			f := r.Findings[0]
			must.Need(t, (c != nil) == (test.notes != "") && strings.Contains(f.Why, test.why) &&
				strings.Contains(strings.Join(f.Notes, "; "), test.notes), f, "want", test.why, "notes",
				test.notes)
			must.Equal(t, len(regs.writes), test.writes, "writes", regs.writes)
			if c != nil {
				if len(c.columns) != 4 || c.groups[0].Columns != 2 || c.groups[0].Turn != 0 {
					t.Errorf("columns %s, group %+v", names(c), c.groups[0])
				}
				must.Do(t, c.Close())
			}
			for i, core := range regs.cores {
				if core[regFixedCtrl] != before[i][regFixedCtrl] || core[regGlobal] != before[i][regGlobal] {
					t.Errorf("core %d: control registers %#x and %#x were not restored", i,
						core[regFixedCtrl], core[regGlobal])
				}
			}
		})
	}
}

// TestLeftover: an earlier krund that was killed left the counter running. That is
// taken over, without a write.
func TestLeftover(t *testing.T) {
	regs, root := twoCores(t)
	for _, core := range regs.cores {
		core[regFixedCtrl], core[regGlobal] = ctrlOn, globalOn
	}
	c, r := system{load: noModules}.choose(t.Context(), root, Want{Sources: []string{MSR}, Scope: Execution})
	must.Need(t, c != nil && len(c.columns) == 6 && len(regs.writes) == 0, r, "writes", regs.writes)
	err := c.Close()
	must.Be(t, err == nil && len(regs.writes) == 0, err, "writes", regs.writes)
}

// TestHiddenWidth: an Intel processor whose counters work although CPUID is silent.
func TestHiddenWidth(t *testing.T) {
	for name, hide := range map[string]func(*registers){
		"no device": func(r *registers) { r.noCPUID = true },
		"no leaf":   func(r *registers) { r.mostLeaf = 5 },
		"zeros":     func(r *registers) { r.leaf = [4]uint32{} },
	} {
		t.Run(name, func(t *testing.T) {
			regs, root := twoCores(t)
			hide(regs)
			must.Do(t, os.WriteFile(root.Path("/proc/cpuinfo"), []byte("vendor_id\t: GenuineIntel\n"), 0o600))
			c, r := system{load: noModules}.choose(t.Context(), root,
				Want{Sources: []string{MSR}, Scope: PerCore})
			must.Need(t, c != nil && len(c.columns) == 6 && c.groups[1].Registers[2].Bits == 48 &&
				strings.Contains(r.String(), "assuming 48 bits"), r)
			if err := c.Close(); err != nil || regs.cores[0][regGlobal] != 0 {
				t.Errorf("%v, control register %#x", err, regs.cores[0][regGlobal])
			}
		})
	}
	regs, root := twoCores(t)
	regs.leaf = [4]uint32{0x07280202} // says that it has none
	must.Do(t, os.WriteFile(root.Path("/proc/cpuinfo"), []byte("vendor_id\t: GenuineIntel\n"), 0o600))
	c, r := system{load: noModules}.choose(t.Context(), root, Want{Sources: []string{MSR}, Scope: PerCore})
	must.Need(t, c != nil && len(c.columns) == 4 && len(regs.writes) == 0, r, "writes", regs.writes)
	must.Do(t, c.Close())
}

func TestControlPlan(t *testing.T) {
	for _, test := range []struct {
		fixed, global, newFixed, newGlobal uint64
		refused                            bool
	}{
		{0, 0, 0x30, 2 << 32, false},
		{0xfff, 0, 0xf3f, 2 << 32, false}, // set up but not enabled: not in use
		{0x330, 7<<32 | 0xff, 0x330, 7<<32 | 0xff, false},
		{0x0b0, 2 << 32, 0x0b0, 2 << 32, true},  // with an interrupt: the watchdog's
		{0x010, 2 << 32, 0x010, 2 << 32, true},  // kernel mode only: in use
		{0x00b, 1 << 32, 0x03b, 3 << 32, false}, // fixed counter 0 is not our business
	} {
		f, g, err := controlPlan(test.fixed, test.global)
		must.Be(t, f == test.newFixed && g == test.newGlobal && (err != nil) == test.refused, test.fixed,
			test.global, f, g, err, test.newFixed, test.newGlobal)
	}
}

// TestNoDevice: whether the module was tried, and what modprobe said, is in the reason.
func TestNoDevice(t *testing.T) {
	_, root := twoCores(t)
	root = sysroot.New(root.Path("/")) // without the imitated devices
	must.Do(t, os.RemoveAll(root.Path("/dev")))
	want := Want{Sources: []string{MSR}, Scope: PerCore}
	_, r := (system{load: noModules}).choose(t.Context(), root, want)
	must.Contain(t, r.String(), "could not be: modprobe msr: FATAL: Module msr not found", r)
	loaded := func(context.Context, sysroot.Root, int) error { return nil }
	_, r = (system{load: loaded}).choose(t.Context(), root, want)
	must.Contain(t, r.String(), "is loaded, but there is no device", r)
	f := (system{load: noModules}).probe(t.Context(), root, want)
	must.Contain(t, f[0].Why, "the kernel loads no modules", f)
}

func TestLoadModule(t *testing.T) {
	script := func(text string) string {
		path := filepath.Join(t.TempDir(), "modprobe")
		must.Do(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755))
		return path
	}
	must.Do(t, loadModule(t.Context(), script("test $1 = msr\n"), "msr"))
	for name, test := range map[string]struct{ program, want string }{
		"said": {script("echo 'modprobe: ERROR: could not insert msr: Operation not permitted' >&2; " +
			"echo more; exit 1\n"), "could not insert msr: Operation not permitted"},
		"silent": {script("exit 3\n"), "exit status 3"},
		"absent": {"/nonexistent/modprobe", "no such file"},
	} {
		err := loadModule(t.Context(), test.program, "msr")
		must.Be(t, err != nil && strings.Contains(err.Error(), test.want) &&
			!strings.Contains(err.Error(), "more"), name, err, "want", test.want)
	}
}
