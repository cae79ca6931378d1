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

const explainHelp = `Explain names causes of outliers and changepoints when there is evidence: garbage
collections, compilations, deoptimizations, page faults, waiting, other tasks on the
benchmark's processor, frequency. What has no evidence is called unexplained.

The evidence is what records hold beside wall times: events and columns of the VM
(instrument = "events" or "columns" in the configuration), page faults and context
switches, counters of the processor. What is missing is listed, with a remedy.

For each key and each candidate (such as: a garbage collection in the iteration, the
last compilation of a burst just before) it counts the outliers or changepoints that
have it, over all executions, and compares with the same evidence shifted by up to 100
iterations, early iterations by less; and from five executions on with the evidence of
the other executions. So that both events and changepoints are frequent at the beginning
is no evidence. All candidates of a key share one error rate: if no event had anything
to do with the series, the probability that a key gets any explanation is at most
5 %. An association must also be strong: an odds ratio of at least 4, and 5% of the
outliers or changepoints.

Executions that do the same in the same iteration, as those of many VMs, are one
coincidence, however many there are. A changepoint in the first 25 iterations is only
explained if there are five executions in which it lies elsewhere.

Beside the statistical steady state stand the last compilation and deoptimization,
and a warning if they disagree. docs/explain.md has the method and how well it works.
It reads what krunctl analyze reads, with its analysis if there is one.

EXAMPLES
  krunctl explain warmup.toml
  krunctl explain --key 'nbody:CPython:*' --execution 1 warmup.krun
  krunctl explain --format json warmup.krun | jq '.keys[].statements[].text'
` + readExitHelp

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
		Long:  explainHelp,
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
		if !slices.ContainsFunc(result.Keys, func(k explain.Key) bool { return hasExecution(&k, n) }) {
			return usageError(fmt.Errorf("--execution %d: no key has an execution with this number", n))
		}
	}
	return a.answer(o.format, result, func() {
		report.ExplainText(a.stdout, a.console().Width(), result, o.executions)
	})
}

func hasExecution(k *explain.Key, number int) bool {
	return slices.ContainsFunc(k.Executions,
		func(x explain.ExecutionFindings) bool { return x.Number == number }) ||
		slices.ContainsFunc(k.LeftOut, func(x warmup.LeftOut) bool { return x.Execution == number })
}
