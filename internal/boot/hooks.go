package boot

import (
	"path/filepath"

	"krund/internal/execution"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
)

// variables describe an execution to the hooks before it. The paths are those of the user, so that
// a hook finds the files.
func (x *experiment) variables(slot schedule.Slot) []string {
	return execution.Variables(x.cfg, x.directory.Dir(), slot.Key, slot.Index, slot.Pexec, slot.Attempts)
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
