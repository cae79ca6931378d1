package control

import (
	"context"

	"krund/internal/execution/account"
	"krund/internal/machine/command"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
)

// NewMachine returns the machine below root. A copy of a machine (a root other than "/") has only
// files.
func NewMachine(ctx context.Context, root sysroot.Root) *Machine {
	m := &Machine{Host: host.Host{Root: root}}
	if root.IsMachine() {
		m.Clock = sysroot.RealClock{}
		m.Commands = command.System{}
		m.Boot, _ = sysctlGet(ctx, m.Commands, "kern.boottime") // "" if unknown, which matches any boot
		m.Units = Rcctl{m.Commands}
		m.Accounts = account.Own{}
		m.Links = Ifconfig{m.Commands}
	}
	return m
}
