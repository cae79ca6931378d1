package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/exchange"
	"krund/internal/experiment/key"
	"krund/internal/reading/experiment"
)

const exportHelp = `Export writes the measured series and events as CSV, JSON lines or a trace.

Only completed process executions are exported, and only the first completed
record of each slot. --all-outcomes exports every record instead, and adds a
column with its outcome.

--long (the default) writes a row for each iteration:
  benchmark, vm, variant   the parts of the key
  pexec                    number of the process execution of this key, from 1
  slot, attempt            where the record is: slots from 0, attempts from 1
  outcome                  only with --all-outcomes
  iteration                from 0, as in warmup_stats and in the analysis
  start_ns                 begin, on the clock of this process execution
  wall_ns, wall_s          duration, as exact nanoseconds and as seconds
  and a column for each counter and each column of the benchmark: NAME, or
  NAME_coreN of processor N. Missing values are empty. A column of the benchmark
  whose name is taken is called user_NAME.

--wide writes the CSV of warmup_stats: a row for each process execution with
process_exec_num, bench_name and the seconds of each iteration, numbered from 0.
warmup_stats needs one VM and language per file, the same number of iterations in
all rows, and numbers from 0 without gaps: process executions without a result are
left out, and the others are renumbered. For an experiment with several VMs,
-o DIRECTORY/ writes a file VM_VARIANT.csv for each, and --key selects one.

--executions writes a row for each process execution: the same first columns, then
  iterations               measured
  process_wall_ns, utime_ns, stime_ns, maxrss_bytes    of the process
  exec_to_init_ns, exec_to_first_ns                    start-up
  daemon_cpu_ns, daemon_wake_ups, kernel_threads_cpu_ns
                           of krund, and of the kernel's threads on the
                           benchmark's processors, during the execution
  total_NAME, total_NAME_coreN    counters of the whole execution
  energy_uj_NAME_ZONE      energy of a part of the machine, in microjoules

--events writes a row for each event of instrumented executions (instrument =
"events") and of the kernel: the same first columns, then
  iteration                that ran when it began; empty between two
  kind, name               gc, compile, deopt, ..., and of what function, class, task
  time_ns, duration_ns     on the clock of start_ns
  argument                 depends on the kind; empty: none

--trace writes iterations and events in the Trace Event Format, to be opened in
ui.perfetto.dev, chrome://tracing or speedscope: each process execution as a process
that begins at 0, with a track of iterations and one or more for each kind of event.
Choose keys with --key: viewers are slow with more than some hundred thousand events.

It only reads, and may run while krund does, but it takes processor time from a
machine that measures.

EXAMPLES
  krunctl export --csv warmup.krun > warmup.csv
  krunctl export --csv --column aperf_core0 -o warmup.csv warmup.krun
  krunctl export --csv --wide --key '*:CPython:*' -o cpython.csv warmup.krun
  krunctl export --csv --wide -o warmup_csv/ warmup.krun
  krunctl export --jsonl --iterations 0-99 warmup.krun | jq -s length
  krunctl export --csv --events -o events.csv warmup.krun
  krunctl export --trace --key 'nbody:CPython:*' -o trace.json warmup.krun
` + readExitHelp

type exportOptions struct {
	csv, jsonl, wide, long bool
	executions             bool
	events, trace          bool
	output                 string
	key                    string
	columns                []string
	allOutcomes            bool
	iterations             string

	pattern   *key.Pattern
	from, too int // iterations from to before too
}

func exportCommand(a *app) *cobra.Command {
	var o exportOptions
	c := &cobra.Command{
		Use:   "export --csv|--jsonl|--trace DIR|NAME.toml",
		Short: "Write the measured series and events as CSV, JSON lines or a trace",
		Long:  exportHelp,
		Args:  arguments(1, 1, "the experiment's directory or configuration"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return a.export(args[0], o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.csv, "csv", false, "write CSV")
	f.BoolVar(&o.jsonl, "jsonl", false, "write JSON lines, a row each, with the fields of --long")
	f.BoolVar(&o.long, "long", false, "a row for each iteration (default)")
	f.BoolVar(&o.wide, "wide", false, "a row for each process execution, for warmup_stats")
	f.BoolVar(&o.executions, "executions", false, "a row for each process execution, with its totals")
	f.BoolVar(&o.events, "events", false, "a row for each event")
	f.BoolVar(&o.trace, "trace", false, "write iterations and events for Perfetto and chrome://tracing")
	f.StringVarP(&o.output, "output", "o", "",
		"write to this file (with --wide, or directory) instead of standard output")
	a.keyFlag(c, &o.key)
	f.StringArrayVar(&o.columns, "column", nil,
		"only this counter or column (repeatable); with --wide, its values instead of the seconds")
	f.BoolVar(&o.allOutcomes, "all-outcomes", false, "also export errors, timeouts and reruns")
	f.StringVar(&o.iterations, "iterations", "",
		"only iterations FROM-TO, counted from 0; FROM- for all from FROM on")
	return c
}

func (o *exportOptions) check() error {
	var err error
	parts := o.long || o.wide || len(o.columns) > 0 || o.iterations != ""
	switch {
	case o.trace && (o.csv || o.jsonl || o.executions || o.events || parts):
		err = errors.New("--trace has all iterations and events: give it only --key, --all-outcomes and -o")
	case o.trace:
	case o.csv == o.jsonl:
		err = errors.New("choose a format: --csv, --jsonl or --trace")
	case o.executions && o.events:
		err = errors.New("--executions and --events are two tables: choose one")
	case (o.executions || o.events) && parts:
		err = errors.New("--executions and --events export whole executions: omit --long, --wide, --column " +
			"and --iterations")
	case o.wide && (o.long || o.jsonl):
		err = errors.New("--wide is a format of CSV: omit --long and --jsonl")
	case o.wide && o.allOutcomes:
		err = errors.New("--wide has no column for outcomes: omit --all-outcomes")
	case o.wide && len(o.columns) > 1:
		err = errors.New("--wide takes only one --column")
	}
	if err == nil {
		o.from, o.too, err = exchange.ParseIterations(o.iterations)
	}
	if err != nil {
		return usageError(err)
	}
	o.pattern, err = experiment.ParsePattern(o.key)
	return err
}

func (a *app) export(arg string, o exportOptions) error {
	f, err := experiment.Open(a.fsys, arg)
	if err != nil {
		return err
	}
	m, err := a.records(f, o.pattern)
	if err != nil {
		return err
	}
	records := m.Counting()
	if o.allOutcomes {
		records = m.Whole()
	}
	options := exchange.ExportOptions{
		Outcome: o.allOutcomes, Columns: o.columns, From: o.from, To: o.too, JSON: o.jsonl,
	}
	switch {
	case o.trace:
		return a.toOutput(o.output, func(w io.Writer) error { return exchange.WriteTrace(w, records) })
	case o.events:
		return a.toOutput(o.output, exchange.NewEventsExport(records, options).Write)
	case o.executions:
		return a.toOutput(o.output, exchange.NewExecutionsExport(records, options).Write)
	case !o.wide:
		x, err := exchange.NewLongExport(records, options)
		if err != nil {
			return err
		}
		return a.toOutput(o.output, x.Write)
	}
	x, err := exchange.NewWideExport(records, options)
	if err != nil {
		return err
	}
	return a.toFiles(o.output, x)
}

// toFiles writes the files of warmup_stats: one for each VM and variant into the directory that -o
// names, or the only one.
func (a *app) toFiles(output string, x *exchange.WarmupCSV) error {
	if durable.NamesDirectory(output) {
		return x.WriteDirectory(a.fsys, output, func(file string, rows int) {
			a.talk("%s: %s", file, display.Count(rows, "process execution"))
		})
	}
	return a.toOutput(output, x.Write)
}

// toOutput calls write with the file that -o names, or with standard output.
func (a *app) toOutput(file string, write func(io.Writer) error) error {
	if file == "" || isStdout(file) {
		return write(a.stdout)
	}
	return durable.WriteUserFile(file, write)
}

// isStdout reports whether -o names standard output. A command then prints nothing else there.
func isStdout(output string) bool {
	return slices.Contains([]string{"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}, output)
}

// needsDirectory returns an error if -o names standard output or another open file.
func needsDirectory(output string) error {
	if isStdout(output) || durable.IsDescriptor(output) {
		return usageError(fmt.Errorf("%s: the output is a directory with several files; name one", output))
	}
	return nil
}
