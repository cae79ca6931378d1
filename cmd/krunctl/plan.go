package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"krund/internal/reading/experiment"
	"krund/internal/reading/replay"
	"krund/internal/reading/summary"
)

const planHelp = `Plan prints what an experiment would run, in order, and how long it would take. It
creates nothing and starts nothing; the programs and benchmarks need not exist.

The duration is known only for keys that have been measured, in the directory
NAME.krun beside the configuration. The waits, which are often most of it, are
known in advance; the time of a reboot is not known until it has been measured.

With [stop] or [stop.iterations] the line "left" has the least and the most that is left
to run. With --from, plan replays their rules over another experiment, and prints how
much of this one would then be needed ("expected").

With --detect and --from it prints instead how many executions of each key a
comparison needs to find a change of that size with a probability of 80%, given
how much the executions of an earlier experiment vary: on each side, or blocks if
that experiment has arms in blocks. Few executions show little of that: the number
is enough for nine of ten keys, and beside it is the one for the variation as
measured. docs/statistics.md explains the test.

EXAMPLES
  krunctl plan warmup.toml                the first 20 slots, and the totals
  krunctl plan --limit 0 warmup.toml      all slots
  krunctl plan --host bencher7 warmup.toml    as on another machine
  krunctl plan --json warmup.toml | jq -r '.slots[].key'
  krunctl plan --from old.krun warmup.toml    what [stop] would save, as in old.krun
  krunctl plan --detect 2% --from old.krun
` + exitHelp

type planOptions struct {
	json  bool
	limit int
	host  string

	detect, from string
}

// planLimit is the number of slots that the text shows without --limit.
const planLimit = 20

func planCommand(a *app) *cobra.Command {
	var o planOptions
	c := &cobra.Command{
		Use:   "plan NAME.toml | --detect CHANGE --from EXPERIMENT",
		Short: "Print what would run, in order, and how long it would take",
		Long:  planHelp,
		Args:  arguments(0, 1, "the experiment's configuration"),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case o.detect != "" || o.from != "" && len(args) == 0:
				if len(args) > 0 {
					return usageError(
						errors.New("--detect takes the keys of --from; omit the configuration"))
				}
				return a.planDetect(o)
			case len(args) == 0:
				return usageError(errors.New("plan needs the experiment's configuration, NAME.toml"))
			case o.limit < 0:
				return usageError(
					fmt.Errorf("--limit must be a number of slots, or 0 for all, not %d", o.limit))
			case !c.Flags().Changed("limit") && !o.json:
				o.limit = planLimit
			}
			return a.plan(contextOf(c), args[0], o)
		},
	}
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	c.Flags().IntVar(&o.limit, "limit", 0,
		"number of slots to show; 0: all (default 20 as text, all as JSON)")
	c.Flags().StringVar(&o.detect, "detect", "",
		"print how many executions show a change of this size, such as 2%")
	c.Flags().StringVar(&o.from, "from", "", "experiment to learn from, for --detect and [stop]")
	a.hostFlag(c.Flags(), &o.host, "")
	return c
}

func (a *app) plan(ctx context.Context, path string, o planOptions) error {
	cfg, err := experiment.ParseConfig(a.fsys, path, o.host)
	if err != nil {
		return err
	}
	p, err := summary.PlanOf(ctx, a.fsys, cfg, path)
	if err != nil {
		return err
	}
	var x *replay.Expected
	if o.from != "" {
		if x, err = replay.Expect(a.reader(runtime.NumCPU()), cfg, o.from); err != nil {
			return err
		}
	}
	limit := o.limit
	if limit == 0 {
		limit = p.SlotsTotal
	}
	if o.json {
		return a.console().PlanJSON(p, x, summary.PlanSlots(cfg), limit)
	}
	a.console().Plan(p, x, summary.PlanSlots(cfg), limit)
	return nil
}
