package control

import (
	"context"
	"time"

	"krund/internal/execution/account"
	"krund/internal/machine/command"
	"krund/internal/machine/host"
	"krund/internal/machine/probe"
	"krund/internal/machine/sysroot"
	"krund/internal/msr"
)

// NewMachine returns the machine below root. A copy of a machine (a root other than "/") has only
// files: it gives no access to services, interfaces or swap of the current machine.
func NewMachine(_ context.Context, root sysroot.Root) *Machine {
	m := &Machine{Host: host.Host{Root: root}}
	m.Boot, _ = root.Read("/proc/sys/kernel/random/boot_id") // "" if unknown, which matches any boot
	if root.IsMachine() {
		m.Clock = sysroot.RealClock{}
		m.Commands = command.System{}
		m.Swap = linuxSwap{}
		m.Units = Systemctl{m.Commands}
		m.Accounts = account.Own{}
		m.Links = netlinkLinks{}
		m.Bind = host.Bind
		m.Speed = func(cpu int) (probe.Speed, error) {
			return probe.MeasureSpeed(context.Background(), m.Clock, cpu, heldTime)
		}
		m.Speeds = func(ctx context.Context, cpus host.CPUs) ([]msr.Speed, error) {
			return msr.MeasureSpeeds(ctx, root, m.Clock, cpus)
		}
	}
	return m
}

// heldTime is how long one CPU is kept busy to see whether it holds its clock.
const heldTime = 200 * time.Millisecond
