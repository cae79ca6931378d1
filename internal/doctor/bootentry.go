package doctor

import (
	"krund/internal/autostart"
	"krund/internal/control"
)

// checkEntry returns the row for the boot entry of the experiment.
func checkEntry(e autostart.Entry) control.Finding {
	f := control.Finding{
		Name: "boot entry", Policy: control.Require, Status: control.StatusOK, Found: e.Name, Wanted: e.Name + ", for one boot at a time",
		Why: "if krund dies, it requests no further boot, so the next boot is an ordinary one",
	}
	if err := e.Check(); err != nil {
		f.Status, f.Found, f.Detail = control.StatusCannot, "cannot be asked for", err.Error()
		f.Fix = "see \"A boot entry of its own\" in docs/lab-machine.md"
	}
	return f
}
