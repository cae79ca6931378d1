package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"krund/internal/analysis/dataset"
	"krund/internal/display"
	"krund/internal/exchange"
)

const importHelp = `Import reads results of other tools and writes them as results of Krun, a file
NAME_results.json.bz2, which krunctl analyze, report, table and compare read, and
warmup_stats, too.

  --jmh        JMH (-rf json): a fork is a process execution. Measure with
               -wi 0 -bm avgt: JMH's files do not contain warmup iterations
  --pyperf     pyperf: a run is a process execution, its warmups come first
  --hyperfine  hyperfine (--export-json): a time is a process execution of one
               iteration
  --go         go test -bench -count N: a line is an iteration, a test binary
               a process execution

Times become seconds with all their digits. Krun's files cannot hold results in
other units (operations per second, bytes), which are refused; krunctl convert
writes them in other formats.

EXAMPLES
  krunctl import --jmh -o fib_results.json.bz2 jmh.json
  krunctl import --pyperf --vm PyPy -o json_results.json.bz2 bench.json
` + exitHelp

// importOptions are the tool of a file, and the parts of keys that the file does not have.
type importOptions struct {
	tools   [4]bool
	vm      string
	variant string
	output  string
}

func (o *importOptions) flags(c *cobra.Command) {
	for i, tool := range exchange.Importers() {
		c.Flags().BoolVar(&o.tools[i], tool.Name, false, "the file was written by "+tool.Of)
	}
	c.Flags().StringVar(&o.vm, "vm", "", "name of the VM in the keys")
	c.Flags().StringVar(&o.variant, "variant", "", "name of the variant in the keys")
	c.Flags().StringVarP(&o.output, "output", "o", "", "file to write")
}

// chosen returns the index of the tool whose flag was given, -1 for none.
func (o *importOptions) chosen() (int, error) {
	at := -1
	for i, given := range o.tools {
		if !given {
			continue
		}
		if at >= 0 {
			return 0, usageError(
				fmt.Errorf("--%s and --%s exclude each other", exchange.Importers()[at].Name,
					exchange.Importers()[i].Name),
			)
		}
		at = i
	}
	return at, nil
}

func importCommand(a *app) *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use:   "import --jmh|--pyperf|--hyperfine|--go FILE -o NAME_results.json.bz2",
		Short: "Convert results of other tools for the analysis",
		Long:  importHelp,
		Args:  arguments(1, 1, "one file of results"),
		RunE: func(_ *cobra.Command, args []string) error {
			at, err := o.chosen()
			switch {
			case err != nil:
				return err
			case at < 0:
				return usageError(errors.New(
					"name the tool of the file: --jmh, --pyperf, --hyperfine or --go"))
			case o.output == "":
				return usageError(errors.New("name the output: -o NAME_results.json.bz2"))
			}
			d, err := a.imported(args[0], at, o)
			if err != nil {
				return err
			}
			if err := a.toOutput(o.output,
				func(w io.Writer) error { return exchange.WriteKrunJSON(w, d, "") }); err != nil {
				return err
			}
			executions := 0
			for _, p := range d.Pairs {
				executions += len(p.Executions)
			}
			a.talk("%s: %s, %s", o.output, display.Count(len(d.Pairs), "key"),
				display.Count(executions, "process execution"))
			return nil
		},
	}
	o.flags(c)
	return c
}

// imported reads another tool's file, and prints what was left out.
func (a *app) imported(name string, tool int, o importOptions) (*dataset.Dataset, error) {
	d, err := exchange.Importers()[tool].Read(name, exchange.ImportOptions{VM: o.vm, Variant: o.variant})
	if err != nil {
		return nil, err
	}
	for _, problem := range d.Problems {
		a.talk("%s: %s", name, problem)
	}
	if len(d.Pairs) == 0 {
		return nil, fmt.Errorf("%s: %w: it has no results of %s", name, exchange.ErrFormat,
			exchange.Importers()[tool].Of)
	}
	return d, nil
}
