package main

import (
	"krund/internal/boot/autostart"
	"krund/internal/experiment/config"
)

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
