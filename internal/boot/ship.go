package boot

import "context"

// ship sends what was recorded to the hub, if this machine has joined one. It restores the machine
// first, because a control may have taken the network down, and returns what is still applied.
// Whatever goes wrong, the experiment goes on as planned, and the next shipment sends what is left.
func (x *experiment) ship(ctx context.Context, applied Applied) Applied {
	if x.Ship == nil {
		return applied
	}
	if err := x.Machine.Restore(ctx, applied); err != nil {
		x.Log.Warn("nothing is shipped: the machine was not restored", "error", err)
		return applied
	}
	x.Progress.Step("shipping", 0)
	if err := x.Ship(ctx); err != nil {
		x.Log.Warn("the hub has not received everything; the experiment goes on as planned", "error", err)
	}
	return Applied{}
}
