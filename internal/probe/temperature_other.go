//go:build !linux

package probe

import (
	"context"

	"krund/internal/control"
)

// ReadTemperatures reads every sensor once. A machine without sensors has no readings.
func ReadTemperatures(ctx context.Context, m *control.Machine) Temperatures {
	return sysctlTemperatures(ctx, m.Commands)
}
