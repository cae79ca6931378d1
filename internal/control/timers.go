package control

import (
	"context"
	"path"
	"slices"

	"krund/internal/experiment/config/setting"
)

// timers stops the timers of systemd and the services that they have started and that still run.
// Services of Type=oneshot that are at work are not interrupted, because that may be an update of
// packages: krund waits for them (probe.AwaitJobs).
var timers = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "timers", Policy: setting.Apply,
		Brief: "systemd's timers stopped while measuring",
		Why: "a timer starts its service at the same time after every boot, which looks like a " +
			"changepoint of the program: systemd-tmpfiles-clean runs after 15 minutes",
		What: "`*.timer` units and the running services that they have started (`Triggers=`) are stopped, " +
			"as by `services`",
		Notes: "a service of `Type=oneshot` that is at work, such as an update of packages, is not " +
			"stopped: krund waits up to 10 minutes until systemd's list of jobs is empty, and a record " +
			"names what is left. Timers of users (`systemctl --user`) and of systemd-run are left running. " +
			"A restored timer whose time has passed starts its service at once",
	},
	targets: []target{{kind: KindUnit, name: isService, values: from(is("active"))}},
	plan:    fixed(planTimers),
}

func planTimers(ctx context.Context, m *Machine) Plan {
	const wanted = "no timers"
	if m.Units == nil {
		return cannot("unknown", wanted, "this system has no supported service manager", "")
	}
	units, err := m.Units.List(ctx, []string{"*"})
	if err != nil {
		return unreadable(wanted, err)
	}
	var names []string
	for _, u := range units {
		if isTimer(u.Name) || u.Running && slices.ContainsFunc(u.TriggeredBy, isTimer) {
			names = append(names, u.Name)
		}
	}
	return planUnits(units, names, "", wanted)
}

func isTimer(name string) bool { return path.Ext(name) == ".timer" }
