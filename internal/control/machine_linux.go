package control

import (
	"context"

	"golang.org/x/sys/unix"

	"krund/internal/account"
	"krund/internal/command"
	"krund/internal/host"
	"krund/internal/sysroot"
)

// NewMachine returns the machine below root. For a copy of a machine (a root other than "/") there
// are only its files: no services, interfaces or swap of the machine at hand can be reached through
// it.
func NewMachine(_ context.Context, root sysroot.Root) *Machine {
	m := &Machine{Host: host.Host{Root: root}}
	m.Boot, _ = root.Read("/proc/sys/kernel/random/boot_id") // unknown is "", and then counts as any boot
	if root.IsMachine() {
		m.Clock = sysroot.RealClock{}
		m.Commands = command.System{}
		m.Swap = linuxSwap{}
		m.Units = Systemd{Fallback: Systemctl{m.Commands}}
		m.Accounts = account.Own{}
		m.Links = netlinkLinks{}
		m.Bind = bindThread
	}
	return m
}

// bindThread is sched_setaffinity(2).
func bindThread(id int, cpus host.CPUs) error {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	return unix.SchedSetaffinity(id, &set)
}
