package main

import (
	"errors"

	"github.com/spf13/cobra"

	"krund/internal/reading/experiment"
	"krund/internal/reading/summary"
)

// planLimit is the number of slots that the text shows without --all.
const planLimit = 20

// plan prints what would run.
func (a *app) plan(c *cobra.Command, args []string, o checkOptions) error {
	if len(args) == 0 {
		return usageError(errors.New("--plan needs the experiment's configuration, NAME.toml"))
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
	limit := planLimit
	if o.all || o.format == "json" {
		limit = p.SlotsTotal
	}
	if o.format == "json" {
		return a.console().PlanJSON(p, summary.PlanSlots(a.fsys, cfg, path), limit)
	}
	a.console().Plan(p, summary.PlanSlots(a.fsys, cfg, path), limit)
	return nil
}
