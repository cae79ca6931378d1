package console

import (
	"slices"
	"strconv"

	"krund/internal/display"
	"krund/internal/experiment/config/setting"
	"krund/internal/reading/integrity"
)

// Integrity prints what was found in a directory.
func (out *Console) Integrity(dir string, r integrity.CheckReport) {
	if r.Programs != "" {
		out.print("%s\n", display.Terminal(r.Programs))
	}
	out.Defects("problem", r.Problems)
	out.Defects("note", r.Notes)
	slots := display.Count(r.Slots.Total(), "slot")
	if r.Slots.Total() == 0 { // no configuration plans so few
		slots = "an unknown number of slots"
	}
	out.print("%s: %d of %s completed, %s, %s, %s\n", display.Terminal(dir), r.Completed, slots,
		display.Count(r.Records, "record"), display.Bytes(r.Bytes),
		display.Count(len(r.Problems), "problem"))
}

// Defects prints inconsistencies of a kind, each with its remedy.
func (out *Console) Defects(kind string, list []integrity.Defect) {
	for _, p := range list {
		where := p.File
		if p.Slot != nil && p.Attempt == nil {
			where += ", slot " + strconv.Itoa(*p.Slot)
		}
		out.print("%s: %s: %s\n    %s\n", kind, display.Terminal(where), display.Terminal(p.What),
			display.Terminal(p.Fix))
	}
}

// Proof prints what was measured before the settings were applied, and with them.
func (out *Console) Proof(before, proof []setting.Finding) {
	if len(before) == 0 {
		return
	}
	rows := make([][]string, 0, len(before))
	for _, b := range before {
		row := []string{b.Name, b.Found, "-", b.Wanted, "-"}
		if i := slices.IndexFunc(proof, func(f setting.Finding) bool { return f.Name == b.Name }); i >= 0 {
			row[2], row[3], row[4] = proof[i].Found, proof[i].Wanted, string(proof[i].Status)
		}
		rows = append(rows, row)
	}
	out.print("\nMeasured while the processors were busy:\n\n")
	display.Table(out.w, []string{"measured", "before", "with the settings", "wanted", "status"}, rows)
	for _, f := range proof {
		if f.Status != setting.StatusOK {
			out.print("%s: %s; %s\n", display.Terminal(f.Name), display.Terminal(f.Why),
				display.Terminal(f.Fix))
		}
	}
}
