package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"krund/internal/analysis/dataset"
	"krund/internal/exchange"
	"krund/internal/reading/experiment"
)

const convertHelp = `Convert writes the measured series in the format of another tool.

  --to krun     results of Krun, NAME_results.json.bz2, for warmup_stats
  --to csv      CSV of warmup_stats, for one VM and variant; with -o DIRECTORY/ a
                file VM_VARIANT.csv for each
  --to go       Go's benchmark format, for benchstat; an iteration is a line
  --to parquet  Parquet for DuckDB, Spark and pandas: a row per iteration, in a
                file for each key below the directory -o, named
                benchmark=B/vm=V/variant=X/iterations.parquet

It reads experiments of krund, results of Krun and CSV files of warmup_stats, with
all columns; and with --jmh, --pyperf, --hyperfine or --go the files of these
tools. krunctl export writes CSV and JSON lines with a row per iteration.

EXAMPLES
  krunctl convert --to krun -o warmup_results.json.bz2 warmup.krun
  krunctl convert --to parquet -o warmup/ warmup.krun
  krunctl convert --to go warmup.krun | benchstat -col /vm -
` + readExitHelp

func convertCommand(a *app) *cobra.Command {
	var o importOptions
	var to, keys string
	c := &cobra.Command{
		Use:   "convert --to krun|csv|go|parquet DIR|NAME.toml|FILE",
		Short: "Write the measured series in the format of another tool",
		Long:  convertHelp,
		Args:  arguments(1, 1, "an experiment or a file of results"),
		RunE: func(_ *cobra.Command, args []string) error {
			at, err := o.chosen()
			switch {
			case err != nil:
				return err
			case to != "krun" && to != "csv" && to != "go" && to != "parquet":
				return usageError(fmt.Errorf("--to must be krun, csv, go or parquet, not %q", to))
			case (to == "krun" || to == "parquet") && o.output == "":
				return usageError(fmt.Errorf("--to %s needs -o", to))
			}
			if to == "parquet" {
				if err := needsDirectory(o.output); err != nil {
					return err
				}
			}
			pattern, err := experiment.ParsePattern(keys)
			if err != nil {
				return err
			}
			d, config, err := a.series(args[0], at, o)
			if err != nil {
				return err
			}
			if err := experiment.OnlyKeys(d, pattern); err != nil {
				return err
			}
			return a.convert(d, config, to, o.output)
		},
	}
	o.flags(c)
	c.Flags().StringVar(&to, "to", "", "format: krun, csv, go or parquet")
	a.keyFlag(c, &keys)
	return c
}

// series reads all columns of arg, and the text of the experiment's configuration if there is one.
func (a *app) series(arg string, tool int, o importOptions) (*dataset.Dataset, string, error) {
	if tool >= 0 {
		d, err := a.imported(arg, tool, o)
		return d, "", err
	}
	return a.reader(1).Series(arg, experiment.Selection{VM: o.vm, Variant: o.variant})
}

func (a *app) convert(d *dataset.Dataset, config, to, output string) error {
	switch to {
	case "krun":
		return a.toOutput(output, func(w io.Writer) error { return exchange.WriteKrunJSON(w, d, config) })
	case "csv":
		x, err := exchange.NewWarmupCSV(d)
		if err != nil {
			return err
		}
		return a.toFiles(output, x)
	case "go":
		return a.toOutput(output, func(w io.Writer) error { return exchange.WriteGo(w, d) })
	}
	return exchange.WriteParquetDirectory(a.fsys, d, output)
}
