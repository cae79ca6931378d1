package main

import (
	"runtime"

	"github.com/spf13/cobra"
)

const decideHelp = `Decide reports for each key of an experiment whether it needs more process
executions, by the rules in [stop] of its configuration, and why. It prints JSON.

krund runs it after each execution, before it restarts the machine, if the
configuration has stop.rules; it skips the slots of the keys that are finished. The
answer depends on nothing but the configuration that the experiment was started
with and its records, so that it is the same again after a power cut. krund accepts
it only if every key that it finishes is one of the schedule, with all its arms, and
has stop.minimum completed executions; otherwise the experiment goes on as planned.

If the keys that stop.keep names show that the machine has changed since others were
finished, the answer says so, and krund runs the rest of the experiment as planned.

The statements hold however often one looks: docs/stopping.md explains the rules,
their errors and what they save. docs/output.md describes the fields.

Decide changes nothing. For a configuration without rules it is an error; "krunctl
simulate" shows on recorded experiments what rules would save.

EXAMPLES
  krunctl decide warmup.krun
  krunctl decide --key 'nbody:*:*' warmup.toml
  krunctl decide warmup.krun | jq '.groups[] | {keys, executions, finish, reason}'
` + readExitHelp

func decideCommand(a *app) *cobra.Command {
	var keys, host string
	c := &cobra.Command{
		Use: "decide DIR|NAME.toml", Short: "Report which keys need no more executions", Long: decideHelp,
		Args: arguments(1, 1, "the experiment's directory or configuration"),
		RunE: func(_ *cobra.Command, args []string) error {
			answer, err := a.reader(runtime.NumCPU()).Decide(args[0], keys, host)
			if err != nil {
				return err
			}
			return a.printJSON(answer)
		},
	}
	a.keyFlag(c, &keys)
	a.hostFlag(c.Flags(), &host, "")
	return c
}
