package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"krund/internal/display"
	"krund/internal/experiment/starter"
	"krund/internal/trial"
)

func initCommand(a *app) *cobra.Command {
	suite := ""
	cmd := &cobra.Command{
		Use:   "init LANGUAGE [NAME] | NAME -- COMMAND... | --suite NAME PATH",
		Short: "Write a first experiment that runs",
		RunE: func(c *cobra.Command, args []string) error {
			at, e, err := c.ArgsLenAtDash(), starter.Experiment{}, error(nil)
			switch {
			case suite != "" && at < 0 && len(args) == 1:
				if e, err = starter.Suite(suite, args[0]); err != nil {
					return err
				}
			case suite == "" && at == 1 && len(args) > 1:
				e, err = starter.New(args[0], "", args[1:], trial.Runners())
			case suite == "" && at < 0 && (len(args) == 1 || len(args) == 2):
				e, err = starter.New(append(args, "bench")[1], args[0], nil, trial.Runners())
			default:
				err = errors.New("init needs a language, such as `krunctl init python`, or a name " +
					"and a command: `krunctl init NAME -- COMMAND`, or --suite NAME PATH")
			}
			if err != nil {
				return usageError(err)
			}
			if err := e.Write("."); err != nil {
				return err
			}
			a.print("%s", e.Next(display.Program(os.Args[0], "krunctl")))
			return nil
		},
	}
	cmd.Flags().StringVar(&suite, "suite", "", "write the experiment of the published suite in PATH")
	return cmd
}
