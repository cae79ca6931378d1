// Package host describes the machine that krund runs on: its CPUs, their frequencies, its memory,
// its kernel and its threads. It only reads. It accesses /proc and /sys through internal/sysroot,
// so that tests can use a copy of a machine.
//
// internal/control changes the machine and internal/probe watches it; both build on this package,
// which depends on neither. Start reading at Host.
package host

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"krund/internal/sysroot"
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

// BenchmarkCPUs returns the CPUs that benchmarks run on and those that are online. The former are
// the given list, or all online CPUs except the lowest, which does the timekeeping and handles
// interrupts.
func (h Host) BenchmarkCPUs(list string) (cpus, online CPUs, err error) {
	online, err = h.Online()
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

// Hypervised reports whether the processor identifies itself as that of a virtual machine.
// Processors that cannot report this count as physical ones.
func (h Host) Hypervised() bool {
	text, err := h.Root.Read("/proc/cpuinfo")
	return err == nil && CPUFlag(text, "hypervisor")
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
