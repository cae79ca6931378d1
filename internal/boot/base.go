package boot

import (
	"context"
	"fmt"

	"krund/internal/experiment/results"
	"krund/internal/schedule"
)

// base returns the temperatures that each execution starts from. The first execution takes them
// when the settings are applied and the disks written, the state in which the gate compares with
// them: idle states, frequencies and the network change the temperature at rest by several degrees.
// If the schedule has none later, because its header was rebuilt or the machine had no sensors when
// the experiment began, base takes them again, and the remark for the record says so.
func (x *experiment) base(ctx context.Context) (base []results.Temperature, remarks []string, err error) {
	if base := x.schedule.Header().BaseTemperatures; len(base) > 0 {
		return base, nil, nil
	}
	if base, err = x.Machine.Base(ctx); err != nil || len(base) == 0 {
		return nil, nil, err // not configured
	}
	x.Progress.Step("waiting to read the base temperatures", x.cfg.Temperature.BaseWait)
	if err := x.Clock.Sleep(ctx, x.cfg.Temperature.BaseWait); err != nil {
		return nil, nil, err
	}
	if base, err = x.Machine.Base(ctx); err != nil {
		return nil, nil, err
	}
	keep := func() error {
		return x.schedule.UpdateHeader(func(h *schedule.Header) { h.BaseTemperatures = base })
	}
	if keep() != nil { // the header has no room for all
		base = base[:min(len(base), schedule.SpareSensors)]
		if err := keep(); err != nil {
			return nil, nil, fmt.Errorf("store the base temperatures: %w", err)
		}
	}
	if listing, err := x.reader.List(); err == nil && len(listing.Records) == 0 {
		return base, nil, nil // the first execution
	}
	x.Log.Warn("the base temperatures of the experiment were lost and have been read again",
		"sensors", len(base))
	return base, []string{fmt.Sprintf("the schedule had no base temperatures: those of %d sensors were "+
		"read again before this execution", len(base))}, nil
}
