package control

import (
	"context"
	"errors"
	"io/fs"

	"krund/internal/config/setting"
	"krund/internal/host"
)

// isolcpus checks that the kernel argument isolcpus= took no CPUs out of the scheduler. On such
// CPUs the kernel does not move threads about: all threads of a virtual machine would share one
// CPU. CPUs that a control group isolated at run time do not count: those are the shield's.
var isolcpus = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "isolcpus", Policy: setting.Require,
		Brief: "no kernel argument `isolcpus=`",
		Why:   "on isolated CPUs the kernel does not spread threads: a multithreaded VM would run on one CPU",
		What:  "nothing: `/sys/devices/system/cpu/isolated` must be empty",
		Notes: "CPUs isolated at run time by `shield`, which does it better, do not count",
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
