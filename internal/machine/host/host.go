// Package host describes the machine that krund runs on: its CPUs, their frequencies, its memory,
// its kernel and its threads. It only reads. It accesses /proc and /sys through
// internal/machine/sysroot, so that tests can use a copy of a machine.
//
// internal/control changes the machine and internal/machine/probe watches it; both build on this
// package, which depends on neither. Start reading at Host.
package host

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"krund/internal/machine/sysroot"
)

// A Host is a machine to read, or a copy of its files.
type Host struct {
	Root     sysroot.Root
	Commands Commands // nil if there are no programs, as in a copy of a machine
}

// Commands runs small programs of the system: apm, sysctl, rcctl, systemctl.
type Commands interface {
	// Output runs a program found in the system's directories and returns what it printed on
	// standard output. A program that is not installed is an error that wraps exec.ErrNotFound.
	Output(ctx context.Context, name string, args ...string) ([]byte, error)
}

// Online returns the CPUs in use.
func (h Host) Online() (CPUs, error) { return h.ReadCPUs("/sys/devices/system/cpu/online") }

// ReadCPUs reads a file that holds a set of CPUs in list form.
func (h Host) ReadCPUs(file string) (CPUs, error) {
	text, err := h.Root.Read(file)
	if err != nil {
		return nil, err
	}
	set, err := ParseCPUList(text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return set, nil
}

// BenchmarkCPUs returns the CPUs that benchmarks run on, out of those that are online: the given
// list, or all except the lowest, which does the timekeeping and handles interrupts. If the cores
// are of several kinds, "" means only the fast ones: a benchmark that runs on one kind in one
// execution and on another in the next has two speeds.
func (h Host) BenchmarkCPUs(list string, online CPUs) (CPUs, error) {
	if list == "" {
		rest := online[min(1, len(online)):]
		if fast := rest.And(h.FastCPUs()); len(fast) > 0 {
			return fast, nil
		}
		return rest, nil
	}
	cpus, err := ParseCPUList(list)
	if err != nil {
		return nil, err
	}
	if !online.Contains(cpus) {
		return nil, fmt.Errorf("benchmark CPUs %s: only %s are online", cpus, online)
	}
	if cpus.Contains(online) {
		return nil, fmt.Errorf("benchmark CPUs %s: that is all of them; leave one for the system", cpus)
	}
	return cpus, nil
}

// FastCPUs returns the CPUs of the fastest kind of core, nil if all are alike or it is unknown. x86
// names the kinds by their performance counters (Linux 6.12, arch/x86/events/intel/core.c,
// "cpu_core"), others by the capacity that the scheduler assumes (drivers/base/arch_topology.c,
// cpu_capacity). On servers with Intel's Speed Select some cores have a higher base frequency
// (docs.kernel.org, admin-guide/pm/intel-speed-select, "Base Frequency").
func (h Host) FastCPUs() CPUs {
	if fast, err := h.ReadCPUs("/sys/devices/cpu_core/cpus"); err == nil {
		return fast
	}
	if fast := h.highest("/sys/devices/system/cpu/cpu[0-9]*/cpu_capacity"); fast != nil {
		return fast
	}
	return h.highest(CPUFreqDir + "/policy[0-9]*/base_frequency")
}

// highest returns the CPUs with the highest number in the files of this pattern, whose directory
// ends in the number of the CPU; nil if all are alike.
func (h Host) highest(pattern string) CPUs {
	files, err := h.Root.Glob(pattern)
	if err != nil {
		return nil
	}
	capacities, most := map[int]int64{}, int64(0)
	for _, file := range files {
		capacity, err := h.Root.ReadInt(file)
		cpu, numberErr := parseCPU(strings.TrimLeft(path.Base(path.Dir(file)), "cpuoliy"))
		if err == nil && numberErr == nil {
			capacities[cpu], most = capacity, max(most, capacity)
		}
	}
	var fast CPUs
	for cpu, capacity := range capacities {
		if float64(capacity) >= oneKind*float64(most) {
			fast = append(fast, cpu)
		}
	}
	if len(fast) == len(capacities) {
		return nil
	}
	return normal(fast)
}

// oneKind is the least share of the highest capacity that cores of the same kind have: favored
// cores and the clusters of one design differ by a few percent.
const oneKind = 0.9

// PrimaryThreads returns the members of cpus that stay online when sibling threads are switched
// off: the lowest of each core. The kernel keeps the thread that is the first of its core by the
// number of its interrupt controller (Linux 6.1, arch/x86/kernel/apic/apic.c:2406; 6.12,
// arch/x86/kernel/cpu/topology.c:77), and numbers the CPUs in that order.
func (h Host) PrimaryThreads(cpus CPUs) CPUs {
	var primary CPUs
	for _, cpu := range cpus {
		siblings, err := h.ReadCPUs(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
			cpu))
		if siblings = siblings.And(cpus); err != nil || len(siblings) == 0 || siblings[0] == cpu {
			primary = append(primary, cpu)
		}
	}
	return primary
}

// IsX86 reports whether the text of /proc/cpuinfo is of an x86 processor: it names a vendor, as
// only that of IBM's mainframes does else (arch/s390/kernel/processor.c).
func IsX86(cpuinfo string) bool {
	return strings.Contains(cpuinfo, "vendor_id") && !strings.Contains(cpuinfo, "IBM/S390")
}

// CPUFlag reports whether the text of /proc/cpuinfo lists a feature of the first processor ("flags"
// on x86, "Features" on arm).
func CPUFlag(cpuinfo, flag string) bool {
	for line := range strings.Lines(cpuinfo) {
		name, value, found := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		if found && (name == "flags" || name == "Features") {
			return slices.Contains(strings.Fields(value), flag)
		}
	}
	return false
}
