package probe

import (
	"context"

	"krund/internal/control"
)

// ReadTemperatures reads every sensor once. A machine without sensors has no readings.
func ReadTemperatures(_ context.Context, m *control.Machine) Temperatures {
	return hwmonTemperatures(m.Root)
}
