package setting

import "testing"

func TestTableFails(t *testing.T) {
	fit := Table{[]Finding{
		{Policy: Require, Status: StatusWillSet}, {Policy: Warn, Status: StatusDiffers},
		{Policy: Apply, Status: StatusCannot}, {Policy: Off, Status: StatusOff},
	}}
	if fit.Fails() || len(fit.Problems()) != 0 {
		t.Error("a fit machine fails")
	}
	for _, s := range []Status{StatusCannot, StatusNeedsReboot, StatusDiffers} {
		unfit := Table{[]Finding{{Name: "x", Policy: Require, Status: s}}}
		if !unfit.Fails() || len(unfit.Problems()) != 1 || unfit.Problems()[0].Fix == "" {
			t.Errorf("a required setting that is %s does not fail, or has no fix", s)
		}
	}
}
