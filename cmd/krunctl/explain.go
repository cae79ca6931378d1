package main

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"krund/internal/analysis/explain"
	"krund/internal/analysis/warmup"
	"krund/internal/report"
)

// explainOptions are the flags.
type explainOptions struct {
	format     string
	key        string
	executions []int
}

func explainCommand(a *app) *cobra.Command {
	var o explainOptions
	c := &cobra.Command{
		Use:   "explain DIR|NAME.toml|FILE",
		Short: "Name causes of outliers and changepoints",
		Args:  arguments(1, 1, "an experiment or a file of results"),
		RunE:  func(_ *cobra.Command, args []string) error { return a.explain(args[0], o) },
	}
	f := c.Flags()
	formatFlag(f, &o.format, "text", "json")
	f.IntSliceVar(&o.executions, "execution", nil,
		"also print each outlier and changepoint of the executions with these numbers")
	a.keyFlag(c, &o.key)
	return c
}

func (a *app) explain(arg string, o explainOptions) error {
	r := a.reader(runtime.NumCPU())
	r.NoPerformance = true
	in, doc, series, err := r.Keyed(arg, o.key)
	if err != nil {
		return err
	}
	result, err := explain.Explain(in.Data.Info, doc, explain.Default(), runtime.NumCPU(), series)
	if err != nil {
		return err
	}
	result.Problems = append(result.Problems, in.Data.Problems...)
	for _, n := range o.executions {
		if !slices.ContainsFunc(result.Keys, func(k explain.Key) bool {
			return slices.ContainsFunc(k.Executions,
				func(x explain.ExecutionFindings) bool { return x.Number == n }) ||
				slices.ContainsFunc(k.LeftOut, func(x warmup.LeftOut) bool { return x.Execution == n })
		}) {
			return usageError(fmt.Errorf("--execution %d: no key has an execution with this number", n))
		}
	}
	return a.answer(o.format, result, func() {
		report.ExplainText(a.stdout, a.console().Width(), result, o.executions)
	})
}
