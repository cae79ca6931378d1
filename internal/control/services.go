package control

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// ServicesSettings names services to stop for the time of the measurement.
type ServicesSettings struct {
	Policy Policy
	Stop   []string // names or patterns (path.Match): units of systemd ("cron.service", "*.timer"), services of rcctl on OpenBSD
}

// services stops the units that match, and the sockets, timers and paths that would start them again. It disables and masks nothing, so
// that the next boot is an ordinary one whatever happens to krund.
func services(s ServicesSettings) Control {
	return Control{
		Name: "services", Policy: s.Policy,
		Why: "every daemon wakes up now and then and takes a CPU, caches and the disk",
		plan: func(ctx context.Context, m *Machine) Plan {
			if len(s.Stop) == 0 {
				return ok("none asked for", "none")
			}
			wanted := strings.Join(s.Stop, " ") + " stopped"
			if err := checkPatterns(s.Stop); err != nil {
				return cannot("unknown", wanted, err.Error(), "correct services.stop in [controls]")
			}
			if m.Units == nil {
				return cannot("unknown", wanted, "this system has no service manager that krund knows", "stop services in a hook")
			}
			units, err := m.Units.List(ctx, []string{"*"})
			if err != nil {
				return unreadable(wanted, err)
			}
			return planServices(units, s.Stop, wanted)
		},
	}
}

// untouchable are units without which the machine or krund itself cannot go on.
var untouchable = []string{"krund*", "dbus*", "systemd-journald*", "systemd-logind*", "systemd-udevd*", "*.scope", "*.slice", "*.target",
	"*.mount", "*.automount", "*.swap", "*.device"}

// checkPatterns refuses patterns that are malformed or that name nothing but an untouchable unit.
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

// matches tells whether a name matches one of the patterns.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		found, err := path.Match(p, name)
		return err == nil && found
	})
}

// planServices stops the active units that match a pattern, and what would start one of them again. Those go after all services, and so are
// started before them: systemd refuses to start a socket whose service is running. A service that is started again in the moment between
// is found and stopped in the second round of ApplyAll.
func planServices(units []Unit, patterns []string, wanted string) Plan {
	byName := map[string]Unit{}
	for _, u := range units {
		byName[u.Name] = u
	}
	var names []string
	add := func(name string) {
		if u := byName[name]; u.Active && !matches(untouchable, name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, u := range units {
		if !matches(patterns, u.Name) {
			continue
		}
		for _, t := range u.TriggeredBy {
			add(t)
		}
		add(u.Name)
	}
	if len(names) == 0 {
		return ok("stopped", wanted)
	}
	slices.SortStableFunc(names, func(a, b string) int { return trigger(a) - trigger(b) })
	var steps []Step
	for _, name := range names {
		steps = append(steps, Step{Kind: KindUnit, Target: name, Old: "active", New: "inactive"})
	}
	return willSet(strings.Join(names, ", ")+" running", wanted, steps...)
}

// trigger orders services before the units that start others.
func trigger(name string) int {
	switch path.Ext(name) {
	case ".timer", ".socket", ".path":
		return 1
	}
	return 0
}

// unitActor stops and starts units.
type unitActor struct{ units Units }

// errNoUnit says that the system does not know a unit (any more).
var errNoUnit = errors.New("no such unit")

func (a unitActor) active(ctx context.Context, name string) (bool, error) {
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

func (a unitActor) do(ctx context.Context, s Step) (string, error) {
	if err := a.units.Stop(ctx, s.Target); err != nil {
		return "", fmt.Errorf("stop %s: %w", s.Target, err)
	}
	active, err := a.active(ctx, s.Target)
	switch {
	case errors.Is(err, errNoUnit):
		return "inactive", nil // a stopped unit that nothing refers to is forgotten by systemd
	case err != nil:
		return "", err
	case active:
		return "active", nil // its socket or timer has started it again; that is stopped next, and then this once more
	}
	return "inactive", nil
}

func (a unitActor) undo(ctx context.Context, s Step) (Outcome, error) {
	active, err := a.active(ctx, s.Target)
	if err != nil && !errors.Is(err, errNoUnit) {
		return Failed, err
	}
	if active {
		return Already, nil
	}
	if err := a.units.Start(ctx, s.Target); err != nil {
		return Failed, fmt.Errorf("start %s: %w", s.Target, err)
	}
	return Restored, nil
}
