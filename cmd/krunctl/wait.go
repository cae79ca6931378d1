package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"krund/internal/display"
	"krund/internal/hub/api"
	"krund/internal/hub/ship"
	"krund/internal/machine/sysroot"
)

const waitHelp = `Wait waits until nothing of an experiment on a hub remains to be run, and prints its
state. It asks every half a minute, and goes on if the hub does not answer for a
while. With --timeout it ends after that time, and the experiment goes on: a job of a
CI system that may not wait for long calls it again.

ENVIRONMENT
  KRUNHUB_URL      address of the hub, if --hub is not given
  KRUNHUB_TOKEN    a token with the role reader or user

EXAMPLES
  krunctl wait 3v0c5n7xk2m9q4rt
  krunctl wait --timeout 30m 3v0c5n7xk2m9q4rt

EXIT STATUS
  0  the experiment is done
  1  it failed or was stopped, or something could not be done
  2  wrong usage
  4  it has not ended within --timeout`

// errWaiting is the error of wait for an experiment that has not ended.
var errWaiting = errors.New("the experiment has not ended")

func waitCommand(a *app) *cobra.Command {
	var hub string
	var timeout time.Duration
	c := &cobra.Command{
		Use: "wait ID", Short: "Wait for the end of an experiment on a hub", Long: waitHelp,
		Args: arguments(1, 1, "the id that submit has printed"),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := a.hubClient(hub)
			if err != nil {
				return err
			}
			state, err := a.await(contextOf(c), client, args[0], timeout, sysroot.RealClock{})
			if err != nil {
				return err
			}
			a.print("%s\n", state.State)
			return notDone(state)
		},
	}
	c.Flags().DurationVar(&timeout, "timeout", 0, "end after this time; 0: never")
	hubFlag(c, &hub)
	return c
}

// askEvery is how often wait asks; patience is for how long it accepts that the hub does not
// answer.
const (
	askEvery = 30 * time.Second
	patience = time.Hour
)

// await waits until an experiment has ended. The error wraps errWaiting if it has not within
// timeout.
func (a *app) await(ctx context.Context, client *api.Client, id string, timeout time.Duration,
	clock sysroot.Clock) (api.State, error) {
	begin := clock.Now()
	answered, last := begin, ""
	for {
		limit := askEvery
		if timeout > 0 {
			limit = min(limit, max(timeout-clock.Now().Sub(begin), time.Second))
		}
		state, err := askState(ctx, client, id, limit)
		switch {
		case err == nil:
			answered = clock.Now()
		case ship.Refused(err), clock.Now().Sub(answered) > patience:
			return state, err
		default:
			a.talk("krunctl: %v; asking again", err)
		}
		if text := progressText(state); err == nil && text != last {
			a.talk("%s", text)
			last = text
		}
		if err == nil && state.Ended() {
			return state, nil
		}
		rest := askEvery
		if timeout > 0 {
			if rest = min(rest, timeout-clock.Now().Sub(begin)); rest <= 0 {
				return state, fmt.Errorf("%w within %s; it goes on", errWaiting, timeout)
			}
		}
		if err := clock.Sleep(ctx, rest); err != nil {
			return state, err
		}
	}
}

// askState asks once. A hub that accepts the request and does not answer must not block forever.
func askState(ctx context.Context, client *api.Client, id string, limit time.Duration) (api.State, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return client.Experiment(ctx, id)
}

// notDone returns the error of an experiment that has ended and is not done; nil if it is.
func notDone(s api.State) error {
	if s.State == "done" {
		return nil
	}
	return fmt.Errorf("experiment %s has %s", s.ID, ending(s))
}

// ending describes why an experiment is not done.
func ending(s api.State) string {
	text := s.State
	if s.State == "stopped" {
		text = "been stopped"
	}
	for _, share := range s.Shares {
		if share.Progress.Reason != "" {
			text += fmt.Sprintf("; %s: %s", share.Machine, share.Progress.Reason)
		}
	}
	return text
}

// progressText is how far an experiment is, in a line.
func progressText(s api.State) string {
	if len(s.Shares) == 0 {
		return fmt.Sprintf("%s: %s, for %s", s.Name, s.State, s.Target)
	}
	done, left, seconds := 0, 0, int64(0)
	for _, share := range s.Shares {
		p := share.Progress
		done, left, seconds = done+p.Completed+p.Failed+p.Skipped, left+p.Left, max(seconds, p.Seconds)
	}
	text := fmt.Sprintf("%s: %s, %d of %s begun, %d executions done, %d left", s.Name, s.State, len(s.Shares),
		display.Count(s.Machines, "part"), done, left)
	if seconds > 0 && !s.Ended() {
		text += ", about " + display.Duration(time.Duration(seconds)*time.Second)
	}
	return text
}
