package compare

import (
	"fmt"
	"slices"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
)

// Apart reports whether the key has no verdict because its two sides are instrumented differently,
// do not measure the same part of their loops, or were measured at different times.
func (c *Change) Apart() bool { return c.apart }

// withhold makes c the change of a key whose sides cannot be compared.
func (c *Change) withhold(r row, why string) {
	c.apart = true
	c.ExecutionsBefore, c.ExecutionsAfter = executions(r.before), executions(r.after)
	c.Verdict, c.Reason = CannotTell, why
}

// instrumentsDiffer returns why differently instrumented sides cannot be compared.
func (c *Change) instrumentsDiffer() string {
	return fmt.Sprintf("before is %s, after %s, which costs time; measure both alike",
		dataset.InstrumentText(c.InstrumentBefore), dataset.InstrumentText(c.InstrumentAfter))
}

// costs reports whether the sides are arms that only the level of instrumentation distinguishes.
func costs(before, after Side) bool {
	return before.Data == after.Data && slices.ContainsFunc(before.Data.Arms, func(arm dataset.Arm) bool {
		return arm.Name == before.Arm && slices.Contains(arm.CostOf, after.Arm) ||
			arm.Name == after.Arm && slices.Contains(arm.CostOf, before.Arm)
	})
}

// instrumented warns that the effects are those of instrumenting.
func (r *Result) instrumented(before, after Side) {
	if costs(before, after) {
		r.Warnings = append(r.Warnings, warmup.Warning{Code: "instrument_cost", Text: fmt.Sprintf(
			"nothing but their instrumentation distinguishes the arms %s and %s: the effect is what that "+
				"costs", before.Arm, after.Arm)})
	}
}
