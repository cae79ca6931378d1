package control

import (
	"context"
	"errors"
	"io/fs"

	"krund/internal/host"
	"krund/internal/setting"
)

// IsolcpusSettings says which CPUs the kernel may keep out of its scheduler.
type IsolcpusSettings struct {
	Policy setting.Policy
	CPUs   string // in list form; "" is none, as in the study
}

// isolcpus checks the set of CPUs that the kernel argument isolcpus= took out of the scheduler. On such CPUs the kernel does not move
// threads about: all threads of a virtual machine would share one CPU. CPUs isolated at run time by a control group are no concern here:
// those are the shield's.
func isolcpus(s IsolcpusSettings) Control {
	return Control{
		Name: "isolcpus", Policy: s.Policy,
		Why:  "on isolated CPUs the kernel does not spread threads: a multithreaded VM would run on one CPU",
		plan: func(_ context.Context, m *Machine) Plan { return planIsolcpus(m, s.CPUs) },
	}
}

func planIsolcpus(m *Machine, list string) Plan {
	want, err := host.ParseCPUList(list)
	if err != nil {
		return cannot("unknown", list, err.Error(), "correct isolcpus.cpus in [controls]")
	}
	wanted := setOrNone(want)
	text, err := m.Root.Read("/sys/devices/system/cpu/isolated")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unreadable(wanted, err)
	}
	set, err := host.ParseCPUList(text)
	if err != nil {
		return unreadable(wanted, err)
	}
	if text, err := m.Root.Read(groupRoot + "/cpuset.cpus.isolated"); err == nil {
		if partitions, err := host.ParseCPUList(text); err == nil {
			set = set.Minus(partitions)
		}
	}
	found := setOrNone(set)
	switch {
	case set.Equal(want):
		return ok(found, wanted)
	case len(want) == 0:
		return Plan{Status: setting.StatusNeedsReboot, Found: found, Wanted: wanted, Fix: withoutArgument(m.Host, "isolcpus")}
	}
	return Plan{Status: setting.StatusNeedsReboot, Found: found, Wanted: wanted, Fix: kernelArgument(m.Host, "isolcpus="+want.String())}
}

func setOrNone(set host.CPUs) string {
	if len(set) == 0 {
		return "none"
	}
	return "CPU " + set.String()
}
