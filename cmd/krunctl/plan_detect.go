package main

import (
	"fmt"
	"math"
	"runtime"
	"strconv"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/compare"
	"krund/internal/display"
)

// planDetect prints how many executions show a change, from the variation in an earlier experiment.
func (a *app) planDetect(o planOptions) error {
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
	if o.json {
		return a.printJSON(struct {
			Format int `json:"format"`
			*compare.Needs
		}{1, needs})
	}
	a.needsAsText(needs)
	return nil
}

func (a *app) needsAsText(n *compare.Needs) {
	what := "executions on each side"
	if n.Paired {
		what = "blocks"
	}
	a.line("change", "%s, found with a probability of %s", compare.Percent(n.Change),
		compare.Percent(n.Power))
	a.line("table", "%s; false verdicts in at most %s of the tables", display.Count(n.Tests, "key"),
		compare.Percent(1-n.Confidence))
	a.line("needed", "%s %s for all keys, %s for nine of ten", needText(n.Executions), what,
		needText(n.MostKeys))
	a.print("\n")
	var rows [][]string
	for _, k := range n.Keys {
		sd, detectable := "-", "-"
		if !math.IsNaN(float64(k.SD)) {
			sd, detectable = compare.Percent(float64(k.SD)), compare.Percent(float64(k.Detectable))
		}
		rows = append(rows, []string{k.Key, needText(k.Executions), strconv.Itoa(k.Measured), sd, detectable})
	}
	display.Table(a.stdout, []string{"key", ">" + what, ">measured", ">sd", ">detectable with these"}, rows)
}

// needText is a number of executions for people; 0 is one that is not known or too large.
func needText(n int) string {
	if n == 0 {
		return "unknown or more than 10000"
	}
	return strconv.Itoa(n)
}
