package doctor

import (
	"krund/internal/autostart"
	"krund/internal/config/setting"
)

// checkEntry makes the row of the boot loader's entry that the experiment boots by.
func checkEntry(e autostart.Entry) setting.Finding {
	f := setting.Finding{
		Name: "boot entry", Policy: setting.Require, Status: setting.StatusOK, Found: e.Name,
		Wanted: e.Name + ", for one boot at a time",
		Why:    "a krund that has died asks for no further boot: the next one is an ordinary one",
	}
	if err := e.Check(); err != nil {
		f.Status, f.Found, f.Detail = setting.StatusCannot, "cannot be asked for", err.Error()
		f.Fix = "see \"A boot entry of its own\" in docs/lab-machine.md"
	}
	return f
}
