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

// hubCommand has the commands of a hub below it.
func hubCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "hub COMMAND", Short: "Submit to a hub of machines, wait, join it with this machine",
		Args: cobra.ArbitraryArgs,
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

func waitCommand(a *app) *cobra.Command {
	var timeout time.Duration
	c := &cobra.Command{
		Use: "wait ID", Short: "Wait for the end of an experiment on a hub",
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

func requestCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "request hold|resume|stop ID", Short: "Hold, resume or stop an experiment on a hub",
		Args: arguments(2, 2, "hold, resume or stop, and the experiment's id"),
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

func getCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "get PATH", Short: "Print what a hub knows, as JSON",
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
