package control

import (
	"context"

	"krund/internal/account"
	"krund/internal/command"
	"krund/internal/host"
	"krund/internal/sysroot"
)

// NewMachine returns the machine below root. For a copy of a machine (a root other than "/") there
// are only its files.
func NewMachine(ctx context.Context, root sysroot.Root) *Machine {
	m := &Machine{Host: host.Host{Root: root}}
	if root.IsMachine() {
		m.Clock = sysroot.RealClock{}
		m.Commands = command.System{}
		m.Boot, _ = sysctlGet(ctx, m.Commands, "kern.boottime") // unknown is "", and then counts as any boot
		m.Units = Rcctl{m.Commands}
		m.Accounts = account.Own{}
		m.Links = Ifconfig{m.Commands}
	}
	return m
}
