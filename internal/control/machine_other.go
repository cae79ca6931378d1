//go:build !linux && !openbsd

package control

import (
	"context"

	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
)

// NewMachine returns a machine that can only be read: krund controls only Linux and OpenBSD.
func NewMachine(_ context.Context, root sysroot.Root) *Machine {
	return &Machine{Host: host.Host{Root: root}}
}
