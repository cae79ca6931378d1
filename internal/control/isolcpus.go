package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/internal/machine/probe"
)

// isolcpus checks that the kernel argument isolcpus= excludes no CPUs from scheduling. The kernel
// does not balance load on such CPUs: all threads of a virtual machine would share one CPU.
//
// /sys/devices/system/cpu/isolated shows the CPUs excluded by the argument (Linux 6.12,
// drivers/base/cpu.c:283, HK_TYPE_DOMAIN); later kernels add those of isolated partitions, of which
// krund's own does not count. The file cpuset.cpus.isolated does not tell them apart: since 6.12 it
// starts with the CPUs of the argument (kernel/cgroup/cpuset.c:3753-3757).
var isolcpus = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "isolcpus", Policy: setting.Require,
		Brief: "no kernel argument `isolcpus=`",
		Why:   "on isolated CPUs the kernel does not spread threads: a multithreaded VM would run on one CPU",
		What: "nothing: `/sys/devices/system/cpu/isolated` must be empty, and krund in no isolated " +
			"cpuset partition",
		Notes: "prefer `shield`; the CPUs that it isolates at run time do not count",
	},
	plan: func(_ context.Context, m *Machine, _ setting.Demand, r Request) Plan {
		if p, inside := m.insidePartition(); inside && !r.Of("shield").Policy.Changes() {
			return p
		}
		return planIsolcpus(m)
	},
}

// insidePartition is the plan in an isolated cpuset partition of another program, which does to its
// processes what the kernel argument does. The nearest group that is a partition decides
// (docs.kernel.org, admin-guide/cgroup-v2, cpuset.cpus.partition).
func (m *Machine) insidePartition() (p Plan, inside bool) {
	groups, _ := m.Groups() // none: without control groups of version 2
	for _, group := range append(groups, "") {
		file := groupRoot + group + "/cpuset.cpus.partition"
		kind, err := m.Root.Read(file)
		if err != nil || kind != "isolated" && kind != "root" {
			continue // it is a member of the group above
		}
		fix := `write "root" to ` + file + ", or start krund outside of the group"
		if probe.PlatformOf(m.Host).Container {
			fix = `on the host of this container: write "root" to cpuset.cpus.partition of its group`
		}
		return cannot("isolated", "none", "krund's control group "+path.Clean("/"+group)+" is an isolated "+
			"partition", fix), kind == "isolated"
	}
	return p, false
}

func planIsolcpus(m *Machine) Plan {
	const wanted = "none"
	text, err := m.Root.Read("/sys/devices/system/cpu/isolated")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unreadable(wanted, err)
	}
	set, err := host.ParseCPUList(text)
	if err != nil {
		return unreadable(wanted, err)
	}
	if kind, err := m.Root.Read(shieldDir + "/cpuset.cpus.partition"); err == nil && kind == "isolated" {
		if own, err := m.ReadCPUs(shieldDir + "/cpuset.cpus"); err == nil {
			set = set.Minus(own)
		}
	}
	cmdline, err := m.Root.Read("/proc/cmdline")
	switch {
	case len(set) == 0:
		return ok("none", wanted)
	case err == nil && !strings.Contains(" "+cmdline, " isolcpus="):
		return ok("none", wanted, fmt.Sprintf("CPU %s are in an isolated cpuset partition of another "+
			"program", set))
	}
	return Plan{
		Status: setting.StatusNeedsReboot, Found: "CPU " + set.String(), Wanted: wanted,
		Fix: bootRemedy(m.Host, "isolcpus", true),
	}
}
