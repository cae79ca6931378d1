package ship

import (
	"context"
	"fmt"
	"time"

	"krund/internal/hub/api"
	"krund/internal/machine/sysroot"
)

// briefly is how long the hub may take to answer between two executions.
const briefly = 900 * time.Millisecond

// Send is Ship, repeated as Try does until ctx ends. If x.Brief, a hub that does not answer a short
// message within a second gets nothing now, so that it does not hold up the experiment: a later
// shipment, or that of the idle machine, sends what is left.
func (x Shipper) Send(ctx context.Context, clock sysroot.Clock) (result Shipment, err error) {
	if x.Brief {
		if err := x.answers(ctx, clock); err != nil {
			return result, fmt.Errorf("the hub took no message within a second, and gets all later: %w", err)
		}
		return x.Ship(ctx)
	}
	sent := 0
	err = Try(ctx, clock, func(ctx context.Context) (err error) {
		result, err = x.Ship(ctx)
		sent += result.Sent
		return err
	})
	result.Sent = sent
	return result, err
}

// answers returns an error if the hub does not take a message now.
func (x Shipper) answers(ctx context.Context, clock sysroot.Clock) error {
	for x.Online != nil && !x.Online() {
		if err := clock.Sleep(ctx, time.Second); err != nil {
			return fmt.Errorf("the network is down: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, briefly)
	defer cancel()
	x.Status.Busy = true
	_, err := x.Client.Ship(ctx, api.Ship{Status: x.Status}, nil)
	return err
}
