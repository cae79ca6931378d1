package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"krund/internal/display"
	"krund/internal/experiment"
	"krund/internal/integrity"
	"krund/internal/results"
	"krund/internal/summary"
)

const checkDataHelp = `Check-data looks at everything in an experiment's directory: the checksums of the
schedule, every record, what schedule, records and configuration say about each
other, leftovers of crashes, and files that do not belong there. It lists what is
wrong and what to do about it.

It only reads, and may be used while krund runs; but it keeps a processor busy
for a while, so leave a machine alone that measures.

Notes are odd things that are no reason to worry; they do not count.

EXAMPLES
  krunctl check-data warmup.toml
  krunctl check-data --json warmup.krun | jq -r '.problems[].code'
` + exitHelp

type checkDataOptions struct {
	json bool
	host string
}

func checkDataCommand(a *app) *cobra.Command {
	var o checkDataOptions
	c := &cobra.Command{
		Use:   "check-data DIR|NAME.toml",
		Short: "Look for damage and contradictions in an experiment's directory",
		Long:  checkDataHelp,
		Args:  arguments(1, 1, "the experiment's directory or configuration"),
		RunE:  func(_ *cobra.Command, args []string) error { return a.checkData(args[0], o) },
	}
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	a.hostFlag(c.Flags(), &o.host, " when the records do not say")
	return c
}

// Format of the JSON of check-data. See docs/output.md.
const checkDataFormat = 1

type checkDataJSON struct {
	Format    int                     `json:"format"`
	Directory string                  `json:"folder"`
	OK        bool                    `json:"ok"`
	Slots     summary.SlotCounts      `json:"slots"`
	Records   int                     `json:"records"`
	Outcomes  map[results.Outcome]int `json:"outcomes"`
	Completed int                     `json:"slots_with_completed_record"`
	Bytes     int64                   `json:"bytes"`
	Problems  []integrity.Problem     `json:"problems"`
	Notes     []integrity.Problem     `json:"notes"`
}

func (a *app) checkData(arg string, o checkDataOptions) error {
	f, err := experiment.Open(a.fsys, arg)
	if err != nil {
		return err
	}
	r := integrity.Check(a.fsys, f.Directory, integrity.Options{Hosts: []string{o.host}, Name: experiment.ConfigOf(f.Dir())})
	if o.json {
		doc := checkDataJSON{
			Format: checkDataFormat, Directory: f.Dir(), OK: len(r.Problems) == 0, Slots: summary.CountsOf(r.Slots), Records: r.Records, Outcomes: r.Outcomes,
			Completed: r.Completed, Bytes: r.Bytes, Problems: append([]integrity.Problem{}, r.Problems...), Notes: append([]integrity.Problem{}, r.Notes...),
		}
		for _, outcome := range []results.Outcome{results.Completed, results.Error, results.Timeout, results.Rerun} {
			doc.Outcomes[outcome] += 0
		}
		err = a.printJSON(doc)
	} else {
		a.printProblems("problem", r.Problems)
		a.printProblems("note", r.Notes)
		slots := display.Count(r.Slots.Total(), "slot")
		if r.Slots.Total() == 0 { // no configuration plans so few
			slots = "an unknown number of slots"
		}
		a.print("%s: %d of %s completed, %s, %s, %s\n", display.Terminal(f.Dir()), r.Completed, slots,
			display.Count(r.Records, "record"), display.Bytes(r.Bytes), display.Count(len(r.Problems), "problem"))
	}
	if err == nil && len(r.Problems) > 0 {
		return errFound
	}
	return err
}

func (a *app) printProblems(kind string, list []integrity.Problem) {
	for _, p := range list {
		where := p.File
		if p.Slot != nil && p.Attempt == nil {
			where += ", slot " + strconv.Itoa(*p.Slot)
		}
		a.print("%s: %s: %s\n    %s\n", kind, display.Terminal(where), display.Terminal(p.What), display.Terminal(p.Fix))
	}
}
