package control

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"krund/internal/experiment/config/setting"
)

// services stops the matching units and the sockets, timers and paths that would start them again.
// It disables and masks nothing, so that the next boot is an ordinary one whatever happens to
// krund.
var services = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "services", Policy: setting.Off,
		Brief: "services stopped while measuring",
		Why:   "daemons wake up from time to time and compete for CPU, caches and disk",
		Options: []setting.Option{{
			Name: "stop", Default: []string{}, Values: "list of globs",
			Doc: "units of systemd, `\"cron.service\"`, `\"*.timer\"`; services of rcctl(8) on OpenBSD",
		}},
		What: "systemd units are stopped with systemctl; OpenBSD: `rcctl stop`",
		Notes: "sockets, timers and paths that would start a stopped service again are stopped too " +
			"(after the services, and started before them). Units that depend on a stopped unit " +
			"(`Requires=`, `BindsTo=`, `PartOf=`) are stopped with it and started after it. Units that " +
			"could not be started again are left running, and the row names them: units created by " +
			"systemd-run, and those that a target requires. Never stopped: krund, dbus, journald, " +
			"logind, udevd, slices, scopes, targets, mounts",
	},
	targets: []target{{kind: KindUnit, name: isService, values: from(is("active"))}},
	plan:    planStop,
}

func planStop(ctx context.Context, m *Machine, d setting.Demand, _ Request) Plan {
	stop := d.List("stop")
	if len(stop) == 0 {
		return ok("none configured", "none")
	}
	wanted := strings.Join(stop, " ") + " stopped"
	if err := checkPatterns(stop); err != nil {
		return cannot("unknown", wanted, err.Error(), "correct services.stop in [controls]")
	}
	if m.Units == nil {
		return cannot("unknown", wanted, "this system has no supported service manager",
			"stop services in a hook")
	}
	units, err := m.Units.List(ctx, []string{"*"})
	if err != nil {
		return unreadable(wanted, err)
	}
	return planServices(units, stop, wanted)
}

// untouchable are units that the machine or krund itself needs to keep running.
var untouchable = []string{"krund*", "dbus*", "systemd-journald*", "systemd-logind*", "systemd-udevd*",
	"*.scope", "*.slice", "*.target",
	"*.mount", "*.automount", "*.swap", "*.device"}

// checkPatterns rejects patterns that are malformed or name only an untouchable unit.
func checkPatterns(patterns []string) error {
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil {
			return fmt.Errorf("pattern %q: %w", p, err)
		}
		if !strings.ContainsAny(p, "*?[") && matches(untouchable, p) {
			return fmt.Errorf("%s must not be stopped", p)
		}
	}
	return nil
}

// matches reports whether a name matches one of the patterns.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		found, err := path.Match(p, name)
		return err == nil && found
	})
}

// unmatched lists the patterns that match none of the names, "" if there are none. Such patterns
// are misspelled or name what this machine does not have.
func unmatched(patterns, names []string, what string) string {
	var idle []string
	for _, p := range patterns {
		if !slices.ContainsFunc(names, func(name string) bool { return matches([]string{p}, name) }) {
			idle = append(idle, p)
		}
	}
	if len(idle) == 0 {
		return ""
	}
	return strings.Join(idle, ", ") + ": " + what
}

// planServices stops the active units that match a pattern, with planUnits.
func planServices(units []Unit, patterns []string, wanted string) Plan {
	var all, names []string
	for _, u := range units {
		all = append(all, u.Name)
		if matches(patterns, u.Name) {
			names = append(names, u.Name)
		}
	}
	return planUnits(units, names, unmatched(patterns, all, "no such unit is loaded"), wanted)
}

// planUnits stops the active ones of the named units, the units that would start one of them
// again, and the units that systemd stops with them. Sockets, timers and paths are stopped after
// all services, and so started before them: systemd does not start a socket whose service is
// running. A service that is started again in between is stopped in the second round of ApplyAll.
// Units that could not be started again are left running, with a remark.
func planUnits(units []Unit, names []string, remark, wanted string) Plan {
	c := choice{byName: map[string]Unit{}}
	for _, u := range units {
		c.byName[u.Name] = u
	}
	for _, name := range names {
		if matches(untouchable, name) {
			continue
		}
		for _, t := range c.byName[name].TriggeredBy {
			c.add(t)
		}
		c.add(name)
	}
	if remark != "" {
		c.remarks = append(c.remarks, remark)
	}
	if len(c.names) == 0 {
		return ok("stopped", wanted, strings.Join(c.remarks, "; "))
	}
	slices.SortStableFunc(c.names, func(a, b string) int { return trigger(a) - trigger(b) })
	var steps []Step
	for _, name := range c.names {
		steps = append(steps, Step{Kind: KindUnit, Target: name, Old: "active", New: "inactive"})
	}
	p := willSet(strings.Join(c.names, ", ")+" running", wanted, steps...)
	p.Detail = strings.Join(c.remarks, "; ")
	return p
}

// choice collects the units to stop.
type choice struct {
	byName  map[string]Unit
	names   []string // in the order of work
	remarks []string
}

// add adds an active unit after those that stop with it, or remarks why it is left running.
func (c *choice) add(name string) {
	if !c.byName[name].Active || slices.Contains(c.names, name) {
		return
	}
	together, why := c.with(name, nil)
	if why != "" {
		c.remarks = append(c.remarks, why)
		return
	}
	for _, n := range together {
		if !slices.Contains(c.names, n) {
			c.names = append(c.names, n)
		}
	}
}

// with returns the units that systemd stops when name stops, name last, or the reason why name must
// not be stopped.
func (c *choice) with(name string, seen []string) (together []string, why string) {
	switch {
	case matches(untouchable, name):
		return nil, name + " must not be stopped"
	case c.byName[name].Transient:
		return nil, name + " is left running: it was created by systemd-run and could not be started " +
			"again"
	}
	seen = append(seen, name)
	for _, n := range c.byName[name].NeededBy {
		if !c.byName[n].Active || slices.Contains(seen, n) {
			continue
		}
		more, why := c.with(n, seen)
		if why != "" {
			return nil, fmt.Sprintf("%s is left running, since %s would stop with it: %s", name, n, why)
		}
		together = append(together, more...)
	}
	return append(together, name), ""
}

// trigger sorts services before the units that trigger them.
func trigger(name string) int {
	switch path.Ext(name) {
	case ".timer", ".socket", ".path":
		return 1
	}
	return 0
}

// serviceForm matches the name of a unit (systemd.unit(5)) or of a service (rc.d(8)).
var serviceForm = regexp.MustCompile(`^[A-Za-z0-9_@:\\][A-Za-z0-9_@:\\.-]{0,254}$`)

// isService reports whether a name is that of a service, or of a unit that triggers one, that may
// be stopped.
func isService(name string) bool {
	return serviceForm.MatchString(name) && !matches(untouchable, name)
}

// unitApplier stops and starts units.
type unitApplier struct{ units Units }

// errNoUnit means that the unit does not exist, or no longer exists.
var errNoUnit = errors.New("no such unit")

func (a unitApplier) active(ctx context.Context, name string) (bool, error) {
	units, err := a.units.List(ctx, []string{name})
	if err != nil {
		return false, err
	}
	for _, u := range units {
		if u.Name == name {
			return u.Active, nil
		}
	}
	return false, errNoUnit
}

func (a unitApplier) do(ctx context.Context, s Step) (string, error) {
	if err := a.units.Stop(ctx, s.Target); err != nil {
		return "", fmt.Errorf("stop %s: %w", s.Target, err)
	}
	active, err := a.active(ctx, s.Target)
	switch {
	case errors.Is(err, errNoUnit):
		return "inactive", nil // systemd unloads a stopped unit that nothing refers to
	case err != nil:
		return "", err
	case active:
		// its socket or timer has started it again; that is stopped next, and then this unit once
		// more
		return "active", nil
	}
	return "inactive", nil
}

func (a unitApplier) restore(ctx context.Context, s Step) (Restoration, error) {
	active, err := a.active(ctx, s.Target)
	if errors.Is(err, errNoUnit) {
		err = nil
	}
	return back(active, err, func() error { return a.start(ctx, s.Target) })
}

// start starts a unit. A socket's services are stopped for that moment, since systemd does not
// start a socket whose service is running (another process has started it, or krund was killed
// before stopping it).
func (a unitApplier) start(ctx context.Context, name string) error {
	var running []string
	if path.Ext(name) == ".socket" {
		services, err := a.units.Triggers(ctx, name)
		if err != nil {
			return err
		}
		for _, service := range services {
			if active, err := a.active(ctx, service); err == nil && active {
				running = append(running, service)
			}
		}
	}
	var errs []error
	note := func(what, unit string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", what, unit, err))
		}
	}
	for _, service := range running {
		note("stop", service, a.units.Stop(ctx, service))
	}
	note("start", name, a.units.Start(ctx, name))
	for _, service := range running {
		note("start", service, a.units.Start(ctx, service))
	}
	return errors.Join(errs...)
}
