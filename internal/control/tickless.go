package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/internal/machine/probe"
)

const nohzFile = "/sys/devices/system/cpu/nohz_full"

// tickless checks that the benchmark CPUs are in the kernel's nohz_full set and that a CPU is left
// for timekeeping. Only a kernel argument changes the set. The set may contain other CPUs as well.
var tickless = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "tickless", Policy: setting.Require,
		Brief: "no timer ticks on the benchmark's CPUs (kernel argument `nohz_full=`)",
		Why:   "the timer interrupts each CPU 100 to 1000 times a second, benchmark or not",
		What: "nothing: `/sys/devices/system/cpu/nohz_full` must contain the benchmark's CPUs, but not " +
			"all CPUs",
		Notes: "`nohz_full=1-3` on the kernel's command line; Debian and Fedora kernels support it",
	},
	plan: func(_ context.Context, m *Machine, _ setting.Demand, r Request) Plan {
		cpus, online, err := m.PlannedCPUs(r)
		if err != nil {
			return cannot("unknown", "tickless benchmark CPUs", err.Error(), "")
		}
		p := planTickless(m, cpus, online)
		if p.Status == setting.StatusOK && !r.Of(shield.Name).Policy.Changes() &&
			!r.Of(placement.Name).Policy.Changes() {
			p.Detail = fmt.Sprintf("without `shield` benchmarks may also run on CPU %s",
				online.Minus(cpus))
		}
		return p
	},
}

func planTickless(m *Machine, cpus, online host.CPUs) Plan {
	wanted := "CPU " + cpus.String()
	text, err := m.Root.Read(nohzFile)
	if errors.Is(err, fs.ErrNotExist) {
		detail := "the kernel is built without CONFIG_NO_HZ_FULL"
		if state := m.KernelOption("CONFIG_NO_HZ_FULL"); state != "" {
			detail = "kernel configuration: " + state
		}
		return cannot("none", wanted, detail, probe.PlatformOf(m.Host).Remedy("nohz"))
	}
	if err != nil {
		return unreadable(wanted, err)
	}
	set, err := host.ParseCPUList(text)
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
		return tooFew(m, found, "a tickless CPU", online)
	case set.Contains(online):
		return Plan{Status: setting.StatusNeedsReboot, Found: found, Wanted: wanted,
			Detail: "no CPU is left to keep the time", Fix: kernelArgument(m.Host, argument)}
	case !set.Contains(cpus):
		return Plan{Status: setting.StatusNeedsReboot, Found: found, Wanted: wanted,
			Fix: kernelArgument(m.Host, argument)}
	}
	return ok(found, wanted)
}

// PlannedCPUs returns the CPUs that benchmarks run on and those that are online, both as they are
// once the controls are set: without the sibling threads that smt is going to switch off, and only
// those that the control groups leave to krund.
func (m *Machine) PlannedCPUs(r Request) (cpus, online host.CPUs, err error) {
	online, err = m.Online()
	if err != nil {
		return nil, nil, err
	}
	online = m.allowed(online, r.Of("shield").Policy.Changes())
	if r.siblingsOff(m) {
		online = m.PrimaryThreads(online)
	}
	cpus, err = m.BenchmarkCPUs(r.CPUs(), online)
	return cpus, online, err
}

// allowed returns the members of cpus that benchmarks may run on: those of krund's control group,
// or of the topmost one that is visible if a shield is made below it, and those of the shield.
func (m *Machine) allowed(cpus host.CPUs, shielded bool) host.CPUs {
	own, err := ownCPUs(m.Host)
	if shielded {
		own, err = m.ReadCPUs(groupRoot + "/cpuset.cpus.effective")
	}
	if err != nil {
		return cpus
	}
	shield, _ := m.ReadCPUs(shieldDir + "/cpuset.cpus") // none without one
	if both := cpus.Minus(cpus.Minus(own).Minus(shield)); len(both) > 0 {
		return both
	}
	return cpus
}

// SystemCPUs returns the CPUs that benchmarks leave to the rest of the system; nil if there are
// none or they are unknown.
func (m *Machine) SystemCPUs(r Request) host.CPUs {
	cpus, online, err := m.PlannedCPUs(r)
	if err != nil || len(cpus) == 0 {
		return nil
	}
	return online.Minus(cpus)
}
