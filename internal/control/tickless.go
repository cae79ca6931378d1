package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// TicklessSettings asks for CPUs that the timer leaves alone.
type TicklessSettings struct{ Policy Policy }

const nohzFile = "/sys/devices/system/cpu/nohz_full"

// tickless checks that the benchmark CPUs are in the kernel's nohz_full set and that a CPU is left for the timekeeping. Only a kernel
// argument changes the set. Other CPUs may be in it too.
func tickless(s TicklessSettings, benchmark string) Control {
	return Control{
		Name: "tickless", Policy: s.Policy,
		Why: "the timer interrupts each CPU 100 to 1000 times a second, benchmark or not",
		plan: func(_ context.Context, m *Machine) Plan {
			cpus, online, err := m.benchmarkCPUs(benchmark)
			if err != nil {
				return cannot("unknown", "tickless benchmark CPUs", err.Error(), "")
			}
			return planTickless(m, cpus, online)
		},
	}
}

func planTickless(m *Machine, cpus, online CPUs) Plan {
	wanted := "CPU " + cpus.String()
	text, err := m.Root.Read(nohzFile)
	if errors.Is(err, fs.ErrNotExist) {
		detail := "the kernel is built without CONFIG_NO_HZ_FULL"
		if state := kernelOption(m.Root, "CONFIG_NO_HZ_FULL"); state != "" {
			detail = "kernel configuration: " + state
		}
		return cannot("none", wanted, detail, "install a kernel with CONFIG_NO_HZ_FULL=y (Debian's and Fedora's have it)")
	}
	if err != nil {
		return unreadable(wanted, err)
	}
	set, err := ParseCPUList(text)
	if err != nil {
		return unreadable(wanted, err)
	}
	found := "none"
	if len(set) > 0 {
		found = "CPU " + set.String()
	}
	argument := "nohz_full=" + cpus.String()
	switch {
	case len(cpus) == 0:
		return cannot(found, "a tickless CPU", fmt.Sprintf("only CPU %s is online, and one CPU must keep the time", online), "measure on a machine with two CPUs or more")
	case set.Contains(online):
		return Plan{Status: StatusNeedsReboot, Found: found, Wanted: wanted, Detail: "no CPU is left to keep the time", Fix: kernelArgument(m.Root, argument)}
	case !set.Contains(cpus):
		return Plan{Status: StatusNeedsReboot, Found: found, Wanted: wanted, Fix: kernelArgument(m.Root, argument)}
	}
	return ok(found, wanted)
}

// SystemCPUs returns the CPUs that benchmarks leave to everybody else; nil when there are none or nobody knows.
func (m *Machine) SystemCPUs(s Settings) CPUs {
	cpus, online, err := m.benchmarkCPUs(s.CPUs)
	if err != nil || len(cpus) == 0 {
		return nil
	}
	return online.Minus(cpus)
}

// benchmarkCPUs returns the CPUs that benchmarks run on and those that are online: the given list, or else all online ones but the lowest,
// which keeps the time and takes the interrupts.
func (m *Machine) benchmarkCPUs(list string) (cpus, online CPUs, err error) {
	online, err = m.online()
	if err != nil {
		return nil, nil, err
	}
	if list == "" {
		return online[min(1, len(online)):], online, nil
	}
	cpus, err = ParseCPUList(list)
	if err != nil {
		return nil, nil, err
	}
	if !online.Contains(cpus) {
		return nil, nil, fmt.Errorf("benchmark CPUs %s: only %s are online", cpus, online)
	}
	if cpus.Contains(online) {
		return nil, nil, fmt.Errorf("benchmark CPUs %s: that is all of them; leave one for the system", cpus)
	}
	return cpus, online, nil
}
