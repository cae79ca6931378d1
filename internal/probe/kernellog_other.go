//go:build !linux

package probe

import (
	"context"

	"krund/internal/control"
)

// WatchKernelLog starts to follow the kernel log.
func WatchKernelLog(ctx context.Context, m *control.Machine) (KernelLog, error) {
	return newDmesg(ctx, m.Commands)
}
