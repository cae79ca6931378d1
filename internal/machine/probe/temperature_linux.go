package probe

import (
	"context"

	"krund/internal/machine/host"
)

// ReadTemperatures reads every sensor once. A machine without sensors has no readings.
func ReadTemperatures(_ context.Context, h host.Host) Temperatures {
	return hwmonTemperatures(h.Root)
}
