package doctor

import (
	"krund/internal/boot/autostart"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/sysroot"
)

// checkRestart makes the row of the way that the machine restarts before each execution.
func checkRestart(kind string, root sysroot.Root) setting.Finding {
	f := setting.Finding{
		Name: "restart", Policy: setting.Require, Status: setting.StatusOK, Wanted: kind, Found: kind,
		Why: "experiment.reboot: the machine restarts this way before each process execution",
	}
	if f.Detail = autostart.Unavailable(kind, root); f.Detail != "" {
		f.Status, f.Found = setting.StatusCannot, "not available"
		f.Fix = "set experiment.reboot to a kind of restart that this machine has"
	}
	return f
}

// checkEntry makes the row of the boot loader's entry that the experiment boots by.
func checkEntry(e autostart.Entry) setting.Finding {
	f := setting.Finding{
		Name: "boot entry", Policy: setting.Require, Status: setting.StatusOK, Found: e.Name,
		Wanted: e.Name + ", for one boot at a time",
		Why:    "a krund that has died requests no further boot, so the next boot is an ordinary one",
	}
	if err := e.Check(); err != nil {
		f.Status, f.Found, f.Detail = setting.StatusCannot, "cannot be requested", err.Error()
		f.Fix = "see \"A boot entry of its own\" in docs/lab-machine.md"
	}
	return f
}
