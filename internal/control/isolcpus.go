package control

import (
	"context"
	"errors"
	"io/fs"

	"krund/internal/config/setting"
	"krund/internal/host"
)

// isolcpus checks that the kernel argument isolcpus= excludes no CPUs from scheduling. The kernel
// does not balance load on such CPUs: all threads of a virtual machine would share one CPU. CPUs
// isolated by a control group at run time do not count, since they belong to the shield.
var isolcpus = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "isolcpus", Policy: setting.Require,
		Brief: "no kernel argument `isolcpus=`",
		Why:   "on isolated CPUs the kernel does not spread threads: a multithreaded VM would run on one CPU",
		What:  "nothing: `/sys/devices/system/cpu/isolated` must be empty",
		Notes: "prefer `shield`; the CPUs that it isolates at run time do not count",
	},
	plan: fixed(planIsolcpus),
}

func planIsolcpus(_ context.Context, m *Machine) Plan {
	const wanted = "none"
	text, err := m.Root.Read("/sys/devices/system/cpu/isolated")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unreadable(wanted, err)
	}
	set, err := host.ParseCPUList(text)
	if err != nil {
		return unreadable(wanted, err)
	}
	if partitions, err := m.ReadCPUs(groupRoot + "/cpuset.cpus.isolated"); err == nil {
		set = set.Minus(partitions)
	}
	if len(set) == 0 {
		return ok("none", wanted)
	}
	return Plan{
		Status: setting.StatusNeedsReboot, Found: "CPU " + set.String(), Wanted: wanted,
		Fix: withoutArgument(m.Host, "isolcpus"),
	}
}
