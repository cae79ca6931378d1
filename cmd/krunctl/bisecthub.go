package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"krund/internal/hub/api"
	"krund/internal/hub/submit"
	"krund/internal/machine/sysroot"
	"krund/internal/reading/experiment"
	"krund/internal/trial/bisection"
)

// hubSteps measures the steps of a bisection by a hub.
type hubSteps struct {
	a        *app
	b        *bisection.Bisection
	client   *api.Client
	clock    sysroot.Clock
	deadline time.Time // zero: none
	retry    bool      // submit a step again that the hub has not done
}

// measure submits a step unless it was submitted, waits for its end, and fetches the results. It
// may be ended at any time, and called again.
func (h *hubSteps) measure(ctx context.Context, step string) error {
	id, err := h.submitted(ctx, step)
	if err != nil {
		return err
	}
	var timeout time.Duration
	if !h.deadline.IsZero() {
		timeout = max(h.deadline.Sub(h.clock.Now()), 1)
	}
	state, err := h.a.hubSession(h.client, h.clock).Await(ctx, id, timeout)
	if err != nil { // it may go on: its id is not forgotten
		return err
	}
	switch err := submit.NotDone(state); {
	case err != nil && h.retry:
		h.retry = false
		if err := h.b.Forget(step); err != nil {
			return err
		}
		return h.measure(ctx, step)
	case err != nil:
		return fmt.Errorf("%w; --retry submits %s again", err, filepath.Base(step))
	}
	part := filepath.Join(h.b.Dir, "fetch")
	if err := os.RemoveAll(part); err != nil { // of a call that was ended
		return err
	}
	name, err := submit.Fetch(ctx, h.client, id, part)
	if err != nil {
		return err
	}
	return h.b.Fetched(step, filepath.Join(part, name))
}

// submitted submits a step unless the hub has it, and returns its id. The id is on the disk before:
// submitting it again changes nothing.
func (h *hubSteps) submitted(ctx context.Context, step string) (string, error) {
	remote, err := h.b.Remote(step)
	switch {
	case err == nil && remote.Hub != h.client.URL:
		return "", fmt.Errorf("%s was submitted to %s, and this is %s; go on with the former", step,
			remote.Hub, h.client.URL)
	case errors.Is(err, fs.ErrNotExist):
		remote = bisection.Remote{Hub: h.client.URL, ID: api.NewID()}
		err = h.b.SetRemote(step, remote)
	}
	if err != nil {
		return "", err
	}
	_, err = h.client.Experiment(ctx, remote.ID)
	var refused *api.Error
	if !errors.As(err, &refused) || refused.Status != notFound {
		return remote.ID, err
	}
	cfg, err := experiment.ParseConfig(h.a.fsys, step, h.b.Plan.To)
	if err != nil {
		return "", err
	}
	return remote.ID, h.a.hubSession(h.client, h.clock).Send(ctx, cfg, nil, api.Submission{
		ID: remote.ID, Target: h.b.Plan.To, Machines: 1})
}

const notFound = 404
