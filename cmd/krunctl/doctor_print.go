package main

import (
	"slices"

	"krund/internal/display"
	"krund/internal/experiment/config/setting"
)

// printProof prints what was measured before the settings were applied, and with them.
func (a *app) printProof(before, proof []setting.Finding) {
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
	a.print("\nMeasured while the processors were busy:\n\n")
	display.Table(a.stdout, []string{"measured", "before", "with the settings", "wanted", "status"}, rows)
	for _, f := range proof {
		if f.Status != setting.StatusOK {
			a.print("%s: %s; %s\n", display.Terminal(f.Name), display.Terminal(f.Why),
				display.Terminal(f.Fix))
		}
	}
}
