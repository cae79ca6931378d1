//go:build !linux

package probe

import (
	"context"

	"krund/internal/control"
)

// WatchKernelLog begins to follow the kernel's log.
func WatchKernelLog(ctx context.Context, m *control.Machine) (KernelLog, error) {
	return newDmesg(ctx, m.Commands)
}
