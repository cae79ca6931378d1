package main

import (
	"fmt"

	"krund/internal/boot/autostart"
	"krund/internal/display"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
)

// unitVariable is set by krund's unit to the name of the unit, and counts only in that unit
// (startingUnit).
const unitVariable = "KRUND_UNIT"

// notEnabledError is the error for an experiment that restarts the machine when a person has
// started krund, and not a boot of a machine that was enabled for it: after the restart nothing
// would continue, and whoever works on the machine would lose what they do. Nothing was changed.
type notEnabledError struct{ text string }

func (e notEnabledError) Error() string { return e.text }

// notEnabled returns the error for an experiment that would restart the machine by mode. It names
// commands that work here, as they are typed when krund was started as arg0.
func notEnabled(o runOptions, cfg *config.Config, mode, arg0 string) error {
	file := display.ShellPath(o.path)
	run := display.Program(arg0, "krund") + " run"
	where := ""
	if o.directory != directory.For(o.path) {
		where = "--directory " + display.ShellPath(o.directory) + " "
	}
	text := fmt.Sprintf("nothing was started, because reboot = %q restarts this machine before each of "+
		"%s, and only an experiment that was enabled on the machine may do that. Run one of:\n"+
		"  %s --reboot none %s%s    # measure here and now, without restarts\n"+
		"  %s --quick %s    # try everything: a short run without restarts\n",
		mode, display.Count(cfg.Slots(), "process execution"), run, where, file, run, file)
	with := ""
	if cfg.Experiment.Reboot != mode {
		with = fmt.Sprintf("with reboot = %q in the file: ", mode)
	}
	how, what := enabling(display.Program(arg0, "krunctl"), file)
	return notEnabledError{text + "  " + how + "    # " + with + what}
}

// unitToDisable returns the unit that starts krund at boot, which is disabled when the experiment
// ends; "" for none. unit is the one that has started krund, "" if a person has: its name is that
// of the experiment when it was enabled, which the configuration may state otherwise for the name
// that the machine has now.
func unitToDisable(unit, mode, experiment string) string {
	if unit == "" && config.Restarts(mode) {
		return autostart.UnitName(experiment)
	}
	return unit
}
