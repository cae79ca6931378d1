package main

import (
	"fmt"
	"runtime"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/compare"
)

// planDetect prints how many executions show a change, from the variation in an earlier experiment.
func (a *app) planDetect(o checkOptions) error {
	change, err := classify.ParseDelta(o.detect)
	const percent = 100
	switch {
	case err != nil || !change.Percent || !(change.Value > 0 && change.Value < percent):
		return usageError(fmt.Errorf("--detect must be a percentage such as 2%%, not %q", o.detect))
	case o.from == "":
		return usageError(fmt.Errorf("--detect needs --from, an experiment whose executions show how much " +
			"they vary"))
	}
	r := a.reader(runtime.NumCPU())
	r.NoPerformance = true
	in, doc, err := r.Analyzed(o.from, "", nil)
	if err != nil {
		return err
	}
	side := compare.Side{Doc: doc, Data: in.Data}
	var options compare.Options
	var other *compare.Side
	if arms := in.Data.Arms; len(arms) > 1 {
		side.Arm = arms[0].Name
		options.Paired = in.Data.Blocked
		second := side
		second.Arm = arms[1].Name
		other = &second
	}
	needs := compare.NeedsOf(side, other, change.Value/percent, options)
	if o.format == "json" {
		return a.printJSON(struct {
			Format int `json:"format"`
			*compare.Needs
		}{1, needs})
	}
	a.console().Needs(needs)
	return nil
}
