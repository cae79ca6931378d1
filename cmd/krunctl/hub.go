package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"krund/internal/hub/api"
	"krund/internal/hub/submit"
	"krund/internal/machine/sysroot"
)

const hubHelp = `Hub sends experiments to a hub, a lab of machines, and asks for them; join and ship are
for the machines themselves. docs/hub.md shows how. "krunctl compare ID" compares what the
machines have shipped.

ENVIRONMENT
  KRUNHUB_URL      address of the hub, if --hub is not given
  KRUNHUB_TOKEN    a token: role user for submit and request, reader for wait

EXAMPLES
  krunctl hub submit bench.toml --to pool
  krunctl hub wait 3v0c5n7xk2m9q4rt
` + exitHelp

// hubCommand has the commands of a hub below it.
func hubCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "hub COMMAND", Short: "Submit to a hub of machines, wait, join it with this machine",
		Long: hubHelp, Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			return unknownCommand(c, args[0])
		},
	}
	c.PersistentFlags().StringVar(&a.hubURL, "hub", "", "address of the hub (default: $KRUNHUB_URL)")
	c.AddCommand(submitCommand(a), waitCommand(a), requestCommand(a), getCommand(a), joinCommand(a),
		shipCommand(a))
	return c
}

const waitHelp = `Wait waits until nothing of an experiment on a hub remains to be run, and prints its
state. It asks every half a minute, and goes on if the hub does not answer for a
while. With --timeout it ends after that time, and the experiment goes on: a job of a
CI system that may not wait for long calls it again.

ENVIRONMENT
  KRUNHUB_URL      address of the hub, if --hub is not given
  KRUNHUB_TOKEN    a token with the role reader or user

EXAMPLES
  krunctl hub wait 3v0c5n7xk2m9q4rt
  krunctl hub wait --timeout 30m 3v0c5n7xk2m9q4rt

EXIT STATUS
  0  the experiment is done
  1  it failed or was stopped, or something could not be done
  2  wrong usage
  4  it has not ended within --timeout`

func waitCommand(a *app) *cobra.Command {
	var timeout time.Duration
	c := &cobra.Command{
		Use: "wait ID", Short: "Wait for the end of an experiment on a hub", Long: waitHelp,
		Args: arguments(1, 1, "the id that submit has printed"),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := a.hubClient()
			if err != nil {
				return err
			}
			state, err := a.hubSession(client, sysroot.RealClock{}).Await(c.Context(), args[0], timeout)
			if err != nil {
				return err
			}
			a.print("%s\n", state.State)
			return submit.NotDone(state)
		},
	}
	c.Flags().DurationVar(&timeout, "timeout", 0, "end after this time; 0: never")
	return c
}

const requestHelp = `Request asks the machines that run an experiment of a hub to hold, resume or stop it.
They follow when they report next: after the running process execution. A part that
no machine has begun is held or stopped at once.

EXAMPLES
  krunctl hub request stop 3v0c5n7xk2m9q4rt
` + exitHelp

func requestCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "request hold|resume|stop ID", Short: "Hold, resume or stop an experiment on a hub",
		Long: requestHelp, Args: arguments(2, 2, "hold, resume or stop, and the experiment's id"),
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains([]string{api.RequestHold, api.RequestResume, api.RequestStop}, args[0]) {
				return usageError(fmt.Errorf("the request must be hold, resume or stop, not %q", args[0]))
			}
			client, err := a.hubClient()
			if err != nil {
				return err
			}
			return client.Request(c.Context(), args[1], args[0])
		},
	}
}

const getHelp = `Get prints what a hub's page shows, as JSON: now, machines, machines/NAME, queue,
experiments, experiments/ID, experiments/ID/result, experiments/ID/progress, events,
events/ID, history, history/NAME, alerts, tokens, or compare?before=ID&after=ID. The values
of series are history/NAME/values.csv and history/NAME/values.parquet, and openapi.json
describes all of it. A list has at most some hundred entries: its "next" is the address
of those that follow, which get accepts, too.

EXAMPLES
  krunctl hub get machines
  krunctl hub get "events?state=new&verdict=program"
` + exitHelp

func getCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "get PATH", Short: "Print what a hub knows, as JSON", Long: getHelp,
		Args: arguments(1, 1, "what to print, such as machines or queue"),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := a.hubClient()
			if err != nil {
				return err
			}
			text, err := client.Get(c.Context(), args[0])
			if err != nil {
				return err
			}
			a.print("%s", text)
			return nil
		},
	}
}
