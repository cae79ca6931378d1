//go:build !linux

package probe

import (
	"context"

	"krund/internal/machine/host"
)

// WatchKernelLog begins to follow the kernel's log.
func WatchKernelLog(ctx context.Context, h host.Host) (KernelLog, error) {
	return newDmesg(ctx, h.Commands)
}
