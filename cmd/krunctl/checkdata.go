package main

import (
	"strconv"

	"krund/internal/boot/doctor"
	"krund/internal/display"
	"krund/internal/experiment/results"
	"krund/internal/reading/experiment"
	"krund/internal/reading/integrity"
	"krund/internal/reading/summary"
)

// Format of the JSON of a checked directory. See docs/output.md.
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
	Programs  string                  `json:"programs,omitempty"`
	Problems  []integrity.Defect      `json:"problems"`
	Notes     []integrity.Defect      `json:"notes"`
}

func (a *app) checkData(arg string, o checkOptions) error {
	f, err := experiment.Open(a.fsys, arg)
	if err != nil {
		return err
	}
	r := integrity.Check(a.fsys, f.Directory,
		integrity.Options{Hosts: []string{o.host}, Name: experiment.ConfigOf(f.Dir()),
			Settings: doctor.Settings()})
	if o.format == "json" {
		doc := checkDataJSON{
			Format: checkDataFormat, Directory: f.Dir(), OK: len(r.Problems) == 0,
			Slots: summary.CountsOf(r.Slots), Records: r.Records, Outcomes: r.Outcomes,
			Completed: r.Completed, Bytes: r.Bytes, Programs: r.Programs,
			Problems: append([]integrity.Defect{}, r.Problems...),
			Notes:    append([]integrity.Defect{}, r.Notes...),
		}
		all := []results.Outcome{results.Completed, results.Error, results.Timeout, results.Rerun}
		for _, outcome := range all {
			doc.Outcomes[outcome] += 0 // so that it is there
		}
		err = a.printJSON(doc)
	} else {
		if r.Programs != "" {
			a.print("%s\n", display.Terminal(r.Programs))
		}
		a.printProblems("problem", r.Problems)
		a.printProblems("note", r.Notes)
		slots := display.Count(r.Slots.Total(), "slot")
		if r.Slots.Total() == 0 { // no configuration plans so few
			slots = "an unknown number of slots"
		}
		a.print("%s: %d of %s completed, %s, %s, %s\n", display.Terminal(f.Dir()), r.Completed, slots,
			display.Count(r.Records, "record"), display.Bytes(r.Bytes),
			display.Count(len(r.Problems), "problem"))
	}
	if err == nil && len(r.Problems) > 0 {
		return errFound
	}
	return err
}

func (a *app) printProblems(kind string, list []integrity.Defect) {
	for _, p := range list {
		where := p.File
		if p.Slot != nil && p.Attempt == nil {
			where += ", slot " + strconv.Itoa(*p.Slot)
		}
		a.print("%s: %s: %s\n    %s\n", kind, display.Terminal(where), display.Terminal(p.What),
			display.Terminal(p.Fix))
	}
}
