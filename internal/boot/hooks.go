package boot

import (
	"path/filepath"
	"strconv"

	"krund/internal/results"
	"krund/internal/schedule"
)

// variables describe an execution to the hooks before it. The paths are those of the user, so that
// a hook finds the files.
func (x *experiment) variables(slot schedule.Slot) []string {
	return []string{
		"KRUND_EXPERIMENT=" + x.cfg.Experiment.Name,
		"KRUND_DIRECTORY=" + x.directory.Dir(),
		"KRUND_KEY=" + slot.Key.String(),
		"KRUND_ARM=" + slot.Key.Arm,
		"KRUND_SLOT=" + strconv.Itoa(slot.Index),
		"KRUND_EXECUTION=" + strconv.Itoa(slot.Pexec),
		"KRUND_ATTEMPT=" + strconv.Itoa(slot.Attempts),
	}
}

// outcomeVariables describe to the hooks after an execution also how it ended. Outcome and record
// are empty if it has no record: err says why.
func (x *experiment) outcomeVariables(slot schedule.Slot, r results.Record, err error) []string {
	outcome, path := "", ""
	if err == nil {
		name := results.Name{Slot: slot.Index, Attempt: slot.Attempts}
		outcome, path = string(r.Outcome), filepath.Join(x.directory.Results(), name.String())
	}
	return append(x.variables(slot), "KRUND_OUTCOME="+outcome, "KRUND_RECORD="+path)
}
