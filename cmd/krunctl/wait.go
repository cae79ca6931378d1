package main

import (
	"time"

	"github.com/spf13/cobra"

	"krund/internal/hub/submit"
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
			state, err := a.hubSession(client, sysroot.RealClock{}).Await(contextOf(c), args[0], timeout)
			if err != nil {
				return err
			}
			a.print("%s\n", state.State)
			return submit.NotDone(state)
		},
	}
	c.Flags().DurationVar(&timeout, "timeout", 0, "end after this time; 0: never")
	hubFlag(c, &hub)
	return c
}
