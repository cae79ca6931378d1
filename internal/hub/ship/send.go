package ship

import (
	"context"
	"errors"
	"fmt"
	"time"

	"krund/internal/hub/api"
	"krund/internal/machine/sysroot"
)

// After a shipment to which the hub did not answer, it gets only briefly to answer the next ones,
// until patience is over: a hub that is away for a night must not cost each execution a deadline.
const (
	briefly  = 500 * time.Millisecond
	patience = 30 * time.Minute
)

// Send is Ship, repeated as Try does. patient is for the last shipment of an experiment, and for a
// machine that does nothing else: it always has the time that ctx leaves.
func (x Shipper) Send(ctx context.Context, clock sysroot.Clock, patient bool) (Shipment, error) {
	fsys, path := x.Directory.FS(), x.Directory.Hub()
	memory, err := Load(fsys, path, x.Client.URL)
	if err != nil {
		return Shipment{}, err
	}
	began := clock.Now()
	if since := began.Sub(memory.Silent); !patient && since >= 0 && since < patience {
		if err := x.answers(ctx); err != nil {
			return Shipment{}, fmt.Errorf("the hub has not answered since %s: %w",
				memory.Silent.Format(time.RFC3339), err)
		}
	}
	var result Shipment
	sent := 0
	err = Try(ctx, clock, func(ctx context.Context) (err error) {
		result, err = x.Ship(ctx)
		sent += result.Sent
		return err
	})
	result.Sent = sent
	silent := time.Time{}
	if err != nil && !Refused(err) {
		silent = began.UTC().Truncate(time.Second)
	}
	return result, errors.Join(err, x.remember(silent))
}

// answers returns an error if the hub does not take a message now.
func (x Shipper) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, briefly)
	defer cancel()
	x.Status.Busy = true
	_, err := x.Client.Ship(ctx, api.Ship{Status: x.Status}, nil)
	return err
}

// remember stores since when the hub has been silent: durably, because the machine restarts before
// the next shipment.
func (x Shipper) remember(silent time.Time) error {
	memory, err := Load(x.Directory.FS(), x.Directory.Hub(), x.Client.URL)
	if err != nil || memory.Silent.Equal(silent) {
		return err
	}
	memory.Silent = silent
	return memory.Store(x.Directory.FS(), x.Directory.Hub())
}
