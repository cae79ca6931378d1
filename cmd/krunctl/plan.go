package main

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"krund/internal/reading/experiment"
	"krund/internal/reading/replay"
	"krund/internal/reading/summary"
)

// planLimit is the number of slots that the text shows without --limit.
const planLimit = 20

// plan prints what would run.
func (a *app) plan(c *cobra.Command, args []string, o checkOptions) error {
	switch {
	case o.detect != "" || o.from != "" && len(args) == 0:
		if len(args) > 0 {
			return usageError(errors.New("--detect takes the keys of --from; omit the configuration"))
		}
		return a.planDetect(o)
	case len(args) == 0:
		return usageError(errors.New("--plan needs the experiment's configuration, NAME.toml"))
	case o.limit < 0:
		return usageError(fmt.Errorf("--limit must be a number of slots, or 0 for all, not %d", o.limit))
	case o.all || !c.Flags().Changed("limit") && o.format == "json":
		o.limit = 0
	}
	path := args[0]
	cfg, err := experiment.ParseConfig(a.fsys, path, o.host)
	if err != nil {
		return err
	}
	p, err := summary.PlanOf(contextOf(c), a.fsys, cfg, path)
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
	if o.format == "json" {
		return a.console().PlanJSON(p, x, summary.PlanSlots(cfg), limit)
	}
	a.console().Plan(p, x, summary.PlanSlots(cfg), limit)
	return nil
}
